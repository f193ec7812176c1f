#include "models/io/report/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "text/unit_text.hpp"

namespace fabricast {
namespace {

/// The rows of a table that may not be there.
class Rows {
 public:
  Rows(const Report& report, std::string_view table) {
    const auto found = std::ranges::find(report.tables, table, &ReportTable::name);
    if (found != report.tables.end()) table_ = &*found;
  }

  bool has_column(std::string_view column) const {
    return table_ != nullptr && std::ranges::find(table_->columns(), column, &ReportColumn::name) !=
                                    table_->columns().end();
  }
  std::size_t size() const { return table_ == nullptr ? 0 : table_->rows().size(); }
  /// Null where there is no such column.
  Json cell(std::size_t row, std::string_view column) const {
    const auto& columns = table_->columns();
    const auto found = std::ranges::find(columns, column, &ReportColumn::name);
    if (found == columns.end()) return {};
    return table_->rows()[row][static_cast<std::size_t>(found - columns.begin())];
  }
  bool has(std::size_t row, std::string_view column) const { return cell(row, column).is_number(); }
  /// 0 where there is no number.
  double number(std::size_t row, std::string_view column) const {
    const Json value = cell(row, column);
    return value.is_number() ? value.get<double>() : 0;
  }
  std::string text(std::size_t row, std::string_view column) const {
    const Json value = cell(row, column);
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  bool flag(std::size_t row, std::string_view column) const {
    const Json value = cell(row, column);
    return value.is_boolean() && value.get<bool>();
  }
  /// The row with the largest number in a column; nothing where there is none.
  std::optional<std::size_t> largest(std::string_view column) const {
    std::optional<std::size_t> out;
    for (std::size_t i = 0; i < size(); ++i)
      if (has(i, column) && (!out || number(i, column) > number(*out, column))) out = i;
    return out;
  }
  std::map<std::string, int> count(std::string_view column) const {
    std::map<std::string, int> out;
    for (std::size_t i = 0; i < size(); ++i) ++out[text(i, column)];
    return out;
  }

 private:
  const ReportTable* table_ = nullptr;
};

std::string us(double value) {
  if (value >= 999'950) return fmt::format("{:.4g} s", value / 1e6);
  if (value >= 999.95) return fmt::format("{:.4g} ms", value / 1e3);
  return fmt::format("{:.4g} us", value);
}

std::string seconds(double value) { return us(value * 1e6); }

std::string size(const Rows& rows, std::size_t row, std::string_view column = "size_bytes") {
  const double bytes = rows.number(row, column);
  const Bytes exact{static_cast<std::int64_t>(bytes)};
  const std::string text = to_text(exact);
  if (exact.count < 1024 || !text.ends_with(" B")) return text;
  if (bytes >= 1 << 20) return fmt::format("{:.4g} MiB", bytes / (1 << 20));
  return fmt::format("{:.4g} KiB", bytes / 1024);
}

std::string whole(const Rows& rows, std::size_t row, std::string_view column) {
  return fmt::format("{:.0f}", rows.number(row, column));
}

std::string counted(double count, std::string_view what) {
  return fmt::format("{:.0f} {}{}", count, what, count == 1 ? "" : "s");
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string choice(const Rows& rows, std::size_t row) {
  const std::string protocol = rows.text(row, "protocol");
  return rows.text(row, "algorithm") + (protocol.empty() ? "" : " " + protocol);
}

/// "all_reduce of 1 GiB on 2 nodes", or "the step".
std::string call(const Rows& rows, std::size_t row) {
  const std::string collective = rows.text(row, "collective");
  if (collective == "step") return "The step";
  return fmt::format("{} of {} on {}", collective, size(rows, row),
                     counted(rows.number(row, "nodes"), "node"));
}

std::string bench(const Report& report) {
  const Rows rows(report, "rows");
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "time_us")) last = i;
  if (!last) return rows.size() == 0 ? "" : "No call completes.";
  std::string out = fmt::format("{} takes {}: {:.4g} GB/s busbw with {}", call(rows, *last),
                                us(rows.number(*last, "time_us")), rows.number(*last, "busbw_GBps"),
                                choice(rows, *last));
  if (rows.has(*last, "lower_us"))
    out += fmt::format(" (80 % of measured times lie in {} to {})",
                       us(rows.number(*last, "lower_us")), us(rows.number(*last, "upper_us")));
  out += ".";
  const Rows links(report, "links");
  std::optional<std::size_t> busiest;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool same = links.text(i, "collective") == rows.text(*last, "collective") &&
                      links.number(i, "size_bytes") == rows.number(*last, "size_bytes") &&
                      links.number(i, "nodes") == rows.number(*last, "nodes");
    if (same &&
        (!busiest || links.number(i, "utilisation") > links.number(*busiest, "utilisation")))
      busiest = i;
  }
  if (busiest)
    out +=
        fmt::format(" The busiest link, {}, is busy {} of that time.", links.text(*busiest, "link"),
                    percent(links.number(*busiest, "utilisation")));
  return out;
}

std::string decide(const Report& report) {
  const Rows rows(report, "segments");
  if (rows.size() == 0) return {};
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.text(i, "collective") != rows.text(0, "collective") ||
        rows.number(i, "nodes") != rows.number(0, "nodes"))
      break;
    out += fmt::format("{}{} from {}", i == 0 ? "" : ", ", choice(rows, i),
                       size(rows, i, "from_bytes"));
  }
  return fmt::format("NCCL {} runs {} on {} with {}.",
                     report.job.value("site", Json::object()).value("nccl", ""),
                     rows.text(0, "collective"), counted(rows.number(0, "nodes"), "node"), out);
}

