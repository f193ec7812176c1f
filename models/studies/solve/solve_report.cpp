// The answer of `solve` for people and as a report.
#include <fmt/format.h>

#include <algorithm>

#include "models/io/report/columns.hpp"
#include "models/studies/solve/solve.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

std::string goal_text(const SolveResult& result) {
  switch (result.ask.goal) {
    case SolveGoal::until:
      return fmt::format("{} until {}", result.key, result.ask.condition);
    case SolveGoal::fewest:
      return fmt::format("fewest {} such that {}", result.key, result.ask.condition);
    case SolveGoal::most:
      break;
  }
  return fmt::format("most {} such that {}", result.key, result.ask.condition);
}

std::string value_text(const SolveResult& result, const SolveLine& line, BandEnd end) {
  const auto& at = line.answer[static_cast<std::size_t>(end)];
  return at ? result.values[*at] : "none";
}

/// "4", and where the band leaves a doubt "4 (8 at the slow end of the band)".
std::string answer_text(const SolveResult& result, const SolveLine& line) {
  const std::string middle = value_text(result, line, BandEnd::middle);
  std::string doubt;
  for (const BandEnd end : {BandEnd::fast, BandEnd::slow}) {
    const std::string other = value_text(result, line, end);
    if (other != middle)
      doubt += fmt::format("{}{} at the {} end of the 80 % band", doubt.empty() ? " (" : ", ",
                           other, end == BandEnd::fast ? "fast" : "slow");
  }
  return middle + doubt + (doubt.empty() ? "" : ")");
}

std::string number_text(const std::optional<double>& number) {
  return number ? fmt::format("{:.6g}", *number) : "";
}

bool all_numbers(const SolveResult& result) {
  return std::ranges::all_of(
      result.values, [](const std::string& value) { return finite_number(value).has_value(); });
}

/// No value was asked for there, or it is refused.
bool is_unknown(const SolveResult& result, std::size_t value) {
  return std::ranges::none_of(result.asked, [&](const SolvedValue& one) {
    return one.value == value && one.refused.empty();
  });
}

/// "it changes between 8 and 16": between which values the answer may lie.
std::string between_text(const SolveResult& result, const SolveLine& line) {
  const auto& at = line.answer.front();
  if (!at || !line.changes_once) return {};
  // The answer is the first value where it holds, else the last one.
  const bool up = result.ask.goal == SolveGoal::fewest ||
                  (result.ask.goal == SolveGoal::until && !line.first_holds);
  const bool at_end = up ? *at == 0 : *at + 1 == result.values.size();
  if (at_end)
    return fmt::format("it holds at {} already, the {} value asked for\n", result.values[*at],
                       up ? "first" : "last");
  const std::size_t low = up ? *at - 1 : *at, high = low + 1;
  if (!all_numbers(result) || is_unknown(result, low) || is_unknown(result, high)) return {};
  const std::string &from = result.values[low], &to = result.values[high];
  const std::string out = fmt::format("it changes between {} and {}", from, to);
  const auto first = to_number<std::int64_t>(from), last = to_number<std::int64_t>(to);
  if (first && last && *last - *first <= 1) return out + "\n";
  return fmt::format("{}: --vary {}={}..{}:+STEP looks closer\n", out, result.key, from, to);
}

Json value_json(const SolveResult& result, const std::string& value) {
  return all_numbers(result) ? Json(*finite_number(value)) : Json(value);
}

/// Why values have no answer: a reason may take several lines, with what to do.
std::string refusals_text(const SolveResult& result) {
  std::string out;
  for (const SolvedValue& one : result.asked) {
    if (one.refused.empty()) continue;
    const std::string& others = result.lines[one.line].others;
    std::string why = one.refused;
    for (std::size_t at = why.find('\n'); at != std::string::npos; at = why.find('\n', at + 5))
      why.replace(at, 1, "\n    ");
    out += fmt::format("  {}{} {} is refused: {}\n", others.empty() ? "" : others + ", ",
                       result.key, result.values[one.value], why);
  }
  return out;
}

}  // namespace

