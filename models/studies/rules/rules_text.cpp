#include "models/studies/rules/rules_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "sim/base/add_once.hpp"
#include "text/cut.hpp"
#include "text/quoting.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kWidth = 120;     // of a terminal
constexpr std::size_t kColumnMax = 26;  // claimed, simulated
constexpr std::size_t kRangeMax = 100;  // in the table
constexpr std::size_t kFoundMax = 60;   // of a point
constexpr std::size_t kWordsShown = 3;  // of different answers
constexpr std::size_t kFiguresShown = 40;

std::string shortened(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : std::string(cut(text, width - 2)) + "..";
}

/// Lines of at most `width`, broken at blanks.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> out(1);
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    if (!out.back().empty() && out.back().size() + 1 + word.size() > width) out.emplace_back();
    if (!out.back().empty()) out.back() += ' ';
    out.back() += word;
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return out;
}

std::vector<const RulePoint*> points_of(const RuleOutcome& outcome) {
  std::vector<const RulePoint*> out;
  for (const CheckOutcome& check : outcome.checks)
    for (const RulePoint& point : check.points) out.push_back(&point);
  return out;
}

/// Without what stands in parentheses.
std::string bare(const std::string& found) { return found.substr(0, found.find(" (")); }

/// Answers of all points of one claim: "61.3 .. 75.2 %", "Tree LL, Ring LL, ..".
std::string span_of(const std::vector<const RulePoint*>& points, Dimension dimension) {
  const RulePoint *least = nullptr, *most = nullptr;
  std::vector<std::string> words;
  for (const RulePoint* point : points) {
    if (point->figure) {
      if (least == nullptr || *point->figure < *least->figure) least = point;
      if (most == nullptr || *point->figure > *most->figure) most = point;
    }
    add_once(words, bare(point->found));
  }
  if (words.size() == 1) return words.front();
  if (least != nullptr)
    return fmt::format("{} .. {}", figure_text(*least->figure, dimension),
                       figure_text(*most->figure, dimension));
  const bool more = words.size() > kWordsShown;
  words.resize(std::min(words.size(), kWordsShown));
  return fmt::format("{}{}", fmt::join(words, ", "), more ? ", .." : "");
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string counts_text(const RulesResult& result) {
  std::array<int, kRuleVerdicts> counts{};
  std::size_t holding = 0, points = 0;
  for (const RuleOutcome& outcome : result.outcomes) {
    ++counts[static_cast<std::size_t>(outcome.verdict)];
    holding += outcome.holding;
    points += outcome.points;
  }
  std::string out = counted(result.outcomes.size(), "rule") + ":";
  for (std::size_t i = 0; i < counts.size(); ++i)
    out += fmt::format("{} {} {}", i == 0 ? "" : ",", counts[i], kRuleVerdictWords.words[i]);
  return out + fmt::format("; {} of {} points as claimed\n", holding, points);
}

std::string points_text(const RuleOutcome& outcome) {
  return outcome.points == 0 ? "" : fmt::format("{}/{}", outcome.holding, outcome.points);
}

std::string table_text(const RulesResult& result) {
  constexpr std::size_t kColumns = 5;
  std::vector<std::array<std::string, kColumns>> rows = {
      {"rule", "verdict", "points", "claimed", "simulated"}};
  std::vector<std::string> last = {"where it holds, or why"};
  for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
    const Rule& rule = result.file.rules[r];
    const RuleOutcome& outcome = result.outcomes[r];
    const RuleSummary summary = summary_of(rule, outcome);
    rows.push_back({shortened(rule.id, kColumnMax), std::string(to_text(outcome.verdict)),
                    points_text(outcome), shortened(summary.claimed, kColumnMax),
                    shortened(summary.found, kColumnMax)});
    last.push_back(outcome.range.empty() ? summary.why
                                         : "holds: " + shortened(outcome.range, kRangeMax));
  }
  std::size_t before = 0;
  std::array<std::size_t, kColumns> widths{};
  for (std::size_t i = 0; i < kColumns; ++i) {
    for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].size());
    before += widths[i] + 2;
  }
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<std::string> lines =
        wrapped(last[r], std::max<std::size_t>(kWidth - before, 30));
    for (std::size_t l = 0; l < lines.size(); ++l) {
      std::string line;
      for (std::size_t i = 0; i < kColumns; ++i)
        line += fmt::format("{:<{}}  ", l == 0 ? rows[r][i] : "", widths[i]);
      line += lines[l];
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  }
  return out;
}

