#include "models/studies/scenario/scenario_judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/counted.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr double kGB = 1e9;

class Judge {
 public:
  explicit Judge(const ScenarioResult& result)
      : scenario_(result.scenario), answers_(result.answers), rows_(result.rows()) {}

  /// REQUIRES: a bound.
  Verdict judge(const Expectation& expected) {
    verdict_ = {true, {}};
    if (!expected.group.empty()) return judge_group(expected);
    const ScenarioRow& row = find(expected, expected.in_case);
    if (!row.completes() || (!expected.over.empty() && !find(expected, expected.over).completes()))
      return {false, where(expected, row) + ": does not complete"};
    if (expected.busbw_at_least || expected.busbw_at_most) {
      between("busbw", row.busbw_GBps, "GB/s", in_GB(expected.busbw_at_least),
              in_GB(expected.busbw_at_most));
    }
    if (expected.time_at_least || expected.time_at_most) {
      between("time", row.time_us, "us", in_us(expected.time_at_least),
              in_us(expected.time_at_most));
    }
    if (expected.busbw_ratio_at_least || expected.busbw_ratio_at_most) {
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
    verdict_.text = fmt::format("{}: {}", where(expected, row), verdict_.text);
    if (!expected.because.empty()) verdict_.text += fmt::format(" ({})", expected.because);
    return verdict_;
  }

  /// What was measured, beside what is predicted.
  void compare(const Expectation& expected, std::vector<Comparison>& out) const {
    const ScenarioRow& row = find(expected, expected.in_case);
    const std::string place = where(expected, row);
    if (!row.completes() || (!expected.over.empty() && !find(expected, expected.over).completes()))
      return;
    if (expected.measured_busbw) {
      out.push_back({place + ", busbw", "GB/s", expected.source, false,
                     *in_GB(expected.measured_busbw), row.busbw_GBps});
    }
    if (expected.measured_time) {
      out.push_back({place + ", time", "us", expected.source, false, *in_us(expected.measured_time),
                     row.time_us});
    }
    if (expected.measured_busbw_ratio) {
      out.push_back({fmt::format("{}, busbw over that of {}", place, expected.over), "",
                     expected.source, true, *expected.measured_busbw_ratio,
                     row.busbw_GBps / find(expected, expected.over).busbw_GBps});
    }
  }

 private:
  Verdict judge_group(const Expectation& expected) {
    std::size_t i = 0;
    while (!expected.in_case.empty() && scenario_.cases[i].name != expected.in_case) ++i;
    const std::vector<ConcurrentGroup>& groups =
        std::get<ConcurrentCase>(scenario_.cases[i].ask).asked.groups;
    const auto place =
        std::ranges::find(groups, expected.group, &ConcurrentGroup::name) - groups.begin();
    const ConcurrentGroupResult& found =
        std::get<ConcurrentAnswer>(answers_[i]).result.groups[static_cast<std::size_t>(place)];
    if (expected.slowdown_at_least || expected.slowdown_at_most)
      between("slowdown", found.slowdown(), "", expected.slowdown_at_least,
              expected.slowdown_at_most);
    if (expected.busbw_at_least || expected.busbw_at_most)
      between("busbw", found.busbw_together, "GB/s", in_GB(expected.busbw_at_least),
              in_GB(expected.busbw_at_most));
    if (expected.time_at_least || expected.time_at_most)
      between("time", microseconds_of(found.together), "us", in_us(expected.time_at_least),
              in_us(expected.time_at_most));
    verdict_.text = fmt::format("{}{}: {}", expected.in_case.empty() ? "" : expected.in_case + ", ",
                                expected.group, verdict_.text);
    if (!expected.because.empty()) verdict_.text += fmt::format(" ({})", expected.because);
    return verdict_;
  }

  std::string where(const Expectation& expected, const ScenarioRow& row) const {
    return fmt::format("{}{} {}{}", expected.in_case.empty() ? "" : expected.in_case + ", ",
                       to_text(expected.size), to_text(row.collective),
                       has_several_nodes(expected) ? " on " + counted(row.nodes, "node") : "");
  }

  static std::optional<double> in_GB(std::optional<Bandwidth> rate) {
    return rate ? std::optional(static_cast<double>(rate->bytes_per_s) / kGB) : std::nullopt;
  }
  static std::optional<double> in_us(std::optional<Duration> time) {
    return time ? std::optional(microseconds_of(*time)) : std::nullopt;
  }

  const std::vector<ScenarioRow>& rows_of(const Expectation& expected,
                                          const std::string& name) const {
    for (std::size_t i = 0; i < scenario_.cases.size(); ++i) {
      if (name.empty() || scenario_.cases[i].name == name) return rows_[i];
    }
    throw Error(expected.place, fmt::format("no case is named \"{}\"", name));
  }

  const ScenarioRow& find(const Expectation& expected, const std::string& name) const {
    for (const ScenarioRow& row : rows_of(expected, name)) {
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
    const std::vector<ScenarioRow>& of_case = rows_of(expected, expected.in_case);
    return std::ranges::any_of(
        of_case, [&](const ScenarioRow& a) { return a.nodes != of_case.front().nodes; });
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

  void limiting(const Expectation& expected, const ScenarioRow& answer) {
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
  const std::vector<CaseAnswer>& answers_;      ///< by case
  std::vector<std::vector<ScenarioRow>> rows_;  ///< by case
  Verdict verdict_;
};

bool has_bound(const Expectation& e) {
  return e.busbw_at_least || e.busbw_at_most || e.time_at_least || e.time_at_most ||
         e.busbw_ratio_at_least || e.busbw_ratio_at_most || e.algorithm || e.protocol ||
         !e.limiting_link.empty();
}

}  // namespace

void judge(ScenarioResult& result) {
  Judge judge(result);
  for (const Expectation& expected : result.scenario.expectations) {
    if (!expected.group.empty() || has_bound(expected))
      result.verdicts.push_back(judge.judge(expected));
    if (expected.group.empty()) judge.compare(expected, result.comparisons);
  }
}

}  // namespace fabricast
