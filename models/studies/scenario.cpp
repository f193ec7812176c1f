#include "models/studies/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "models/io/counted.hpp"
#include "models/io/unit_text.hpp"
#include "models/studies/bench_text.hpp"
#include "models/studies/decide_text.hpp"

namespace fabricast {

namespace {

constexpr double kGB = 1e9;

/// What expectations speak of, whichever study gave it.
struct Answer {
  Collective collective{};
  int nodes = 1;
  Bytes requested;
  std::optional<Algorithm> algorithm;  ///< nothing: NCCL refuses the call
  Protocol protocol{};
  double time_us = 0, busbw_GBps = 0;
  const BenchBlock* block = nullptr;  ///< of a simulated one
  const BenchRow* row = nullptr;
};

std::vector<Answer> answers(const BenchResult& result) {
  std::vector<Answer> out;
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      out.push_back({row.collective, row.nodes, row.requested, row.decided.run.algorithm,
                     row.decided.run.protocol, microseconds_of(row.result.time), row.busbw(),
                     &block, &row});
    }
  }
  return out;
}

std::vector<Answer> answers(const DecideResult& result) {
  std::vector<Answer> out;
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      const double us = row.decision.time_us;
      const double algbw = us > 0 ? static_cast<double>(row.size.count) / 1e3 / us : 0;
      out.push_back({row.collective, block.communicator.nodes, row.requested,
                     row.decision.algorithm, row.decision.protocol, us,
                     algbw * busbw_factor(row.collective, block.communicator.ranks), nullptr,
                     nullptr});
    }
  }
  return out;
}

class Judge {
 public:
  explicit Judge(const ScenarioResult& result)
      : scenario_(result.scenario), concurrent_(result.concurrent) {
    for (const BenchResult& one : result.results) answers_.push_back(answers(one));
    for (const DecideResult& one : result.decisions) answers_.push_back(answers(one));
  }

  Verdict judge(const Expectation& expected) {
    verdict_ = {true, {}};
    if (!expected.group.empty()) return judge_group(expected);
    const Answer& row = find(expected, expected.in_case);
    const std::string where =
        fmt::format("{}{} {}{}: ", expected.in_case.empty() ? "" : expected.in_case + ", ",
                    to_text(expected.size), to_text(row.collective),
                    has_several_nodes(expected) ? " on " + counted(row.nodes, "node") : "");
    if (expected.busbw_at_least || expected.busbw_at_most) {
      between("busbw", row.busbw_GBps, "GB/s", in_GB(expected.busbw_at_least),
              in_GB(expected.busbw_at_most));
    }
    if (expected.time_at_least || expected.time_at_most) {
      between("time", row.time_us, "us", in_us(expected.time_at_least),
              in_us(expected.time_at_most));
    }
    if (!expected.over.empty()) {
      between(fmt::format("busbw over that of {}", expected.over),
              row.busbw_GBps / find(expected, expected.over).busbw_GBps, "",
              expected.busbw_ratio_at_least, expected.busbw_ratio_at_most);
    }
    if (expected.algorithm) {
      equal("algorithm", row.algorithm ? to_text(*row.algorithm) : "none",
            to_text(*expected.algorithm));
    }
    if (expected.protocol)
      equal("protocol", row.algorithm ? to_text(row.protocol) : "none",
            to_text(*expected.protocol));
    if (!expected.limiting_link.empty()) limiting(expected, row);
    verdict_.text = where + verdict_.text;
    if (!expected.because.empty()) verdict_.text += fmt::format(" ({})", expected.because);
    return verdict_;
  }

 private:
  Verdict judge_group(const Expectation& expected) {
    for (std::size_t i = 0; i < scenario_.cases.size(); ++i) {
      const ScenarioCase& one = scenario_.cases[i];
      if (!expected.in_case.empty() && one.name != expected.in_case) continue;
      const auto group =
          std::ranges::find(one.concurrent.groups, expected.group, &ConcurrentGroup::name);
      const ConcurrentGroupResult& found =
          concurrent_[i]
              .result.groups[static_cast<std::size_t>(group - one.concurrent.groups.begin())];
      if (expected.slowdown_at_least || expected.slowdown_at_most)
        between("slowdown", found.slowdown(), "", expected.slowdown_at_least,
                expected.slowdown_at_most);
      if (expected.busbw_at_least || expected.busbw_at_most)
        between("busbw", found.busbw_together, "GB/s", in_GB(expected.busbw_at_least),
                in_GB(expected.busbw_at_most));
      if (expected.time_at_least || expected.time_at_most)
        between("time", microseconds_of(found.together), "us", in_us(expected.time_at_least),
                in_us(expected.time_at_most));
      break;
    }
    verdict_.text = fmt::format("{}{}: {}", expected.in_case.empty() ? "" : expected.in_case + ", ",
                                expected.group, verdict_.text);
    if (!expected.because.empty()) verdict_.text += fmt::format(" ({})", expected.because);
    return verdict_;
  }

  static std::optional<double> in_GB(std::optional<Bandwidth> rate) {
    return rate ? std::optional(static_cast<double>(rate->bytes_per_s) / kGB) : std::nullopt;
  }
  static std::optional<double> in_us(std::optional<Duration> time) {
    return time ? std::optional(microseconds_of(*time)) : std::nullopt;
  }

  const std::vector<Answer>& answers_of(const Expectation& expected,
                                        const std::string& name) const {
    for (std::size_t i = 0; i < scenario_.cases.size(); ++i) {
      if (name.empty() || scenario_.cases[i].name == name) return answers_[i];
    }
    throw Error(expected.place, fmt::format("no case is named \"{}\"", name));
  }

