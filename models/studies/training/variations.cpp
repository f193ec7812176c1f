// One layout, or one plan, on several clusters: --vary.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "models/io/topologies/topology_name.hpp"
#include "models/nccl/base/members.hpp"
#include "models/studies/training/plan.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::string_view kVaried[] = {"topology", "fabric",           "nodes",
                                        "nics",     "oversubscription", "bucket"};

void change(NamedConfig& made, const std::string& key, const std::string& value) {
  StepConfig& config = made.config;
  if (key == "topology") {
    config.topology = made.nodes.empty() ? value : with_changes(value, made.nodes);
  } else if (key == "fabric") {
    config.fabric = value;
  } else if (key == "oversubscription") {
    config.oversubscription = to_number<int>(value).value();
  } else if (key == "bucket") {
    config.layout.bucket = static_cast<double>(parse_bytes(value).count);
  } else if (key == "nodes") {
    config.nodes = to_number<int>(value).value();
  } else if (key == "nics") {
    made.nodes.nics = to_number<int>(value).value();
    config.topology = with_changes(config.topology, made.nodes);
  } else if (key.starts_with("NCCL_")) {
    config.environment.set(key, value);
  } else {
    std::vector<std::string> known(std::begin(kVaried), std::end(kVaried));
    known.emplace_back("NCCL_...");
    throw Error(fmt::format("\"{}\" cannot be varied", key), hint_nearest(key, known));
  }
}

/// What is counted, and the most of it.
struct Counted {
  std::string_view key;
  int max;
};
constexpr Counted kCounted[] = {
    {"nodes", kRanksMax}, {"nics", kNicsMax}, {"oversubscription", 1000}};

/// "8,16" or "8..32" of what is counted; else words between commas.
std::vector<std::string> values_of(std::string_view key, std::string_view list) {
  std::vector<std::string> out;
  const auto counted = std::ranges::find(kCounted, key, &Counted::key);
  if (counted != std::end(kCounted)) {
    for (const int count : parse_counts(list, key, counted->max))
      out.push_back(std::to_string(count));
    return out;
  }
  out = comma_words(list);
  if (out.empty() || std::ranges::find(out, "") != out.end())
    throw Error(fmt::format("{}={} names no value", key, list), "KEY=VALUE,VALUE");
  return out;
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

std::span<const std::string_view> vary_keys() { return kVaried; }

std::vector<NamedConfig> vary(const std::vector<NamedConfig>& configs, std::string_view variation) {
  const std::size_t equals = variation.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw Error(fmt::format("\"{}\" is no variation", variation),
                "KEY=VALUE,VALUE, like nodes=8,16");
  const std::string key(variation.substr(0, equals));
  const std::vector<std::string> values = values_of(key, variation.substr(equals + 1));
  std::vector<NamedConfig> out;
  for (const NamedConfig& one : configs) {
    for (const std::string& value : values) {
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
