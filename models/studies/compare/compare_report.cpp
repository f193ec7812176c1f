// The buyer's matrix for people and as a report.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "models/io/report/columns.hpp"
#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/compare/compare.hpp"
#include "models/studies/shared/job_json.hpp"
#include "sim/base/add_once.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

using Figure = std::optional<double>;

/// A line of the matrix: a machine, and a call of its bench, if there is one.
struct MatrixRow {
  const ComparedMachine* machine = nullptr;
  const BenchRow* call = nullptr;
  Figure time_us, lower_us, upper_us, busbw_GBps;
  Figure step_s, step_lower_s, step_upper_s, tokens_per_s;
  Figure usd_per_GBps, usd_per_step, usd_per_million_tokens;
};

MatrixRow row_of(const ComparedMachine& machine) {
  MatrixRow out;
  out.machine = &machine;
  if (!machine.step) return out;
  const StepResult& step = *machine.step;
  const StepBand band = step_band(step);
  out.step_s = seconds(step.step.time);
  out.step_lower_s = *out.step_s * band.low;
  out.step_upper_s = *out.step_s * band.high;
  out.tokens_per_s = step.tokens_per_s;
  if (!machine.usd_per_hour) return out;
  out.usd_per_step = *out.step_s / 3600 * *machine.usd_per_hour;
  out.usd_per_million_tokens = *machine.usd_per_hour / 3600 / step.tokens_per_s * 1e6;
  return out;
}

void add_call(const ComparedMachine& machine, const BenchBlock& block, const BenchRow& call,
              const BandTable& bands, MatrixRow& out) {
  out.call = &call;
  if (!call.completes()) return;
  out.time_us = microseconds_of(call.call_time());
  out.busbw_GBps = call.busbw();
  // A sum that leaves something out is no price to compare by.
  if (machine.bill.usd > 0 && machine.bill.unpriced.empty() && *out.busbw_GBps > 0)
    out.usd_per_GBps = machine.bill.usd / *out.busbw_GBps;
  if (const auto band = time_band(*machine.bench, block, call, bands)) {
    out.lower_us = band->lower_us;
    out.upper_us = band->upper_us;
  }
}

/// By machine, then call.
std::vector<MatrixRow> rows_of(const CompareResult& result, const BandTable& bands) {
  std::vector<MatrixRow> out;
  for (const ComparedMachine& machine : result.machines) {
    const MatrixRow row = row_of(machine);
    bool some = false;
    if (machine.bench) {
      for (const BenchBlock& block : machine.bench->blocks) {
        for (const BenchRow& call : block.rows) {
          MatrixRow one = row;
          add_call(machine, block, call, bands, one);
          out.push_back(one);
          some = true;
        }
      }
    }
    if (!some) out.push_back(row);
  }
  return out;
}

bool is_same_question(const MatrixRow& a, const MatrixRow& b) {
  if (a.machine->nodes != b.machine->nodes || (a.call == nullptr) != (b.call == nullptr))
    return false;
  return a.call == nullptr ||
         (a.call->collective == b.call->collective && a.call->requested == b.call->requested);
}

/// The figure over the best of those machines that were asked the same; 1 = it is the best.
Json of_best(const std::vector<MatrixRow>& rows, const MatrixRow& row, Figure MatrixRow::*figure,
             bool is_most) {
  if (!(row.*figure)) return {};
  double best = *(row.*figure);
  for (const MatrixRow& other : rows) {
    if (!(other.*figure) || !is_same_question(row, other)) continue;
    best = is_most ? std::max(best, *(other.*figure)) : std::min(best, *(other.*figure));
  }
  return best > 0 ? Json(*(row.*figure) / best) : Json();
}

std::vector<ReportColumn> matrix_columns() {
  using namespace column;
  return {text("machine"),
          kTopology,
          whole("nics"),
          text("fabric"),
          flag("sharp", "yes"),
          kNccl,
          kNodes,
          whole("gpus"),
          kCollective,
          kSize,
          kAlgorithm,
          kProtocol,
          kChannels,
          kTime,
          kLower,
          kUpper,
          kBusbw,
          s("step_s"),
          s("lower_s"),
          s("upper_s"),
          number("tokens_per_s", {}, ".9g"),
          number("fabric_usd", "USD", ".0f"),
          number("fabric_watts", "W", ".0f"),
          number("usd_per_hour", "USD", ".2f"),
          number("usd_per_GBps", "USD", ".2f"),
          number("usd_per_step", "USD", ".9g"),
          number("usd_per_million_tokens", "USD", ".9g"),
          number("busbw_of_best", {}, ".4f"),
          number("step_of_best", {}, ".4f"),
          number("usd_per_GBps_of_best", {}, ".4f"),
          number("usd_per_step_of_best", {}, ".4f"),
          text("refused")};
}

