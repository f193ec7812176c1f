#include "models/studies/serving/validate_serving.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <span>

#include "models/io/topologies/load.hpp"
#include "models/studies/errors/leave_out.hpp"
#include "models/studies/serving/serving_fit.hpp"

namespace fabricast {
namespace {

constexpr int kFitRounds = 4;
/// As a logarithm: rows that are off by more than a factor of 1.65 measure something else (servers
/// that nobody warmed up, full queues, drafts), and tell nothing of an engine's figures.
constexpr double kOtherRegime = 0.5;
/// It hangs on more than kernels and engine: queues, harness.
constexpr double kFirstTokenWeight = 0.3;

/// A machine with its collectives, and engines on it.
struct Machine {
  std::unique_ptr<Site> site;
  std::unique_ptr<CollectiveTimes> collectives;
  GpuCompute gpu;
};

/// A row with all that its queue needs, found once.
struct Prepared {
  std::size_t row = 0;
  const EngineModel* main = nullptr;
  const EngineModel* prefill = nullptr;
  TransferCosts transfer;
};

class Validation {
 public:
  Validation(const ValidateServingConfig& config, const PartsCatalogue& parts,
             const ForEach& for_each)
      : config_(config),
        parts_(parts),
        for_each_(for_each),
        data_(load_engine_data(parts.software)) {
    out_.measured = config.measured;
    out_.cross_validated = config.leave_out;
    out_.left_out = config.measured.left_out;
  }

  ServingValidation run() {
    for (std::size_t i = 0; i < rows().size(); ++i) {
      try {
        prepared_.push_back(prepare(i));
      } catch (const Error& error) {
        ++out_.left_out[error.message()];
      }
    }
    const std::vector<ServingFigures> shipped = predict(prepared_, data_.serving);
    std::vector<Prepared> kept;
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
      if (shipped[i].token <= 0) {
        ++out_.left_out[why_not_[i]];
        continue;
      }
      kept.push_back(prepared_[i]);
      out_.predictions.push_back({prepared_[i].row, shipped[i], {}, decode_of(prepared_[i])});
    }
    prepared_ = std::move(kept);
    if (config_.leave_out) leave_out();
    if (config_.fit) fit();
    return std::move(out_);
  }

 private:
  const std::vector<ServingRow>& rows() const { return config_.measured.rows; }

  Machine& place(const StepConfig& site) {
    Machine& out = places_[{site.topology, site.nodes}];
    if (!out.site) {
      out.site = std::make_unique<Site>(load_site(site, parts_));
      out.collectives = std::make_unique<CollectiveTimes>(
          collectives_of(site, *out.site, parts_, CollectiveTimes::Estimate::simulated));
      out.gpu = with_weights_only(compute_of(load_compute(), out.site->cluster));
    }
    return out;
  }

  /// Engines differ by layout, and by how large their passes may be.
  const EngineModel* model(const ServeConfig& config, const ServeLayout& layout, bool prefill) {
    Machine& at = place(config.site);
    const double most = std::exp2(std::ceil(std::log2(tokens_max(config, prefill))));
    const std::string key = fmt::format(
        "{} {} {} {} {} {} {}", config.site.topology, config.site.nodes, config.site.model.name,
        to_text(config.site.layout.precision), to_text(*config.engine), to_text(layout), most);
    std::unique_ptr<EngineModel>& out = models_[key];
    if (!out) {
      check_serve(config, layout, at.gpu);
      const ServeKernels kernels = engine_kernels(config, layout, at.site->cluster, data_);
      out = std::make_unique<EngineModel>(
          engine_model(config, layout, at.gpu, kernels, most, *at.collectives));
    }
    return out.get();
  }

  Prepared prepare(std::size_t index) {
    const ServeConfig& config = rows()[index].config;
    Prepared out{index, model(config, config, false), nullptr, {}};
    if (config.prefill) {
      out.prefill = model(config, config.prefill->layout, true);
      out.transfer = transfer_costs(*place(config.site).collectives, data_.serving);
    }
    return out;
  }

  ServeTime decode_of(const Prepared& one) const {
    const ServeConfig& config = rows()[one.row].config;
    const double requests = std::min<double>(
        std::ceil(static_cast<double>(config.load->concurrency) / config.workers / config.copies()),
        config.rules.requests_max);
    ServeBatch batch;
    batch.decodes = batch.decode_tokens = requests;
    batch.context = requests * (config.prompt + config.output / 2.0);
    batch.all_tokens = requests * config.copies();
    return one.main->passes.at(batch, data_.serving.of(config.engine->engine));
  }