  const Answer& find(const Expectation& expected, const std::string& name) const {
    for (const Answer& row : answers_of(expected, name)) {
      if (row.requested == expected.size && (!expected.nodes || *expected.nodes == row.nodes) &&
          (!expected.collective || *expected.collective == row.collective))
        return row;
    }
    throw Error(expected.place,
                fmt::format("nothing was run at {}{}", to_text(expected.size),
                            expected.nodes ? fmt::format(" on {} nodes", *expected.nodes) : ""));
  }

  /// Does its case run several numbers of nodes?
  bool has_several_nodes(const Expectation& expected) const {
    const std::vector<Answer>& of_case = answers_of(expected, expected.in_case);
    return std::ranges::any_of(of_case,
                               [&](const Answer& a) { return a.nodes != of_case.front().nodes; });
  }

  void add(bool holds, const std::string& text) {
    verdict_.holds = verdict_.holds && holds;
    verdict_.text += (verdict_.text.empty() ? "" : "; ") + text;
  }

  void between(const std::string& what, double value, const std::string& unit,
               std::optional<double> low, std::optional<double> high) {
    std::string bounds;
    if (low) bounds += fmt::format(", at least {:g}", *low);
    if (high) bounds += fmt::format(", at most {:g}", *high);
    add((!low || value >= *low) && (!high || value <= *high),
        fmt::format("{} {:.4g}{}{}{}", what, value, unit.empty() ? "" : " ", unit, bounds));
  }

  void equal(const std::string& what, std::string_view value, std::string_view expected) {
    add(value == expected, value == expected ? fmt::format("{} {}", what, value)
                                             : fmt::format("{} {}, not {}", what, value, expected));
  }

  void limiting(const Expectation& expected, const Answer& answer) {
    if (answer.row == nullptr || answer.row->result.links.empty())
      return add(false, "no link carried anything");
    const std::vector<LinkLoad>& links = answer.row->result.links;  // busiest first
    const Cluster& cluster = answer.block->cluster;
    for (const LinkLoad& load : links) {
      const std::string name = cluster.link_name(load.link);
      if (load.utilisation < links.front().utilisation) break;
      if (name.find(expected.limiting_link) == std::string::npos) continue;
      return add(true, fmt::format("busiest link {}", name));
    }
    add(false, fmt::format("busiest link {}, not \"{}\"", cluster.link_name(links.front().link),
                           expected.limiting_link));
  }

  const Scenario& scenario_;
  const std::vector<ScenarioResult::Concurrent>& concurrent_;
  std::vector<std::vector<Answer>> answers_;  ///< by case
  Verdict verdict_;
};

DecideConfig decide_config(const BenchConfig& config) {
  DecideConfig out;
  out.topology = config.topology;
  out.nodes = config.nodes;
  out.gpus_per_node = config.gpus_per_node;
  out.sharp = config.sharp;
  out.version = config.version;
  out.environment = config.environment;
  out.collectives = config.collectives;
  out.sizes = config.sizes;
  return out;
}

/// Every line behind '#'.
std::string commented(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out += fmt::format("# {}\n", line);
  return out;
}

}  // namespace

bool ScenarioResult::holds() const {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.holds; });
}

ScenarioResult run_scenario(const Scenario& scenario, const PartsCatalogue& parts,
                            const std::function<void(double)>& progress) {
  ScenarioResult out;
  out.scenario = scenario;
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    std::function<void(double)> part;
    if (progress) {
      part = [&, i](double share) {
        progress((static_cast<double>(i) + share) / static_cast<double>(scenario.cases.size()));
      };
    }
    const BenchConfig& config = scenario.cases[i].config;
    if (scenario.study == Study::bench) {
      out.results.push_back(run_bench(config, parts, part));
    } else if (scenario.study == Study::concurrent) {
      const int nodes = config.nodes.empty() ? 0 : config.nodes.front();
      ScenarioResult::Concurrent answer{
          load_cluster({config.topology, nodes, config.fabric}, parts), {}};
      const CommunicatorConfig wanted{config.version, config.environment, config.gpus_per_node,
                                      config.sharp, load_description(config.topology, parts)};
      answer.result = run_concurrent({answer.cluster, wanted, datatype_bytes(config.datatype)},
                                     scenario.cases[i].concurrent, parts.software, part);
      out.concurrent.push_back(std::move(answer));
    } else {
      out.decisions.push_back(run_decide(decide_config(config), parts));
    }
  }
  Judge judge(out);
  for (const Expectation& expected : scenario.expectations)
    out.verdicts.push_back(judge.judge(expected));
  return out;
}

std::string scenario_text(const ScenarioResult& result) {
  std::string out = commented(result.scenario.question);
  const std::vector<ScenarioCase>& cases = result.scenario.cases;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases.size() > 1) out += fmt::format("#\n# == {} ==\n", cases[i].name);
    switch (result.scenario.study) {
      case Study::bench:
        out += bench_text(result.results[i]);
        break;
      case Study::decide:
        out += decide_text(result.decisions[i]);
        break;
      case Study::concurrent:
        out += concurrent_text(result.concurrent[i].cluster, cases[i].concurrent,
                               result.concurrent[i].result);
        break;
    }
  }
  if (!result.verdicts.empty()) out += "#\n# Expectations:\n";
  for (const Verdict& verdict : result.verdicts)
    out += fmt::format("# {}  {}\n", verdict.holds ? "ok    " : "FAILED", verdict.text);
  return out;
}

}  // namespace fabricast