std::string cutover(const Report& report) {
  const Rows rows(report, "choices");
  const auto worst = rows.largest("loss");
  if (!worst) return {};
  if (rows.number(*worst, "loss") < 0.005)
    return "NCCL takes the fastest algorithm and protocol at every size and number of nodes.";
  return fmt::format(
      "NCCL loses most at {} on {}: its {} takes {} longer than {} would, by this prediction.",
      size(rows, *worst), counted(rows.number(*worst, "nodes"), "node"), rows.text(*worst, "nccl"),
      percent(rows.number(*worst, "loss")), rows.text(*worst, "fastest"));
}

std::string whatif(const Report& report) {
  const Rows both(report, "before_and_after");
  std::optional<std::size_t> most;
  const auto change = [&](std::size_t i) {
    return std::fabs(std::log(both.number(i, "after_us") / both.number(i, "before_us")));
  };
  for (std::size_t i = 0; i < both.size(); ++i)
    if (both.number(i, "before_us") > 0 && both.number(i, "after_us") > 0 &&
        (!most || change(i) > change(*most)))
      most = i;
  if (most) {
    std::string out =
        fmt::format("{} takes {} after the change, {} before", call(both, *most),
                    us(both.number(*most, "after_us")), us(both.number(*most, "before_us")));
    const double low = both.number(*most, "ratio_lower"), high = both.number(*most, "ratio_upper");
    if (low < high)
      out += fmt::format(": {:.3g} of the time (80 % of measured changes lie in {:.3g} to {:.3g})",
                         both.number(*most, "ratio"), low, high);
    return out + ".";
  }
  const Rows setups(report, "setups");
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < setups.size(); ++i)
    if (!best || setups.number(i, "total_us") < setups.number(*best, "total_us")) best = i;
  if (!best) return {};
  return fmt::format("{} is fastest: {} for all calls together, {} of the time of {}.",
                     setups.text(*best, "setup"), us(setups.number(*best, "total_us")),
                     percent(setups.number(*best, "of_the_first")), setups.text(0, "setup"));
}