std::string solve_text(const SolveResult& result) {
  std::string out;
  for (const SolveLine& line : result.lines)
    out += fmt::format("{}{}: {}\n", line.others.empty() ? "" : line.others + ": ",
                       goal_text(result), answer_text(result, line));
  if (result.lines.size() == 1) out += between_text(result, result.lines.front());
  out += "\n";
  TextTable table("  ");
  const bool several = result.lines.size() > 1;
  std::vector<std::string> head = {result.key, "figure", "threshold", "holds"};
  if (result.has_band) head.insert(head.end(), {"if fast", "if slow"});
  if (several) head.insert(head.begin(), "of");
  table.add(head);
  for (std::size_t column = several ? 1 : 0; column < (several ? 4U : 3U); ++column)
    table.align_right(column);
  const auto word = [](bool holds) { return holds ? "yes" : "no"; };
  for (const SolvedValue& one : result.asked) {
    std::vector<std::string> cells = {result.values[one.value], number_text(one.figure),
                                      number_text(one.threshold),
                                      one.refused.empty() ? word(one.holds[0]) : "refused"};
    if (result.has_band && one.refused.empty())
      cells.insert(cells.end(), {word(one.holds[1]), word(one.holds[2])});
    if (several) cells.insert(cells.begin(), result.lines[one.line].others);
    table.add(std::move(cells));
  }
  out += table.text() + refusals_text(result);
  out += fmt::format("{} of {} asked\n", result.asked.size(),
                     counted(std::ssize(result.values) * std::ssize(result.lines), "value"));
  for (const std::string& note : result.notes) out += "note: " + note + "\n";
  return out;
}

Report solve_report(const SolveResult& result) {
  using namespace column;
  Report out;
  out.study = "solve";
  Json vary = Json::object();
  for (const auto& [key, values] : result.ask.vary) vary[key] = values;
  out.job = {{"ask",
              {{"question", result.ask.file},
               {"goal", std::string(kSolveGoalWords[result.ask.goal])},
               {"key", result.key},
               {"condition", result.ask.condition},
               {"vary", std::move(vary)}}}};
  out.notes = result.notes;
  const auto value_column = [&](std::string_view name) {
    return all_numbers(result) ? number(name, {}, ".9g") : text(name);
  };
  ReportTable answer("answer", {text("others"), text("key"), value_column("value"),
                                value_column("value_if_fast"), value_column("value_if_slow"),
                                flag("changes_once", "yes"), whole("asked"), whole("values")});
  for (const SolveLine& line : result.lines) {
    const auto cell = [&](BandEnd end) {
      const auto& at = line.answer[static_cast<std::size_t>(end)];
      return at ? value_json(result, result.values[*at]) : Json();
    };
    answer.add({line.others, result.key, cell(BandEnd::middle), cell(BandEnd::fast),
                cell(BandEnd::slow), line.changes_once, line.asked, result.values.size()});
  }
  ReportTable points(
      "points", {text("others"), value_column("value"), number("figure", {}, ".9g"),
                 number("threshold", {}, ".9g"), flag("holds", "yes"), flag("holds_low", "yes"),
                 flag("holds_high", "yes"), whole("order"), text("refused")});
  for (const SolvedValue& one : result.asked) {
    const auto holds = [&](std::size_t end) {
      return one.refused.empty() ? Json(one.holds[end]) : Json();
    };
    points.add({result.lines[one.line].others, value_json(result, result.values[one.value]),
                or_null(one.figure), or_null(one.threshold), holds(0), holds(1), holds(2),
                one.number, one.refused.empty() ? Json() : Json(one.refused)});
  }
  out.tables = {std::move(answer), std::move(points)};
  out.facts["condition"] = goal_text(result);
  return out;
}

}  // namespace fabricast