std::string details_text(const Rule& rule, const RuleOutcome& outcome) {
  std::string out = fmt::format("{}  {}  {}{}\n", rule.id, to_text(outcome.verdict), rule.claim,
                                rule.source.empty() ? "" : " (" + rule.source + ")");
  if (!outcome.range.empty()) out += fmt::format("  holds: {}\n", outcome.range);
  if (!rule.why.empty() && !differs(rule, outcome)) out += fmt::format("  why: {}\n", rule.why);
  TextTable table("  ");
  table.add({"ask", "where", "claimed", "simulated", ""});
  const std::vector<std::string> names = point_names(rule, outcome);
  std::size_t number = 0;
  for (std::size_t c = 0; c < outcome.checks.size(); ++c) {
    const RuleCheck& check = rule.checks[c];
    std::string ask(kAskWords[check.ask]);
    if (!check.figure.word.empty()) ask += " " + check.figure.word;
    if (!outcome.checks[c].not_simulated.empty())
      table.add({ask, check.label, check.claim.text,
                 "not simulated: " + outcome.checks[c].not_simulated, ""});
    for (const RulePoint& point : outcome.checks[c].points)
      table.add({ask, names[number++], point.claimed, shortened(point.found, kFoundMax),
                 point.holds ? "holds" : "no"});
  }
  return out + table.text();
}

/// No rule has a point, and one at least was to have some: an empty answer is no good one.
bool checks_nothing(const RulesResult& result) {
  const auto is_expected = [](const Rule& rule) {
    return rule.expect == RuleVerdict::not_simulated;
  };
  return !std::ranges::all_of(result.file.rules, is_expected) &&
         std::ranges::all_of(result.outcomes, [](const RuleOutcome& o) { return o.points == 0; });
}

}  // namespace

bool differs(const Rule& rule, const RuleOutcome& outcome) {
  if (rule.expect) return *rule.expect != outcome.verdict;
  return outcome.verdict != RuleVerdict::holds && outcome.verdict != RuleVerdict::not_simulated;
}

RuleSummary summary_of(const Rule& rule, const RuleOutcome& outcome) {
  RuleSummary out;
  const std::vector<const RulePoint*> points = points_of(outcome);
  if (points.empty()) {
    out.claimed = rule.checks.front().claim.text;
    for (const CheckOutcome& check : outcome.checks) {
      if (out.why.find(check.not_simulated) != std::string::npos) continue;
      out.why += (out.why.empty() ? "" : "; ") + check.not_simulated;
    }
    return out;
  }
  const bool one_claim =
      std::ranges::all_of(
          points, [&](const RulePoint* p) { return p->claimed == points.front()->claimed; }) &&
      std::ranges::all_of(rule.checks, [&](const RuleCheck& c) {
        return c.figure.word == rule.checks.front().figure.word;
      });
  const auto telling = std::ranges::find_if(points, [](const RulePoint* p) { return !p->holds; });
  const RulePoint& shown = telling == points.end() ? *points.front() : **telling;
  out.claimed = shown.claimed;
  out.found = one_claim ? span_of(points, rule.checks.front().figure.dimension) : bare(shown.found);
  std::string at;
  if (!one_claim) {
    const auto number = static_cast<std::size_t>(
        (telling == points.end() ? points.begin() : telling) - points.begin());
    at = "shown: " + point_names(rule, outcome)[number];
  }
  const std::string mechanism = differs(rule, outcome) ? "" : rule.why;
  for (const std::string& part :
       {outcome.range.empty() ? "" : "holds: " + outcome.range, mechanism.empty() ? at : mechanism})
    if (!part.empty()) out.why += (out.why.empty() ? "" : ". ") + part;
  return out;
}