std::string advise(const Report& report) {
  std::string lines;
  if (report.facts.contains("advised"))
    for (const auto& [name, value] : report.facts["advised"].items())
      lines += fmt::format("{}{}={}", lines.empty() ? "" : ", ", name,
                           value.is_string() ? value.get<std::string>() : value.dump());
  const Rows rows(report, "rows");
  if (lines.empty()) return "Keep NCCL's defaults: nothing that was tried is sure to save time.";
  std::optional<std::size_t> most;
  const auto factor = [&](std::size_t i) {
    return rows.number(i, "advised_us") / rows.number(i, "before_us");
  };
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.number(i, "before_us") > 0 && (!most || factor(i) < factor(*most))) most = i;
  std::string out = fmt::format("Set {}.", lines);
  if (most)
    out += fmt::format(" {} then takes {} instead of {}.", rows.text(*most, "what"),
                       us(rows.number(*most, "advised_us")), us(rows.number(*most, "before_us")));
  return out;
}

std::string upgrade(const Report& report) {
  const Rows rows(report, "targets");
  if (rows.size() == 0) return {};
  const auto loss = rows.largest("largest_loss");
  std::string out = fmt::format(
      "On {}, {} of {} calls get another algorithm, protocol or number of "
      "channels",
      rows.text(0, "topology"), whole(rows, 0, "choice"), whole(rows, 0, "calls"));
  if (loss && rows.number(*loss, "largest_loss") > 0.005)
    return out + fmt::format("; the largest loss is {}, on {}.",
                             percent(rows.number(*loss, "largest_loss")),
                             rows.text(*loss, "topology"));
  return out + "; none takes longer.";
}

std::string layout_words(const Rows& rows, std::size_t row) {
  std::string out;
  for (const auto& [column, word] :
       {std::pair{"tp", "TP"}, {"cp", "CP"}, {"pp", "PP"}, {"ep", "EP"}, {"dp", "DP"}}) {
    if (rows.number(row, column) > 1 || std::string_view(column) == "tp")
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", word, whole(rows, row, column));
  }
  return out;
}

std::string step_words(const Rows& rows, std::size_t row) {
  return fmt::format("{} with {} takes {} a step (80 % of measured steps lie in {} to {}), {} MFU",
                     rows.text(row, "model"), layout_words(rows, row),
                     seconds(rows.number(row, "step_s")), seconds(rows.number(row, "lower_s")),
                     seconds(rows.number(row, "upper_s")), percent(rows.number(row, "mfu")));
}

/// The part of a step that takes most of it and is no arithmetic.
std::string largest_wait(const Rows& rows, std::size_t row) {
  std::string_view best;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kParts = {
      {{"tp_exposed_s", "tensor parallel communication"},
       {"cp_exposed_s", "context parallel communication"},
       {"ep_exposed_s", "expert parallel communication"},
       {"contention_s", "communication that slows kernels down"},
       {"pipeline_s", "the pipeline's bubble"},
       {"dp_exposed_s", "data parallel communication"},
       {"optimizer_s", "the optimizer"}}};
  std::string_view name;
  double most = 0;
  for (const auto& [column, words] : kParts) {
    if (rows.number(row, column) <= most) continue;
    most = rows.number(row, column);
    best = words;
    name = column;
  }
  return best.empty() ? ""
                      : fmt::format(" Beside arithmetic, {} takes most: {}.", best,
                                    seconds(rows.number(row, name)));
}

std::string step(const Report& report) {
  const Rows rows(report, "rows");
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "step_s") && (!best || rows.number(i, "step_s") < rows.number(*best, "step_s")))
      best = i;
  if (!best) return rows.size() == 0 ? "" : "Each variation is refused: " + rows.text(0, "refused");
  const std::string variation = rows.size() > 1 ? rows.text(*best, "variation") + ": " : "";
  return variation + step_words(rows, *best) + "." + largest_wait(rows, *best) +
         (rows.flag(*best, "fits") ? "" : " It does not fit into the GPU's memory.");
}

std::string plan(const Report& report) {
  const Rows rows(report, "rows");
  if (rows.size() == 0 || !rows.has(0, "step_s")) return "No layout fits.";
  int equal = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) equal += rows.flag(i, "equal_to_best");
  return step_words(rows, 0) + ": the fastest layout found." + largest_wait(rows, 0) +
         (equal > 1 ? " Others in the table may be as fast: their bands overlap with it." : "");
}