  std::vector<ServingFigures> predict(std::span<const Prepared> asked, const ServingCosts& costs) {
    std::vector<ServingFigures> out(asked.size());
    why_not_.resize(asked.size());
    for_each_(asked.size(), [&](std::size_t i) {
      const Prepared& one = asked[i];
      const ServeConfig& config = rows()[one.row].config;
      try {
        const EngineHost& host = costs.of(config.engine->engine);
        const ServeQueue queue = queue_of(config, *one.main, one.prefill, host, one.transfer);
        const ServeFigures figures =
            figures_of(run_queue(queue, draw_requests(*config.load)), ServeLimits{});
        const auto of = [&](const LatencySpread& spread) {
          return rows()[one.row].medians ? spread.p50 : spread.mean;
        };
        out[i] = {of(figures.first_token), of(figures.per_token), figures.output_per_s};
      } catch (const Error&) {
        why_not_[i] = "keys and values do not fit, or weights";
      }
    });
    return out;
  }

  ServingCosts moved(const Vector& x, const ServingCosts& from) const {
    ServingCosts out = from;
    for (EngineHost& host : out.engines) host = scaled(host, x);
    return out;
  }

  /// Three of each row: first token, token, throughput; 0 where nothing was measured.
  Vector residuals(const std::vector<ServingFigures>& figures) const {
    Vector out;
    const auto add = [&](double predicted, const std::optional<double>& measured) {
      out.push_back(measured ? std::log(predicted / *measured) : 0);
    };
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const ServingRow& row = rows()[prepared_[i].row];
      add(figures[i].first_token, row.first_token);
      add(figures[i].token, row.token);
      add(figures[i].output_per_s, row.output_per_s);
    }
    return out;
  }

  ServingFit linear(const ServingCosts& at) {
    return linearised([&](const Vector& x) { return residuals(predict(prepared_, moved(x, at))); });
  }

  /// Of rows of an engine, but of a model.
  Vector weights(Engine engine, const std::string& without) const {
    Vector out;
    for (const Prepared& one : prepared_) {
      const ServingRow& row = rows()[one.row];
      const double weight =
          row.config.engine->engine == engine && row.config.site.model.name != without ? 1 : 0;
      out.insert(out.end(), {row.first_token ? kFirstTokenWeight * weight : 0,
                             row.token ? weight : 0, row.output_per_s ? weight : 0});
    }
    return out;
  }

  static Vector believed(Vector weights, const Vector& residuals) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (std::abs(residuals[i]) > kOtherRegime) weights[i] = 0;
    return weights;
  }

  ServingCosts fitted(const ServingFit& fit, const ServingCosts& from, const std::string& without) {
    ServingCosts out = from;
    for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
      EngineHost& host = out.engines[static_cast<std::size_t>(engine)];
      host = scaled(host, best_factors(fit, believed(weights(engine, without), fit.at)));
    }
    return out;
  }

  void leave_out() {
    const ServingFit at_shipped = linear(data_.serving);
    const auto model_of = [&](std::size_t i) {
      return rows()[prepared_[i].row].config.site.model.name;
    };
    for (const auto& [name, seen, unseen] : leave_each_out(prepared_.size(), model_of)) {
      std::vector<Prepared> of_model;
      for (const std::size_t i : unseen) of_model.push_back(prepared_[i]);
      const std::vector<ServingFigures> figures =
          predict(of_model, fitted(at_shipped, data_.serving, name));
      for (std::size_t i = 0; i < unseen.size(); ++i)
        out_.predictions[unseen[i]].unseen = figures[i];
    }
  }

  void fit() {
    ServingCosts costs = data_.serving;
    for (int round = 0; round < kFitRounds; ++round) costs = fitted(linear(costs), costs, {});
    out_.fitted = figures_of(costs);
  }

  const ValidateServingConfig& config_;
  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  EngineData data_;
  ServingValidation out_;
  std::map<std::pair<std::string, int>, Machine> places_;
  std::map<std::string, std::unique_ptr<EngineModel>> models_;
  std::vector<Prepared> prepared_;
  std::vector<std::string> why_not_;
};

}  // namespace

ServingValidation validate_serving(const ValidateServingConfig& config, const PartsCatalogue& parts,
                                   const ForEach& for_each) {
  return Validation(config, parts, for_each).run();
}

}  // namespace fabricast
