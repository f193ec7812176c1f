// One layout, or one plan, on several clusters: --vary.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "models/io/topologies/topology_name.hpp"
#include "models/studies/training/plan.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

void change(NamedConfig& made, const std::string& key, const std::string& value) {
  StepConfig& config = made.config;
  if (key == "topology") {
    config.topology = made.nodes.empty() ? value : with_changes(value, made.nodes);
  } else if (key == "fabric") {
    config.fabric = value;
  } else if (key == "oversubscription") {
    config.oversubscription = parse_counts(value, "oversubscription", 1000).front();
  } else if (key == "bucket") {
    config.layout.bucket = static_cast<double>(parse_bytes(value).count);
  } else if (key == "nodes") {
    config.nodes = parse_counts(value, "nodes", 1 << 20).front();
  } else if (key == "nics") {
    made.nodes.nics = parse_counts(value, "nics", 1024).front();
    config.topology = with_changes(config.topology, made.nodes);
  } else if (key.starts_with("NCCL_")) {
    config.environment.set(key, value);
  } else {
    throw Error(fmt::format("\"{}\" cannot be varied", key),
                hint_nearest(key, {"topology", "fabric", "nodes", "nics", "oversubscription",
                                   "bucket", "NCCL_..."}));
  }
}

/// What `run` makes of each, or why it is refused. Throws Error where all of them are.
template <class Result, class Run>
std::vector<Result> run_all(const std::vector<NamedConfig>& configs, const ForEach& for_each,
                            const Run& run) {
  std::vector<Result> out(configs.size());
  std::vector<std::optional<Error>> errors(configs.size());
  // One of several at a time on each core, else the collectives of the one.
  const bool several = configs.size() > 1;
  const ForEach inside = several ? ForEach(in_turn) : for_each;
  (several ? for_each : ForEach(in_turn))(configs.size(), [&](std::size_t i) {
    try {
      out[i] = run(i, inside);
    } catch (const Error& error) {
      out[i].refused = error.reason();
      errors[i] = error;
    }
    out[i].name = configs[i].name;
  });
  const bool none = std::ranges::all_of(errors, [](const auto& error) { return !!error; });
  if (none && !errors.empty()) throw *errors.front();
  return out;
}

}  // namespace

std::vector<NamedConfig> vary(const std::vector<NamedConfig>& configs, std::string_view variation) {
  const std::size_t equals = variation.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw Error(fmt::format("\"{}\" is no variation", variation),
                "KEY=VALUE,VALUE, like nodes=8,16");
  const std::string key(variation.substr(0, equals));
  std::vector<NamedConfig> out;
  for (const NamedConfig& one : configs) {
    std::string_view rest = variation.substr(equals + 1);
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string value(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      NamedConfig made = one;
      made.name += fmt::format("{}{}={}", one.name.empty() ? "" : ", ", key, value);
      change(made, key, value);
      out.push_back(std::move(made));
    }
  }
  return out;
}

std::vector<NamedStep> run_variations(const std::vector<NamedConfig>& configs,
                                      const PartsCatalogue& parts, const ForEach& for_each) {
  return run_all<NamedStep>(configs, for_each, [&](std::size_t i, const ForEach& inside) {
    return NamedStep{{}, {}, run_step(configs[i].config, parts, inside)};
  });
}

std::vector<Plan> run_plans(const std::vector<NamedConfig>& configs, const PartsCatalogue& parts,
                            const PlanLimits& limits, const std::function<void(double)>& progress,
                            const ForEach& for_each) {
  std::mutex mutex;
  double done = 0;
  return run_all<Plan>(configs, for_each, [&](std::size_t i, const ForEach& inside) {
    std::function<void(double)> tell;
    double told = 0;
    if (progress) {
      tell = [&](double share) {
        const std::lock_guard lock(mutex);
        done += share - std::exchange(told, share);
        progress(done / static_cast<double>(configs.size()));
      };
    }
    return plan_step(configs[i].config, parts, limits, tell, inside);
  });
}

}  // namespace fabricast
