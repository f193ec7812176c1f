#include <fmt/format.h>

#include "models/io/report/answer_words.hpp"
#include "text/unit_text.hpp"

namespace fabricast::answers {
namespace {

/// "a, b and c"
std::string listed(const Json& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i].get<std::string>();
  return out;
}

/// Of two stores or versions.
std::string difference(const AnswerRows& rows, const Json& facts) {
  const auto seen = facts.value("rows_of_the_store", 0), other = facts.value("rows_that_fit", 0);
  if (rows.size() == 0) return fmt::format("None of {} equal questions has another figure.", seen);
  return fmt::format("{} of {} equal questions have another figure: {:+.3g} % at most.", other,
                     seen, rows.number(0, "change") * 100);
}

std::string query(const Report& report) {
  const AnswerRows rows(report, "rows");
  const Json& facts = report.facts;
  if (!facts.contains("rows_that_fit")) return {};
  if (rows.has_column("change")) return difference(rows, facts);
  const Json ask = report.job.value("ask", Json::object());
  const Json by = ask.value("group_by", Json::array()), best = ask.value("best", Json()),
             pareto = ask.value("pareto", Json::array());
  const auto fit = facts.value("rows_that_fit", 0);
  const std::string of = counted(static_cast<double>(fit), "row");
  if (best.is_string() && by.empty()) {
    const std::string column = best.get<std::string>().substr(0, best.get<std::string>().find(':'));
    return rows.size() == 0
               ? std::string("No row has the figure.")
               : fmt::format("The best {} of {} is {:.4g}.", column, of, rows.number(0, column));
  }
  if (best.is_string())
    return fmt::format("{} by {}, each with its best {}, of {}.",
                       counted(static_cast<double>(rows.size()), "group"), listed(by),
                       best.get<std::string>(), of);
  if (!by.empty())
    return fmt::format("{} by {}, of {}.", counted(static_cast<double>(rows.size()), "group"),
                       listed(by), of);
  if (!pareto.empty())
    return fmt::format("{} of {} are on the front: no other is better in {}.", rows.size(), of,
                       listed(pareto));
  return fmt::format("{} of {} of the store fit.", fit,
                     counted(facts.value("rows_of_the_store", 0.0), "row"));
}

std::string sweep(const Report& report) {
  const AnswerRows rows(report, "rows");
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < 3; ++i) {
    if (!rows.has(i, "points")) continue;
    out += fmt::format("{}{}: {} of {} done", out.empty() ? "" : " ", rows.text(i, "sweep"),
                       whole(rows, i, "done"), counted(rows.number(i, "points"), "point"));
    if (rows.number(i, "failed") > 0) out += fmt::format(", {} failed", whole(rows, i, "failed"));
    out += ".";
  }
  return out;
}

/// A cell as a person writes it.
std::string cell_text(const Json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  return cell.is_number() ? fmt::format("{:.6g}", cell.get<double>()) : "none";
}

std::string solve(const Report& report) {
  const AnswerRows answers(report, "answer");
  std::string out;
  for (std::size_t i = 0; i < answers.size() && i < 3; ++i) {
    const std::string others = answers.text(i, "others"),
                      middle = cell_text(answers.cell(i, "value")),
                      fast = cell_text(answers.cell(i, "value_if_fast")),
                      slow = cell_text(answers.cell(i, "value_if_slow"));
    out += fmt::format("{}{}{}: {}", out.empty() ? "" : " ", others.empty() ? "" : others + ": ",
                       report.facts.value("condition", ""), middle);
    if (fast != middle || slow != middle)
      out += fmt::format(", and {} to {} over the 80 % band", fast, slow);
    out += ".";
  }
  return out;
}

/// The machine that is best in a figure, among those of the most nodes and the largest size.
std::string best_machine(const AnswerRows& rows, std::string_view of_best, std::string_view figure,
                         const char* form) {
  const auto size = rows.largest("size_bytes"), nodes = rows.largest("nodes");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_last =
        rows.number(i, "nodes") == rows.number(*nodes, "nodes") &&
        (!size || rows.number(i, "size_bytes") == rows.number(*size, "size_bytes"));
    if (is_last && rows.has(i, of_best) && rows.number(i, of_best) == 1)
      return fmt::format(fmt::runtime(form), rows.text(i, "machine"), rows.number(i, figure));
  }
  return {};
}

std::string compare(const Report& report) {
  const AnswerRows rows(report, "rows");
  std::string out;
  if (const auto last = rows.largest("size_bytes"))
    out = fmt::format("{} of {} on {}:", rows.text(*last, "collective"),
                      to_text(Bytes{static_cast<std::int64_t>(rows.number(*last, "size_bytes"))}),
                      counted(rows.number(*rows.largest("nodes"), "nodes"), "node"));
  for (const std::string& one :
       {best_machine(rows, "busbw_of_best", "busbw_GBps",
                     "{} has the most bus bandwidth, {:.4g} GB/s."),
        best_machine(rows, "usd_per_GBps_of_best", "usd_per_GBps",
                     "{} pays the least for its fabric, {:.4g} USD per GB/s."),
        best_machine(rows, "step_of_best", "step_s", "{} takes the shortest step, {:.4g} s."),
        best_machine(rows, "usd_per_step_of_best", "usd_per_step",
                     "{} makes the cheapest step, {:.4g} USD.")})
    if (!one.empty()) out += (out.empty() ? "" : " ") + one;
  return out;
}

}  // namespace

std::span<const StudyAnswer> of_sweeps() {
  static constexpr StudyAnswer kStudies[] = {
      {"query", query}, {"sweep", sweep}, {"solve", solve}, {"compare", compare}};
  return kStudies;
}

}  // namespace fabricast::answers
