// One layout, or one plan, on several clusters: --vary.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/io/topologies/load.hpp"
#include "models/studies/training/plan.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// So many NICs of each node, evenly spread over it.
void take_nics(NamedConfig& made, int count, const PartsCatalogue& parts) {
  StepConfig& config = made.config;
  const Cluster node = load_cluster({config.topology, 1, config.fabric}, parts);
  const auto nics = node.node().nics();
  const auto all = static_cast<int>(nics.size());
  if (all % count != 0) {
    made.refused = fmt::format("{} NICs of the {} of a node do not lie evenly", count, all);
    return;
  }
  std::string names;
  for (int i = 0; i < all; i += all / count)
    names += (names.empty() ? "" : ",") + nics[static_cast<std::size_t>(i)].name;
  config.environment.set("NCCL_IB_HCA", "=" + names);
}

void change(NamedConfig& made, const std::string& key, const std::string& value,
            const PartsCatalogue& parts) {
  StepConfig& config = made.config;
  if (key == "topology") {
    config.topology = value;
  } else if (key == "fabric") {
    config.fabric = value;
  } else if (key == "oversubscription") {
    config.oversubscription = parse_counts(value, "oversubscription", 1000).front();
  } else if (key == "bucket") {
    config.layout.bucket = static_cast<double>(parse_bytes(value).count);
  } else if (key == "nodes") {
    config.nodes = parse_counts(value, "nodes", 1 << 20).front();
  } else if (key == "nics") {
    take_nics(made, parse_counts(value, "nics", 1024).front(), parts);
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
std::vector<Result> run_all(const std::vector<NamedConfig>& configs, const Run& run) {
  std::vector<Result> out;
  std::optional<Error> first;
  bool some = false;
  for (const NamedConfig& one : configs) {
    Result result;
    result.refused = one.refused;
    try {
      if (!one.refused.empty()) throw Error(one.refused);
      result = run(one);
      some = true;
    } catch (const Error& error) {
      result.refused = error.reason();
      if (!first) first = error;
    }
    result.name = one.name;
    out.push_back(std::move(result));
  }
  if (!some && first) throw *first;
  return out;
}

}  // namespace

std::vector<NamedConfig> vary(const std::vector<NamedConfig>& configs, std::string_view variation,
                              const PartsCatalogue& parts) {
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
      change(made, key, value, parts);
      out.push_back(std::move(made));
    }
  }
  return out;
}

std::vector<NamedStep> run_variations(const std::vector<NamedConfig>& configs,
                                      const PartsCatalogue& parts) {
  return run_all<NamedStep>(configs, [&](const NamedConfig& one) {
    return NamedStep{{}, {}, run_step(one.config, parts)};
  });
}

std::vector<Plan> run_plans(const std::vector<NamedConfig>& configs, const PartsCatalogue& parts,
                            const PlanLimits& limits, const std::function<void(double)>& progress) {
  double before = 0;
  return run_all<Plan>(configs, [&](const NamedConfig& one) {
    const double first = before++, all = static_cast<double>(configs.size());
    std::function<void(double)> part;
    if (progress) part = [&, first](double share) { progress((first + share) / all); };
    return plan_step(one.config, parts, limits, part);
  });
}

}  // namespace fabricast