std::string serve(const Report& report) {
  const Rows rows(report, "rows");
  if (rows.size() < 2) return {};
  return fmt::format("{}: {} to the first token, then {} a token: {:.4g} tokens/s.",
                     rows.text(0, "model"), seconds(rows.number(0, "time_s")),
                     seconds(rows.number(1, "time_s")), rows.number(1, "tokens_per_s"));
}

std::string scenario(const Report& report) {
  const Rows rows(report, "expectations");
  if (rows.size() == 0) return bench(report);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows.flag(i, "holds"))
      return "Not all that the file expects holds: " + rows.text(i, "what");
  return "All that the file expects holds.";
}

std::string check(const Report& report) {
  const Rows rows(report, "rules");
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows.flag(i, "as_expected"))
      return fmt::format("Not as expected: {} ({}: {}).", rows.text(i, "claim"),
                         rows.text(i, "verdict"), rows.text(i, "range"));
  return rows.size() == 0 ? "" : "Each rule is as the file expects.";
}

std::string judge(const Report& report) {
  const Rows tables(report, "tables"), causes(report, "causes"), rows(report, "rows");
  if (tables.size() == 0) return {};
  std::string out =
      fmt::format("{} on {}: {}.", tables.text(0, "collective"),
                  counted(tables.number(0, "nodes"), "node"), tables.text(0, "verdict"));
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "ratio")) last = i;
  if (last)
    out += fmt::format(" {} took {}, expected are {}.", size(rows, *last),
                       us(rows.number(*last, "time_us")), us(rows.number(*last, "expected_us")));
  const bool healthy = tables.text(0, "verdict").find("expected") != std::string::npos;
  if (causes.size() > 0 && !healthy)
    out += fmt::format(" What explains it best: {}.", causes.text(0, "title"));
  return out;
}

std::string gate(const Report& report) {
  const Rows rows(report, "rows"), logs(report, "tables");
  if (report.facts.contains("passes")) {
    int passed = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) passed += logs.flag(i, "passes") ? 1 : 0;
    std::string out =
        fmt::format("{} of {} passes.", passed, counted(static_cast<double>(logs.size()), "table"));
    for (std::size_t i = 0; i < logs.size(); ++i)
      if (!logs.flag(i, "passes"))
        return out + fmt::format(" {} does not: {} of {} are slower than their floor.",
                                 logs.text(i, "source"), whole(logs, i, "slow_rows"),
                                 counted(logs.number(i, "rows"), "row"));
    return out;
  }
  const auto best = rows.largest("floor_busbw_GBps");
  if (!best) return {};
  return fmt::format("A healthy cluster of {} reaches {:.4g} GB/s at {}; {:.4g} are expected.",
                     counted(rows.number(*best, "nodes"), "node"),
                     rows.number(*best, "floor_busbw_GBps"), size(rows, *best),
                     rows.number(*best, "expected_busbw_GBps"));
}

std::string judge_inspector(const Report& report) {
  const Rows rows(report, "rows");
  std::size_t judged = 0, slower = 0;
  std::string suspect;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    judged += rows.has(i, "expected_us") ? 1 : 0;
    slower += rows.text(i, "verdict") == "below" ? 1 : 0;
    if (suspect.empty()) suspect = rows.text(i, "suspect");
  }
  std::string out = fmt::format("{} of {} of what was recorded slower than expected.", slower,
                                counted(static_cast<double>(judged), "row"));
  if (!suspect.empty()) out += " First suspect: " + suspect + ".";
  return out;
}

