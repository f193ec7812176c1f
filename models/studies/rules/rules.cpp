#include "models/studies/rules/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace fabricast {

namespace {

/// "4 nodes: 32 MiB .. 8 GiB; 8 nodes" of the points that hold.
std::string stretches(const std::vector<RulePoint>& points) {
  std::string out, group;
  const auto add = [&](const RulePoint& first, const RulePoint& last, bool whole) {
    std::string range = first.at == last.at ? first.at : first.at + " .. " + last.at;
    if (whole && !first.group.empty()) range.clear();
    const bool again = !out.empty() && group == first.group;
    if (!out.empty()) out += again ? ", " : "; ";
    if (!again && !first.group.empty()) out += first.group + (range.empty() ? "" : ": ");
    out += range;
    group = first.group;
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].holds) continue;
    std::size_t last = i;
    while (last + 1 < points.size() && points[last + 1].holds &&
           points[last + 1].group == points[i].group)
      ++last;
    const bool begins = i == 0 || points[i - 1].group != points[i].group;
    const bool ends = last + 1 == points.size() || points[last + 1].group != points[i].group;
    add(points[i], points[last], begins && ends);
    i = last;
  }
  return out;
}

/// Where the checks hold that do so at all. Checks of one label in a row are one table.
std::string range_of(const Rule& rule, const std::vector<CheckOutcome>& checks) {
  std::string out;
  for (std::size_t i = 0; i < checks.size();) {
    const std::string& label = rule.checks[i].label;
    std::vector<RulePoint> points;
    do {
      points.insert(points.end(), checks[i].points.begin(), checks[i].points.end());
      ++i;
    } while (i < checks.size() && !label.empty() && rule.checks[i].label == label);
    const auto holding = std::ranges::count_if(points, [](const RulePoint& p) { return p.holds; });
    if (holding == 0) continue;
    std::string range = stretches(points);
    if (range.empty())
      range = label.empty() ? fmt::format("check {}", i) : label;
    else if (!label.empty())
      range = holding == std::ssize(points) ? label : label + ": " + range;
    out += (out.empty() ? "" : "; ") + range;
  }
  return out;
}

}  // namespace

const std::vector<FigureKind>& figures_of(Ask ask) {
  using enum Dimension;
  static const std::vector<FigureKind> kNone,
      kRun = {{"time", time},        {"busbw", rate},     {"algbw", rate}, {"line_share", share},
              {"channels", count},   {"rounds", count},   {"sent", bytes}, {"sent_share", ratio},
              {"root_share", ratio}, {"pcie_sent", bytes}},
      kTwo = {{"time_saved", share},  {"busbw_gain", share}, {"time_ratio", ratio},
              {"busbw_ratio", ratio}, {"time_added", time},  {"sent_ratio", ratio}},
      kStep = {{"time", time},
               {"data_time", time},
               {"data_share", share},
               {"communication_share", share},
               {"contention_share", share},
               {"mfu", share},
               {"cost_million_tokens", price},
               {"time_saved", share},
               {"contention_saved", share}},
      kServe = {{"token_time", time},
                {"communication_time", time},
                {"communication_share", share},
                {"first_token_time", time}},
      kPart = {{"nvlink", rate}, {"nic_port", rate}}, kPrice = {{"hour", price}},
      kRetry = {{"timeout", time}, {"patience", time}};
  switch (ask) {
    case Ask::figure:
      return kRun;
    case Ask::compare:
      return kTwo;
    case Ask::step:
      return kStep;
    case Ask::serve:
      return kServe;
    case Ask::part:
      return kPart;
    case Ask::price:
      return kPrice;
    case Ask::retry:
      return kRetry;
    case Ask::choice:
    case Ask::fastest:
    case Ask::lint:
    case Ask::default_of:
    case Ask::import_file:
    case Ask::hang:
    case Ask::judge:
    case Ask::not_modelled:
      break;
  }
  return kNone;
}

RuleOutcome verdict_of(const Rule& rule, std::vector<CheckOutcome> checks) {
  RuleOutcome out;
  for (const CheckOutcome& check : checks) {
    out.points += check.points.size();
    out.holding += static_cast<std::size_t>(
        std::ranges::count_if(check.points, [](const RulePoint& p) { return p.holds; }));
  }
  if (out.points == 0) {
    out.verdict = RuleVerdict::not_simulated;
  } else if (out.holding == out.points) {
    out.verdict = RuleVerdict::holds;
  } else if (out.holding == 0) {
    out.verdict = RuleVerdict::contradicted;
  } else {
    out.verdict = RuleVerdict::holds_in_range;
    out.range = range_of(rule, checks);
  }
  out.checks = std::move(checks);
  return out;
}

RulesResult run_rules(RuleFile file, const PartsCatalogue& parts, const ForEach& for_each) {
  std::vector<std::pair<std::size_t, std::size_t>> all;  // rule, check
  std::vector<std::vector<CheckOutcome>> outcomes(file.rules.size());
  for (std::size_t r = 0; r < file.rules.size(); ++r) {
    outcomes[r].resize(file.rules[r].checks.size());
    for (std::size_t c = 0; c < outcomes[r].size(); ++c) all.emplace_back(r, c);
  }
  std::vector<std::exception_ptr> failures(all.size());
  for_each(all.size(), [&](std::size_t i) {
    const auto [r, c] = all[i];
    try {
      outcomes[r][c] = answer(file.rules[r].checks[c], parts);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  // The first of the file, whichever thread met one first.
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  RulesResult out;
  for (std::size_t r = 0; r < file.rules.size(); ++r)
    out.outcomes.push_back(verdict_of(file.rules[r], std::move(outcomes[r])));
  out.file = std::move(file);
  return out;
}

}  // namespace fabricast
