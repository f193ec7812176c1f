#include "models/studies/serving/validate_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "models/io/topologies/load.hpp"
#include "models/studies/errors/leave_out.hpp"
#include "models/studies/serving/max_load_rows.hpp"
#include "models/studies/serving/serving_fit.hpp"

namespace fabricast {
namespace {

/// Rows of more requests say more of full queues than of an engine, and take longest: a fit does
/// without them. At maximum load there is nothing but a full queue, and throughput alone counts.
constexpr int kFitRequestsMost = 600;
constexpr Engine kFitted[] = {Engine::vllm, Engine::sglang, Engine::trtllm};

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
    const std::string key =
        fmt::format("{} {} {} {} {} {} {} {} {} {}", config.site.topology, config.site.nodes,
                    config.site.model.name, to_text(config.site.layout.precision),
                    to_text(*config.engine), to_text(layout), most, config.rules.launches.compiled,
                    config.flashinfer_blocks, config.finds_scales);
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
        const auto of = [&](const std::optional<LatencySpread>& spread) {
          if (!spread) return 0.0;
          return rows()[one.row].medians ? spread->p50 : spread->mean;
        };
        out[i] = {of(figures.first_token), of(figures.per_token), figures.output_per_s};
      } catch (const Error&) {
        why_not_[i] = "keys and values do not fit, or weights";
      }
    });
    return out;
  }

  /// Three of each row: first token, token, throughput; 0 where nothing was measured.
  Vector residuals(std::span<const Prepared> asked, const ServingCosts& costs) {
    const std::vector<ServingFigures> figures = predict(asked, costs);
    Vector out;
    const auto add = [&](double predicted, const std::optional<double>& measured) {
      out.push_back(measured && predicted > 0 ? std::log(predicted / *measured) : 0);
    };
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const ServingRow& row = rows()[asked[i].row];
      add(figures[i].first_token, row.first_token);
      add(figures[i].token, row.token);
      add(figures[i].output_per_s, row.output_per_s);
    }
    return out;
  }

  HostResiduals host_residuals(Engine engine, std::span<const Prepared> asked) {
    return [this, engine, asked](const EngineHost& host) {
      ServingCosts costs = data_.serving;
      costs.engines[static_cast<std::size_t>(engine)] = host;
      return residuals(asked, costs);
    };
  }

  /// Rows that a fit of an engine uses.
  std::vector<Prepared> fit_rows(Engine engine) const {
    std::vector<Prepared> out;
    for (const Prepared& one : prepared_) {
      const ServeConfig& config = rows()[one.row].config;
      const bool is_short =
          rows()[one.row].mode == kMaxLoad || requests_of(*config.load) <= kFitRequestsMost;
      if (config.engine->engine == engine && is_short) out.push_back(one);
    }
    return out;
  }

  /// Of residuals of such rows; of a model they are 0.
  Vector weights(std::span<const Prepared> asked, const std::string& without) const {
    Vector out;
    for (const Prepared& one : asked) {
      const ServingRow& row = rows()[one.row];
      const double weight = row.config.site.model.name != without ? 1 : 0;
      for (const bool is_measured :
           {row.first_token.has_value(), row.token.has_value(), row.output_per_s.has_value()})
        out.push_back(is_measured ? weight : 0);
    }
    return out;
  }

  /// An engine's rows and how they move with its figures, where these are as shipped.
  struct Linear {
    Engine engine{};
    std::vector<Prepared> rows;
    ServingSlopes slopes;
  };

  ServingCosts without(const std::string& model, std::span<const Linear> engines) const {
    ServingCosts out = data_.serving;
    for (const Linear& one : engines)
      out.engines[static_cast<std::size_t>(one.engine)] =
          linear_best(out.prior, one.slopes, believed(weights(one.rows, model), one.slopes.at));
    return out;
  }

  /// Rows of other models of its engine that a fit believes.
  bool others_of(const Prepared& one, std::span<const Linear> engines) const {
    const ServeConfig& config = rows()[one.row].config;
    const auto at = std::ranges::find(engines, config.engine->engine, &Linear::engine);
    const Vector kept = believed(weights(at->rows, config.site.model.name), at->slopes.at);
    return std::ranges::any_of(kept, [](double weight) { return weight > 0; });
  }

  void leave_out() {
    std::vector<Linear> engines;
    for (const Engine engine : kFitted) {
      Linear one{engine, fit_rows(engine), {}};
      one.slopes = linearised(data_.serving.prior, data_.serving.of(engine),
                              host_residuals(engine, one.rows));
      engines.push_back(std::move(one));
    }
    const auto model_of = [&](std::size_t i) {
      return rows()[prepared_[i].row].config.site.model.name;
    };
    for (const auto& [name, seen, unseen] : leave_each_out(prepared_.size(), model_of)) {
      std::vector<Prepared> of_model;
      for (const std::size_t i : unseen) of_model.push_back(prepared_[i]);
      const std::vector<ServingFigures> figures = predict(of_model, without(name, engines));
      for (std::size_t i = 0; i < unseen.size(); ++i) {
        // Where its engine ran nothing else, a fit would be the prior.
        if (others_of(of_model[i], engines)) out_.predictions[unseen[i]].unseen = figures[i];
      }
    }
  }

  void fit() {
    ServingCosts costs = data_.serving;
    for (const Engine engine : kFitted) {
      const std::vector<Prepared> of_engine = fit_rows(engine);
      costs.engines[static_cast<std::size_t>(engine)] =
          best_host(costs.prior, host_residuals(engine, of_engine), weights(of_engine, {}),
                    data_.serving.of(engine));
    }
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