std::string hang(const Report& report) {
  const Rows rows(report, "rows"), ended(report, "ended");
  if (!report.facts.value("hangs", false))
    return "Nobody waits for ever: each call meets its partners.";
  if (ended.size() > 0) {
    const std::string why = ended.text(0, "why");
    return fmt::format("The job hangs: rank {} is not there any more ({}), and others wait for it.",
                       whole(ended, 0, "rank"), why.empty() ? "it makes no further call" : why);
  }
  const Rows unfinished(report, "unfinished");
  if (unfinished.size() > 0)
    return fmt::format(
        "The job hangs in {} on {}: all that are needed are there, and it does not "
        "end.",
        unfinished.text(0, "op"), unfinished.text(0, "group"));
  return rows.size() == 0
             ? "The job hangs."
             : fmt::format("The job hangs: rank {} waits in {} for ranks {}.",
                           whole(rows, 0, "rank"), rows.text(0, "op"), rows.text(0, "waits_for"));
}

std::string memory(const Report& report) {
  const auto mib = [&](const char* fact) { return report.facts.value(fact, 0.0) / (1 << 20); };
  const Rows savings(report, "savings");
  std::string out = fmt::format("NCCL takes {:.4g} MiB of a GPU and {:.4g} MiB of host memory.",
                                mib("gpu_bytes"), mib("host_bytes"));
  if (savings.size() > 0 && savings.number(0, "gpu_saved_bytes") > 0)
    out += fmt::format(" {}={} takes {:.4g} MiB less of a GPU.", savings.text(0, "variable"),
                       savings.text(0, "value"), savings.number(0, "gpu_saved_bytes") / (1 << 20));
  return out;
}

std::string experts(const Report& report) {
  const Rows rows(report, "rows");
  if (rows.size() == 0) return {};
  const std::size_t last = rows.size() - 1;
  return fmt::format(
      "{} kernels: {} of a GPU, of {}, are dispatched in {} ({} limits) and combined in {} ({}).",
      rows.text(last, "ep_mode"), counted(rows.number(last, "tokens"), "token"),
      counted(rows.number(last, "ranks"), "GPU"), us(rows.number(last, "dispatch_us")),
      rows.text(last, "dispatch_limited_by"), us(rows.number(last, "combine_us")),
      rows.text(last, "combine_limited_by"));
}

std::string validate_experts(const Report& report) {
  const Rows scores(report, "scores");
  if (scores.size() == 0) return {};
  return fmt::format("Half of {} are off by at most {:.1f} %, nine in ten by at most {:.1f} %.",
                     counted(scores.number(0, "points"), "point"),
                     100 * scores.number(0, "median_error"), 100 * scores.number(0, "p90_error"));
}

std::string placement(const Report& report) {
  const Rows rows(report, "rows"), swaps(report, "swaps"), jobs(report, "neighbours");
  if (rows.size() == 0) return {};
  std::size_t last = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.text(i, "collective") == rows.text(0, "collective") &&
        rows.number(i, "size_bytes") == rows.number(0, "size_bytes"))
      last = i;
  std::string out = fmt::format("{} takes {}", call(rows, 0), us(rows.number(0, "time_us")));
  if (last == 0) {
    out += " on these hosts, and no others are faster.";
  } else {
    out += fmt::format(" on these hosts, {} on the best: {}.", us(rows.number(last, "time_us")),
                       swaps.size() == 0 ? std::string("the same ones in another order")
                                         : counted(static_cast<double>(swaps.size()), "swap"));
  }
  if (jobs.size() == 2)
    out += fmt::format(
        " While both communicate, this job is slower by a factor of {:.3f}, its "
        "neighbour by {:.3f}.",
        jobs.number(0, "slowdown"), jobs.number(1, "slowdown"));
  return out;
}

std::string calls_of_ranks(const Report& report) {
  const Rows steps(report, "steps"), rows(report, "rows");
  const auto worst = steps.largest("caused_us");
  if (!worst || rows.size() == 0) return {};
  std::string out = fmt::format("In step {} rank {} is the slowest: the others wait {} for it.",
                                whole(steps, *worst, "step"), whole(steps, *worst, "slowest_rank"),
                                us(steps.number(*worst, "caused_us")));
  if (rows.has(0, "expected_us"))
    out += fmt::format(" {} takes {} of transfer, expected are {}.", rows.text(0, "collective"),
                       us(rows.number(0, "transfer_us")), us(rows.number(0, "expected_us")));
  return out + fmt::format(" The network could at best give back {} of {}.",
                           us(steps.number(*worst, "exposed_transfer_us")),
                           us(steps.number(*worst, "time_us")));
}

