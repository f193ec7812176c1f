#include "models/studies/serving/served.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/topologies/load.hpp"

namespace fabricast {
namespace {

constexpr int kWorkersMost = 1024, kRequestsEach = 50;

class Serving {
 public:
  Serving(const ServedQuestion& question, const PartsCatalogue& parts,
          const std::function<void(double)>& progress)
      : question_(question),
        progress_(progress),
        config_(question.config),
        site_(load_site(config_.site, parts)),
        collectives_(
            collectives_of(config_.site, site_, parts, CollectiveTimes::Estimate::simulated)),
        data_(load_engine_data(parts.software)),
        gpu_(with_weights_only(compute_of(load_compute(), site_.cluster))) {
    if (config_.engine) host_ = data_.serving.of(config_.engine->engine);
    const PriceTable prices = load_prices().gpus;
    if (const auto found = prices.find(gpu_.name); found != prices.end())
      price_ = found->second.value;
    if (config_.site.price > 0) price_ = config_.site.price;
  }

  Served run(const ForEach& for_each) {
    check();
    collectives_.prepare(for_each, [&] { ask(); });
    Served out;
    out.lone = lone();
    if (question_.find_gpus) {
      const std::vector<ServeLayout> tried = layouts();
      for (const ServeLayout& layout : tried) {
        // How many queues a layout takes is not known before.
        const double done =
            static_cast<double>(out.candidates.size()) / static_cast<double>(tried.size());
        out.candidates.push_back(fewest(layout, [&](double) { tell(done); }));
      }
      std::ranges::stable_sort(out.candidates, {}, [](const FewestEngines& one) {
        return one.workers == 0 ? kRanksMost : one.workers * one.layout.gpus();
      });
      if (!out.candidates.empty()) out.load = out.candidates.front().load;
    } else if (config_.load) {
      out.load = answer(config_, model(config_), progress_);
    }
    return out;
  }

 private:
  static constexpr int kRanksMost = 1 << 30;

  void check() const {
    const int there = sized(config_.site, site_.cluster).layout.gpus;
    int asked = config_.gpus() * config_.workers;
    if (config_.prefill) asked += config_.prefill->layout.gpus() * config_.prefill->workers;
    if (asked > there && !question_.find_gpus)
      throw Error(config_.site.place,
                  fmt::format("{} on {} engines are {} GPUs of {}", to_text(config_),
                              config_.workers, asked, there),
                  "say more nodes");
    if (!question_.find_gpus) return;
    if (!config_.load || config_.load->rate == 0)
      throw Error(about("--find-gpus"), "--find-gpus asks for a rate of requests",
                  "say load.requests_per_s");
    if (!config_.limits.any())
      throw Error(about("--find-gpus"), "--find-gpus asks for limits",
                  "say sla.first_token or sla.token, like 500 ms and 50 ms");
    if (config_.prefill)
      throw Error(about("--find-gpus"), "--find-gpus looks for equal engines, not for two pools",
                  "leave prefill out, or try pools of your own");
  }

  ServeLayout lone_layout() const { return config_; }

  ServeEngine engine(const ServeLayout& layout) const {
    return {engine_kernels(config_, layout, site_.cluster, data_), host_};
  }
  ServeResult lone() { return run_serve(config_, gpu_, collectives_, engine(lone_layout())); }
  EngineModel model(const ServeLayout& layout, bool prefill = false) {
    return engine_model(config_, layout, gpu_, engine(layout).kernels, tokens_max(config_, prefill),
                        collectives_);
  }

  /// What is going to be asked of the collectives.
  void ask() {
    static_cast<void>(lone());
    if (!config_.load) return;
    if (question_.find_gpus) {
      for (const ServeLayout& layout : layouts()) static_cast<void>(model(layout));
      return;
    }
    static_cast<void>(model(config_));
    if (!config_.prefill) return;
    static_cast<void>(model(config_.prefill->layout, true));
    static_cast<void>(transfer_costs(collectives_, data_.serving));
  }

  void tell(double done) const {
    if (progress_) progress_(done);
  }

  ServedLoad answer(const ServeConfig& config, const EngineModel& main,
                    const std::function<void(double)>& progress) {
    ServedLoad out;
    std::optional<EngineModel> prefill;
    TransferCosts transfer;
    out.workers = config.workers;
    out.gpus = config.gpus() * config.workers;
    if (config.prefill) {
      prefill = model(config.prefill->layout, true);
      transfer = transfer_costs(collectives_, data_.serving);
      out.gpus += config.prefill->layout.gpus() * config.prefill->workers;
    }
    const ServeQueue queue = queue_of(config, main, prefill ? &*prefill : nullptr, host_, transfer);
    out.queue = run_queue(queue, draw_requests(*config.load), progress);
    out.figures = figures_of(out.queue, config.limits);
    out.queue.requests.clear();
    out.queue.gaps.clear();
    out.blocks = queue.pool.rules.blocks;
    out.gpu_hour = price_;
    out.transfer_rate = transfer.rate;
    if (queue.sends) out.transfer = queue.sends(config.prompt);
    return out;
  }

  /// The one asked for, and others with TP of a power of two inside an NVLink domain.
  std::vector<ServeLayout> layouts() const {
    std::vector<ServeLayout> out = {config_};
    const auto domain = static_cast<int>(site_.cluster.node().gpus().size());
    if (config_.copies() > 1 || config_.pipeline > 1) return out;
    for (int tensor = 1; tensor <= domain; tensor *= 2) {
      ServeLayout one = config_;
      one.tensor = tensor;
      if (config_.expert > 1) one.expert = tensor;
      one.data = 1;
      const Transformer& m = config_.site.model;
      if (tensor != config_.tensor && m.heads % tensor == 0 &&
          (one.expert == 1 || m.experts->count % one.expert == 0))
        out.push_back(one);
    }
    return out;
  }

  FewestEngines fewest(const ServeLayout& layout, const std::function<void(double)>& progress) {
    FewestEngines out;
    out.layout = layout;
    try {
      const EngineModel main = model(layout);
      ServeConfig config = config_;
      static_cast<ServeLayout&>(config) = layout;
      const auto with = [&](int workers) {
        config.workers = workers;
        config.load->requests = std::max(requests_of(*config_.load), kRequestsEach * workers);
        return answer(config, main, progress);
      };
      const auto keeps = [&](const ServedLoad& load) {
        return load.figures.within >= config_.limits.share;
      };
      int above = 1;
      ServedLoad found = with(above);
      while (!keeps(found) && above < kWorkersMost) found = with(above *= 2);
      if (!keeps(found)) {
        out.why_not = fmt::format("{:.0f} % within the limits on {} engines",
                                  100 * found.figures.within, above);
        return out;
      }
      for (int below = above / 2; above - below > 1;) {
        const int middle = below + (above - below) / 2;
        ServedLoad one = with(middle);
        if (keeps(one)) {
          above = middle;
          found = std::move(one);
        } else {
          below = middle;
        }
      }
      out.workers = above;
      out.load = std::move(found);
    } catch (const Error& error) {
      out.why_not = error.reason();
    }
    return out;
  }

  ServedQuestion question_;
  const std::function<void(double)>& progress_;
  ServeConfig config_;
  Site site_;
  CollectiveTimes collectives_;
  EngineData data_;
  GpuCompute gpu_;
  EngineHost host_;
  std::optional<double> price_;
};

}  // namespace

Served run_served(const ServedQuestion& question, const PartsCatalogue& parts,
                  const ForEach& for_each, const std::function<void(double)>& progress) {
  return Serving(question, parts, progress).run(for_each);
}

}  // namespace fabricast