std::vector<Json> matrix_cells(const std::vector<MatrixRow>& rows, const MatrixRow& row) {
  const ComparedMachine& m = *row.machine;
  const bool known = m.refused.empty(), called = row.call != nullptr;
  const auto of_call = [&](auto cell) { return called ? Json(cell(*row.call)) : Json(); };
  return {m.name,
          m.job.topology,
          known ? Json(m.nics) : Json(),
          known ? Json(m.fabric) : Json(m.job.fabric),
          m.job.sharp,
          to_text(m.job.version),
          m.nodes,
          known ? Json(m.gpus) : Json(),
          of_call([](const BenchRow& call) { return to_text(call.collective); }),
          of_call([](const BenchRow& call) { return call.requested.count; }),
          of_call([](const BenchRow& call) { return call.algorithm(); }),
          of_call([](const BenchRow& call) { return to_text(call.decided.run.protocol); }),
          of_call([](const BenchRow& call) { return call.working_channels(); }),
          or_null(row.time_us),
          or_null(row.lower_us),
          or_null(row.upper_us),
          or_null(row.busbw_GBps),
          or_null(row.step_s),
          or_null(row.step_lower_s),
          or_null(row.step_upper_s),
          or_null(row.tokens_per_s),
          known ? Json(m.bill.usd) : Json(),
          known ? Json(m.bill.watts) : Json(),
          or_null(m.usd_per_hour),
          or_null(row.usd_per_GBps),
          or_null(row.usd_per_step),
          or_null(row.usd_per_million_tokens),
          of_best(rows, row, &MatrixRow::busbw_GBps, true),
          of_best(rows, row, &MatrixRow::step_s, false),
          of_best(rows, row, &MatrixRow::usd_per_GBps, false),
          of_best(rows, row, &MatrixRow::usd_per_step, false),
          known ? Json() : Json(m.refused)};
}

ReportTable bill_table(const CompareResult& result) {
  using namespace column;
  ReportTable out("bill", {text("machine"), kNodes, text("kind"), text("part"), text("place"),
                           number("metres", "m", ".9g"), whole("count"),
                           number("usd_each", "USD", ".2f"), number("usd", "USD", ".2f"),
                           number("watts_each", "W", ".9g"), text("status"), text("as_of")});
  for (const ComparedMachine& machine : result.machines) {
    for (const PricedLine& priced : machine.bill.lines) {
      const BillLine& line = priced.line;
      out.add({machine.name, machine.nodes, std::string(kBillKindWords[line.kind]), line.part,
               std::string(kBillPlaceWords[line.place]),
               line.metres > 0 ? Json(line.metres) : Json(), line.count,
               priced.each ? Json(priced.each->value) : Json(),
               priced.each ? Json(priced.usd) : Json(), or_null(line.watts_each),
               priced.each ? Json(priced.each->status) : Json(),
               priced.each ? Json(priced.each->as_of) : Json()});
    }
  }
  return out;
}

ReportTable ports_table(const CompareResult& result) {
  using namespace column;
  ReportTable out(
      "ports", {text("machine"), kNodes, text("tier"), whole("ports_used"), whole("ports_free")});
  for (const ComparedMachine& machine : result.machines) {
    for (std::size_t tier = 0; tier < machine.bill.ports.size(); ++tier) {
      const TierPorts& ports = machine.bill.ports[tier];
      if (ports.used + ports.free == 0) continue;
      out.add({machine.name, machine.nodes,
               std::string(kBillPlaceWords[static_cast<BillPlace>(
                   tier + static_cast<std::size_t>(BillPlace::leaf))]),
               ports.used, ports.free});
    }
  }
  return out;
}

std::vector<std::string> notes_of(const CompareResult& result) {
  std::vector<std::string> out = result.notes;
  for (const ComparedMachine& machine : result.machines) {
    for (const std::string& note : machine.bill.notes) add_once(out, note);
    if (machine.bench)
      for (const std::string& note : machine.bench->notes) add_once(out, note);
    if (machine.step)
      for (const std::string& note : machine.step->notes) add_once(out, note);
  }
  return out;
}

