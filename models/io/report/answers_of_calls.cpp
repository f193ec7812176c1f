#include <fmt/format.h>

#include <cmath>

#include "models/io/report/answer_words.hpp"

namespace fabricast::answers {
namespace {

std::string bench(const Report& report) {
  const AnswerRows rows(report, "rows");
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows.has(i, "time_us")) last = i;
  if (!last && rows.size() > 0) return "No call completes.";
  if (!last)
    return rows.has_column("time_us")
               ? "Nothing was simulated: each size rounds down to no element."
               : "";
  std::string out = fmt::format("{} takes {}: {:.4g} GB/s busbw with {}", call(rows, *last),
                                us(rows.number(*last, "time_us")), rows.number(*last, "busbw_GBps"),
                                choice(rows, *last));
  if (rows.has(*last, "lower_us"))
    out += fmt::format(" (80 % of measured times lie in {} to {})",
                       us(rows.number(*last, "lower_us")), us(rows.number(*last, "upper_us")));
  out += ".";
  const AnswerRows links(report, "links");
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
  const AnswerRows rows(report, "segments");
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
  const AnswerRows rows(report, "choices");
  const auto worst = rows.largest("loss");
  if (!worst) return {};
  if (rows.number(*worst, "loss") < 0.005)
    return "NCCL takes the fastest algorithm and protocol at every size and number of nodes.";
  return fmt::format(
      "NCCL loses most at {} on {}: its {} takes {} longer than {} would, by this prediction.",
      size(rows, *worst), counted(rows.number(*worst, "nodes"), "node"), rows.text(*worst, "nccl"),
      percent(rows.number(*worst, "loss")), rows.text(*worst, "fastest"));
}

std::string times_as_long(double ratio) {
  return ratio > 1 ? fmt::format("{:.3g} times as long", ratio)
                   : fmt::format("{:.3g} of the time", ratio);
}

std::string whatif(const Report& report) {
  const AnswerRows both(report, "before_and_after");
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
      out += fmt::format(": {} (80 % of measured changes lie in {:.3g} to {:.3g})",
                         times_as_long(both.number(*most, "ratio")), low, high);
    return out + ".";
  }
  const AnswerRows setups(report, "setups");
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
  const AnswerRows rows(report, "rows");
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
  const AnswerRows rows(report, "targets");
  if (rows.size() == 0) return {};
  const auto fact = [&](const char* name) { return report.facts.value(name, 0); };
  const int choice = fact("choice"), otherwise = fact("otherwise"), unknown = fact("without_times");
  const std::string where = rows.size() == 1 ? rows.text(0, "topology") : "all machines together";
  const std::string calls = counted(fact("calls"), "call");
  if (choice + otherwise == 0) return fmt::format("On {}, {} run as before.", where, calls);
  std::string out = fmt::format(
      "On {}, another algorithm or protocol for {} of {}, other channels, threads, chunks or NICs "
      "for {}",
      where, choice, calls, otherwise);
  const auto loss = rows.largest("largest_loss");
  const bool loses = loss && rows.number(*loss, "largest_loss") > 0.005;
  if (loses)
    out += fmt::format("; the largest loss is {}, on {}",
                       percent(rows.number(*loss, "largest_loss")), rows.text(*loss, "topology"));
  if (unknown > 0) out += fmt::format("; how long {} of them take is not known", unknown);
  return out + (loses || unknown > 0 ? "." : "; none takes longer.");
}

std::string experts(const Report& report) {
  const AnswerRows rows(report, "rows");
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
  const AnswerRows scores(report, "scores");
  if (scores.size() == 0) return {};
  return fmt::format("Half of {} are off by at most {:.1f} %, nine in ten by at most {:.1f} %.",
                     counted(scores.number(0, "points"), "point"),
                     100 * scores.number(0, "median_error"), 100 * scores.number(0, "p90_error"));
}

}  // namespace

std::string of_expectations(const Report& report) {
  const AnswerRows rows(report, "expectations");
  if (rows.size() == 0) return bench(report);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows.flag(i, "holds"))
      return "Not all that the file expects holds: " + rows.text(i, "what");
  return "All that the file expects holds.";
}

std::span<const StudyAnswer> of_calls() {
  static constexpr StudyAnswer kStudies[] = {{"bench", bench},
                                             {"decide", decide},
                                             {"cutover", cutover},
                                             {"whatif", whatif},
                                             {"advise", advise},
                                             {"upgrade", upgrade},
                                             {"concurrent", of_expectations},
                                             {"experts", experts},
                                             {"validate experts", validate_experts}};
  return kStudies;
}

}  // namespace fabricast::answers