std::string rules_text(const RulesResult& result, bool details) {
  std::string out;
  if (!result.file.title.empty()) out += result.file.title + "\n\n";
  if (details) {
    for (std::size_t r = 0; r < result.outcomes.size(); ++r)
      out += details_text(result.file.rules[r], result.outcomes[r]) + "\n";
  } else {
    out += table_text(result) + "\n";
  }
  return out + counts_text(result);
}

std::string expectations_text(const RulesResult& result) {
  std::string out;
  for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
    const Rule& rule = result.file.rules[r];
    if (!differs(rule, result.outcomes[r])) continue;
    out += fmt::format("differs: {} is {}, {}\n", rule.id, to_text(result.outcomes[r].verdict),
                       rule.expect ? fmt::format("the file expects {}", to_text(*rule.expect))
                                   : "and without \"expect\" it is to hold");
  }
  if (out.empty() && checks_nothing(result)) out = "differs: nothing is checked, all is skipped\n";
  return out;
}

std::string comparison_text(const RulesComparison& comparison) {
  std::string out =
      fmt::format("\nbeside {}: {} changed, {} by more than {:g} %\n", comparison.baseline,
                  counted(comparison.verdicts.size(), "verdict"),
                  counted(comparison.figures.size(), "figure"), 100 * comparison.tolerance);
  TextTable table("  ");
  for (const RuleChange& change : comparison.verdicts)
    table.add({change.rule, "verdict", change.before, "->", change.after});
  for (std::size_t i = 0; i < std::min(comparison.figures.size(), kFiguresShown); ++i) {
    const RuleChange& change = comparison.figures[i];
    table.add({change.rule, change.where, change.before, "->", change.after});
  }
  out += table.text();
  if (comparison.figures.size() > kFiguresShown)
    out += fmt::format("  and {} more figures\n", comparison.figures.size() - kFiguresShown);
  if (!comparison.only_here.empty())
    out += fmt::format("  not in the earlier run: {}\n", fmt::join(comparison.only_here, ", "));
  if (!comparison.only_there.empty())
    out += fmt::format("  only in the earlier run: {}\n", fmt::join(comparison.only_there, ", "));
  return out;
}

namespace {

std::string markdown_of(const RulesRun& run) {
  const RulesResult& result = run.result;
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find_first_of("|\n", at)) != std::string::npos; at += 2)
      text.replace(at, 1, text[at] == '|' ? "\\|" : "  ");
    return text;
  };
  const std::string& title = result.file.title.empty() ? result.file.name : result.file.title;
  std::string out = fmt::format(
      "# {}{}\n\n{}\n| rule | claim | verdict | points | claimed | "
      "simulated | where it holds, or why |\n|---|---|---|---|---|---|---|\n",
      line_text(title), run.release.empty() ? "" : ", NCCL " + run.release, counts_text(result));
  for (std::size_t r = 0; r < result.outcomes.size(); ++r) {
    const Rule& rule = result.file.rules[r];
    const RuleOutcome& outcome = result.outcomes[r];
    const RuleSummary summary = summary_of(rule, outcome);
    out += fmt::format(
        "| {} | {} | {}{} | {} | {} | {} | {} |\n", cell(rule.id), cell(rule.claim),
        to_text(outcome.verdict),
        differs(rule, outcome) ? fmt::format(" (expected: {})", to_text(rule.expected())) : "",
        points_text(outcome), cell(summary.claimed), cell(summary.found), cell(summary.why));
  }
  return out;
}

}  // namespace

std::string rules_markdown(const std::vector<RulesRun>& runs) {
  std::string out;
  for (const RulesRun& run : runs) out += (out.empty() ? "" : "\n") + markdown_of(run);
  return out;
}

}  // namespace fabricast