std::string figure_text(const Figure& figure, const char* form) {
  return figure ? fmt::format(fmt::runtime(form), *figure) : "";
}

/// A figure and in parentheses how far it is from the best.
std::string beside_best(const Figure& figure, const char* form, const Json& of_best) {
  if (!figure) return "";
  const double ratio = of_best.is_number() ? of_best.get<double>() : 1;
  return fmt::format(fmt::runtime(form), *figure) +
         (std::abs(ratio - 1) < 0.0005 ? " *" : fmt::format(" {:+.0f} %", 100 * (ratio - 1)));
}

std::string call_text(const BenchRow& call) {
  return fmt::format("{} {}", to_text(call.collective), to_text(call.requested));
}

std::string choice_text(const BenchRow& call) {
  return fmt::format("{} {}", call.algorithm(), to_text(call.decided.run.protocol));
}

/// "302..358": where 80 % of measured bus bandwidths would lie.
std::string busbw_band(const MatrixRow& row) {
  if (!row.time_us || !row.lower_us || !row.upper_us) return "";
  return fmt::format("{:.0f}..{:.0f}", *row.busbw_GBps * *row.time_us / *row.upper_us,
                     *row.busbw_GBps * *row.time_us / *row.lower_us);
}

}  // namespace

std::string compare_text(const CompareResult& result, const BandTable& bands) {
  const std::vector<MatrixRow> rows = rows_of(result, bands);
  const bool steps = result.ask.step.has_value(), calls = !result.ask.sizes.empty();
  std::vector<std::string> head = {"machine", "nodes", "GPUs"};
  if (calls)
    head.insert(head.end(), {"call", "choice", "time us", "busbw GB/s", "80 %", "USD per GB/s"});
  if (steps) head.insert(head.end(), {"step s", "USD per step"});
  head.insert(head.end(), {"fabric USD", "fabric kW", "USD per hour"});
  TextTable table("  ");
  for (std::size_t column = 1; column < head.size(); ++column)
    if (!calls || (column != 3 && column != 4)) table.align_right(column);
  table.add(head);
  for (const MatrixRow& row : rows) {
    const ComparedMachine& m = *row.machine;
    std::vector<std::string> cells = {m.name, std::to_string(m.nodes),
                                      m.refused.empty() ? std::to_string(m.gpus) : m.refused};
    if (!m.refused.empty()) {
      table.add(std::move(cells));
      continue;
    }
    if (calls)
      cells.insert(
          cells.end(),
          {row.call == nullptr ? "" : call_text(*row.call),
           row.call == nullptr ? "" : choice_text(*row.call), figure_text(row.time_us, "{:.1f}"),
           beside_best(row.busbw_GBps, "{:.1f}", of_best(rows, row, &MatrixRow::busbw_GBps, true)),
           busbw_band(row),
           beside_best(row.usd_per_GBps, "{:.0f}",
                       of_best(rows, row, &MatrixRow::usd_per_GBps, false))});
    if (steps)
      cells.insert(cells.end(), {beside_best(row.step_s, "{:.3f}",
                                             of_best(rows, row, &MatrixRow::step_s, false)),
                                 beside_best(row.usd_per_step, "{:.3f}",
                                             of_best(rows, row, &MatrixRow::usd_per_step, false))});
    cells.insert(cells.end(),
                 {fmt::format("{:.0f}", m.bill.usd), fmt::format("{:.1f}", m.bill.watts / 1000),
                  figure_text(m.usd_per_hour, "{:.2f}")});
    table.add(std::move(cells));
  }
  std::string out = table.text();
  out += "  *: the best of those that were asked the same\n";
  for (const std::string& note : notes_of(result)) out += "note: " + note + "\n";
  return out;
}

Report compare_report(const CompareResult& result, const BandTable& bands) {
  Report out;
  out.study = "compare";
  for (const ComparedMachine& machine : result.machines)
    out.job["setups"][machine.name] =
        job_json(machine.job, {machine.nodes}, Json::object())["site"];
  out.job["ask"] = {{"nodes", result.ask.nodes},
                    {"model", result.ask.step ? Json(result.ask.step->model.name) : Json()}};
  out.notes = notes_of(result);
  const std::vector<MatrixRow> rows = rows_of(result, bands);
  ReportTable matrix("rows", matrix_columns());
  for (const MatrixRow& row : rows) matrix.add(matrix_cells(rows, row));
  out.tables = {std::move(matrix), bill_table(result), ports_table(result)};
  return out;
}

}  // namespace fabricast