std::string lint(const Report& report) {
  const Rows rows(report, "findings");
  for (const char* const severity : {"error", "warning", "note"})
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows.text(i, "severity") == severity)
        return fmt::format("The first {}: {}", severity, rows.text(i, "message"));
  return "Nothing is wrong with these settings.";
}

std::string validate(const Report& report) {
  const Rows rows(report, "ranges");
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "median_over_classes") && rows.text(i, "era") == rows.text(0, "era"))
      out += fmt::format("{}{} for {}", out.empty() ? "" : ", ",
                         percent(rows.number(i, "median_over_classes")), rows.text(i, "sizes"));
  return out.empty()
             ? out
             : "Median over classes of hardware of how far predictions are off: " + out + ".";
}

std::string topo(const Report& report) {
  const Rows rows(report, "counts");
  std::map<std::string, double> counts;
  for (std::size_t i = 0; i < rows.size(); ++i)
    counts[rows.text(i, "what")] = rows.number(i, "count");
  return fmt::format("{}: {}, each with {}, {} and {}.", report.facts.value("title", ""),
                     counted(counts["nodes"], "node"), counted(counts["gpu"], "GPU"),
                     counted(counts["nic"], "NIC"), counted(counts["cpu"], "CPU"));
}

std::string calibrate(const Report& report) {
  const Rows rows(report, "rows");
  const auto most = rows.largest("sources");
  return most ? fmt::format("{} is told by most: by runs of {}.", rows.text(*most, "parameter"),
                            counted(rows.number(*most, "sources"), "source"))
              : std::string();
}

/// "a, b and c"
std::string listed(const Json& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i].get<std::string>();
  return out;
}

/// Of two stores or versions.
std::string difference(const Rows& rows, const Json& facts) {
  const auto seen = facts.value("rows_of_the_store", 0), other = facts.value("rows_that_fit", 0);
  if (rows.size() == 0) return fmt::format("None of {} equal questions has another figure.", seen);
  return fmt::format("{} of {} equal questions have another figure: {:+.3g} % at most.", other,
                     seen, rows.number(0, "change") * 100);
}

std::string query(const Report& report) {
  const Rows rows(report, "rows");
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
  const Rows rows(report, "rows");
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
  const Rows answers(report, "answer");
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
std::string best_machine(const Rows& rows, std::string_view of_best, std::string_view figure,
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
  const Rows rows(report, "rows");
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

std::string answer_of(const Report& report) {
  using Make = std::string (*)(const Report&);
  static constexpr std::pair<std::string_view, Make> kStudies[] = {
      {"bench", bench},
      {"decide", decide},
      {"cutover", cutover},
      {"whatif", whatif},
      {"advise", advise},
      {"upgrade", upgrade},
      {"step", step},
      {"plan", plan},
      {"serve", serve},
      {"concurrent", scenario},
      {"check", check},
      {"judge", judge},
      {"gate", gate},
      {"hang", hang},
      {"lint", lint},
      {"validate nccl-tests", validate},
      {"topo", topo},
      {"calibrate", calibrate},
      {"solve", solve},
      {"compare", compare},
      {"query", query},
      {"sweep", sweep},
      {"memory", memory},
      {"experts", experts},
      {"validate experts", validate_experts},
      {"judge inspector", judge_inspector},
      {"placement", placement},
      {"calls of ranks", calls_of_ranks}};
  const auto found =
      std::ranges::find(kStudies, report.study, [](const auto& one) { return one.first; });
  if (found == std::end(kStudies)) return {};
  const bool from_file = std::ranges::any_of(
      report.tables, [](const ReportTable& table) { return table.name() == "expectations"; });
  return from_file ? scenario(report) : found->second(report);
}

}  // namespace fabricast
