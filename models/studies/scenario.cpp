#include "models/studies/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "models/io/unit_text.hpp"
#include "models/studies/bench_text.hpp"

namespace fabricast {

namespace {

constexpr double kGB = 1e9;

class Judge {
 public:
  Judge(const Scenario& scenario, const std::vector<BenchResult>& results)
      : scenario_(scenario), results_(results) {}

  Verdict judge(const Expectation& expected) {
    verdict_ = {true, {}};
    const BenchRow& row = find(expected, expected.in_case);
    const std::string where =
        fmt::format("{}{} {}: ", expected.in_case.empty() ? "" : expected.in_case + ", ",
                    to_text(expected.size), to_text(row.collective));
    if (expected.busbw_at_least || expected.busbw_at_most) {
      between("busbw", row.busbw(), "GB/s", in_GB(expected.busbw_at_least),
              in_GB(expected.busbw_at_most));
    }
    if (expected.time_at_least || expected.time_at_most) {
      between("time", microseconds_of(row.result.time), "us", in_us(expected.time_at_least),
              in_us(expected.time_at_most));
    }
    if (!expected.over.empty()) {
      between(fmt::format("busbw over that of {}", expected.over),
              row.busbw() / find(expected, expected.over).busbw(), "",
              expected.busbw_ratio_at_least, expected.busbw_ratio_at_most);
    }
    if (expected.algorithm)
      equal("algorithm", to_text(row.decided.run.algorithm), to_text(*expected.algorithm));
    if (expected.protocol)
      equal("protocol", to_text(row.decided.run.protocol), to_text(*expected.protocol));
    if (!expected.limiting_link.empty()) limiting(expected, row);
    verdict_.text = where + verdict_.text;
    if (!expected.because.empty()) verdict_.text += fmt::format(" ({})", expected.because);
    return verdict_;
  }

 private:
  static std::optional<double> in_GB(std::optional<Bandwidth> rate) {
    return rate ? std::optional(static_cast<double>(rate->bytes_per_s) / kGB) : std::nullopt;
  }
  static std::optional<double> in_us(std::optional<Duration> time) {
    return time ? std::optional(microseconds_of(*time)) : std::nullopt;
  }

  const BenchResult& result_of(const Expectation& expected, const std::string& name) const {
    for (std::size_t i = 0; i < scenario_.cases.size(); ++i) {
      if (name.empty() || scenario_.cases[i].name == name) return results_[i];
    }
    throw Error(expected.place, fmt::format("no case is named \"{}\"", name));
  }

  const BenchRow& find(const Expectation& expected, const std::string& name) const {
    for (const BenchBlock& block : result_of(expected, name).blocks) {
      for (const BenchRow& row : block.rows) {
        if (row.requested == expected.size && (!expected.nodes || *expected.nodes == row.nodes) &&
            (!expected.collective || *expected.collective == row.collective))
          return row;
      }
    }
    throw Error(expected.place,
                fmt::format("nothing was run at {}{}", to_text(expected.size),
                            expected.nodes ? fmt::format(" on {} nodes", *expected.nodes) : ""));
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

  void limiting(const Expectation& expected, const BenchRow& row) {
    const BenchResult& result = result_of(expected, expected.in_case);
    for (const BenchBlock& block : result.blocks) {
      const std::vector<LinkLoad>& links = row.result.links;  // busiest first
      if (block.nodes != row.nodes || links.empty()) continue;
      for (const LinkLoad& load : links) {
        const std::string name = block.cluster.link_name(load.link);
        if (load.utilisation < links.front().utilisation) break;
        if (name.find(expected.limiting_link) == std::string::npos) continue;
        return add(true, fmt::format("busiest link {}", name));
      }
      return add(false,
                 fmt::format("busiest link {}, not \"{}\"",
                             block.cluster.link_name(links.front().link), expected.limiting_link));
    }
    add(false, "no link carried anything");
  }

  const Scenario& scenario_;
  const std::vector<BenchResult>& results_;
  Verdict verdict_;
};

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
    out.results.push_back(run_bench(scenario.cases[i].config, parts, part));
  }
  Judge judge(scenario, out.results);
  for (const Expectation& expected : scenario.expectations)
    out.verdicts.push_back(judge.judge(expected));
  return out;
}

std::string scenario_text(const ScenarioResult& result) {
  std::string out = commented(result.scenario.question);
  for (std::size_t i = 0; i < result.results.size(); ++i) {
    if (result.results.size() > 1)
      out += fmt::format("#\n# == {} ==\n", result.scenario.cases[i].name);
    out += bench_text(result.results[i]);
  }
  if (!result.verdicts.empty()) out += "#\n# Expectations:\n";
  for (const Verdict& verdict : result.verdicts)
    out += fmt::format("# {}  {}\n", verdict.holds ? "ok    " : "FAILED", verdict.text);
  return out;
}

}  // namespace fabricast
