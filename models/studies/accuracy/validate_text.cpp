#include "models/studies/accuracy/validate_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "models/studies/accuracy/validate_score.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

std::string percent_or_none(std::optional<double> share) {
  return share ? fmt::format("{:.1f}", 100 * *share) : "-";
}

namespace {

constexpr std::size_t kWorst = 20, kPairsShown = 10;
constexpr int kWorstOfClass = 2;

std::string percent_of(double share) { return fmt::format("{:.1f}", 100 * share); }

/// "12.3 (-4.0, 7)": error, bias, runs.
std::string cell(const RangeScore& score) {
  if (score.runs == 0) return "-";
  return fmt::format("{} ({:+.0f}, {})", percent_of(score.error), 100 * score.bias, score.runs);
}

std::string table_text(const std::string& what, const std::vector<GroupScore>& groups) {
  TextTable table("  ");
  std::vector<std::string> head = {what};
  for (const std::string_view name : kSizeRangeNames) head.emplace_back(name);
  table.add(std::move(head));
  for (const GroupScore& group : groups) {
    std::vector<std::string> cells = {group.name};
    for (const RangeScore& score : group.ranges) cells.push_back(cell(score));
    table.add(std::move(cells));
  }
  for (std::size_t column = 1; column <= kSizeRanges; ++column) table.align_right(column);
  return table.text();
}

/// The first line of a reason that goes on with a list.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string mapping_text(const ValidateResult& result) {
  const Measurements& measured = result.measured;
  std::string out = fmt::format("{} of {} mapped, {} with a size\n",
                                measured.runs.size() - result.left_out.size(),
                                counted(std::ssize(measured.runs) + measured.runs_unread, "run"),
                                counted(std::ssize(measured.points), "point"));
  if (measured.points_unread > 0)
    out += fmt::format("{} of rows that were not understood left out\n",
                       counted(measured.points_unread, "point"));
  if (measured.points_without_size > 0)
    out +=
        fmt::format("{} without a size left out\n", counted(measured.points_without_size, "point"));
  if (measured.points_without_time > 0)
    out +=
        fmt::format("{} without a time left out\n", counted(measured.points_without_time, "point"));
  std::map<std::string, int> reasons;
  for (const auto& [run, why] : result.left_out) ++reasons[first_line(why.message())];
  if (measured.runs_unread > 0) reasons["the row was not understood"] += measured.runs_unread;
  for (const auto& [why, runs] : reasons)
    out += fmt::format("  left out: {}: {}\n", counted(runs, "run"), why);
  for (const auto& [note, runs] : result.notes)
    out += fmt::format("  assumed: {}: {}\n", counted(runs, "run"), note);
  return out;
}

std::string method_text(const ValidateResult& result) {
  std::map<Method, int> count;
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    if (!result.left_out.contains(result.measured.points[i].run))
      ++count[result.predictions[i].method];
  }
  std::string out = fmt::format("predictor: {}", to_text(result.predictor));
  if (result.predictor == Predictor::simulation) {
    out += fmt::format("; {} simulated in {} different calls",
                       counted(count[Method::simulated], "point"), result.calls);
    if (count[Method::extrapolated] > 0) {
      out += fmt::format(
          ";\n{} would take more than {} slices: extrapolated from smaller sizes or\nnumbers of "
          "nodes",
          counted(count[Method::extrapolated], "point"), result.slices_max);
    }
  }
  if (count[Method::none] > 0)
    out += fmt::format(";\nno prediction for {}", counted(count[Method::none], "point"));
  return out + '\n';
}

std::string headline_text(const Scored& scored) {
  TextTable table("  ");
  std::vector<std::string> head = {"", "median over classes", "90th percentile over runs"};
  if (scored.unseen)
    head = {"", "median over classes", "source left out", "90th percentile", "source left out"};
  table.add(std::move(head));
  for (std::size_t i = 0; i < kSizeRanges; ++i) {
    const Headline& headline = scored.seen.headline[i];
    std::vector<std::string> cells = {std::string(kSizeRangeNames[i]),
                                      percent_or_none(headline.median)};
    if (scored.unseen) cells.push_back(percent_or_none(scored.unseen->headline[i].median));
    cells.push_back(percent_or_none(headline.p90));
    if (scored.unseen) cells.push_back(percent_or_none(scored.unseen->headline[i].p90));
    table.add(std::move(cells));
  }
  for (std::size_t column = 1; column <= (scored.unseen ? 4U : 2U); ++column)
    table.align_right(column);
  std::string out = table.text();
  std::string noisy;
  for (std::size_t i = 0; i < kSizeRanges; ++i) {
    if (scored.seen.noisy[i].runs > 0)
      noisy += fmt::format("  {} {}", kSizeRangeNames[i], cell(scored.seen.noisy[i]));
  }
  if (!noisy.empty()) out += "  apart, shared systems from 64 nodes on:" + noisy + '\n';
  out += fmt::format("  {} of {} points have a prediction\n", scored.seen.predicted,
                     scored.seen.points);
  if (scored.seen.banded > 0)
    out += fmt::format("  {} % of {} points are inside their 80 % band\n",
                       percent_of(static_cast<double>(scored.seen.inside) / scored.seen.banded),
                       scored.seen.banded);
  return out;
}

/// Where both are there, what is recent and what is old stand apart.
std::string eras_text(const ValidateResult& result, const std::optional<ValidateResult>& left_out) {
  const auto is_legacy = [](const MeasuredRun& run) { return !is_modern(run); };
  const Scored modern = score(result, left_out, is_modern),
               legacy = score(result, left_out, is_legacy);
  if (modern.seen.points == 0 || legacy.seen.points == 0)
    return headline_text(score(result, left_out));
  return "Ampere or newer with NCCL 2.18 or later:\n" + headline_text(modern) + "\nOlder:\n" +
         headline_text(legacy);
}

std::string worst_text(const ValidateResult& result) {
  TextTable table("  ");
  table.add({"run", "class", "collective", "nodes", "ranks", "range", "error", "bias", "points"});
  std::size_t shown = 0;
  std::map<std::string, int> shown_of;
  for (const RunScore& score : run_scores(result)) {
    const MeasuredRun& run = result.measured.runs[score.run];
    if (++shown_of[class_of(run)] > kWorstOfClass) continue;
    if (++shown > kWorst) break;
    table.add({run.id, class_of(run), std::string(to_text(run.collective)),
               std::to_string(run.nodes), std::to_string(run.ranks),
               std::string(kSizeRangeNames[score.range]), percent_of(score.error),
               fmt::format("{:+.0f}", 100 * score.bias), std::to_string(score.points)});
  }
  for (const std::size_t column : {3U, 4U, 6U, 7U, 8U}) table.align_right(column);
  return table.text();
}

std::string pairs_text(const ValidateResult& result) {
  const PairSummary summary = pair_summary(result);
  if (summary.pairs.empty()) return {};
  std::string out = fmt::format(
      "\nPairs of runs with one thing changed: the direction is right in {} of {} whose measured\n"
      "change is above 10 %, the median error of the ratio is {} % over {}. The worst:\n",
      summary.right, summary.large, percent_of(summary.median_error), summary.pairs.size());
  TextTable table("  ");
  table.add({"run", "against", "at", "ratio of", "measured", "predicted", "what was changed"});
  for (std::size_t i = 0; i < std::min(kPairsShown, summary.pairs.size()); ++i) {
    const MeasuredPair& pair = result.measured.pairs[summary.pairs[i].pair];
    table.add({result.measured.runs[pair.run].id, result.measured.runs[pair.baseline].id,
               to_text(pair.size), pair.is_busbw ? "busbw" : "time",
               fmt::format("{:.3f}", pair.ratio), fmt::format("{:.3f}", summary.pairs[i].predicted),
               pair.what});
  }
  for (const std::size_t column : {4U, 5U}) table.align_right(column);
  return out + table.text();
}

/// What is wrong with a row whose file and line are said.
std::string without_file(const Error& why) {
  const std::string& column = why.place().path;
  return column.empty() ? why.message() : column + ": " + why.message();
}

/// In brackets, what to do.
std::string hint_behind(const Error& why) {
  return why.hint().empty() ? "" : fmt::format(" ({})", first_line(why.hint()));
}

/// How much was left out; "" for nothing.
std::string sum_text(const ValidateResult& result) {
  const Measurements& measured = result.measured;
  const auto runs = std::ssize(result.left_out) + measured.runs_unread;
  const auto points = measured.points_unread +
                      std::ranges::count_if(measured.points, [&](const MeasuredPoint& point) {
                        return result.left_out.contains(point.run);
                      });
  if (runs + points == 0) return {};
  return fmt::format("left out in all: {} of {}, {} of {}\n", runs,
                     counted(std::ssize(measured.runs) + measured.runs_unread, "run"), points,
                     counted(std::ssize(measured.points) + measured.points_unread, "point"));
}

std::string algorithm_of(const Prediction& prediction) {
  if (prediction.algorithm.empty()) return "";
  return fmt::format("{} {}", prediction.algorithm, prediction.protocol);
}

}  // namespace

std::string left_out_text(const ValidateResult& result) {
  const Measurements& measured = result.measured;
  std::string out;
  for (const Error& why : measured.unread)
    out += fmt::format("left out: {}{}\n", first_line(why.reason()), hint_behind(why));
  for (const auto& [run, why] : result.left_out)
    out += fmt::format("left out: {}:{}: {}: {}{}\n", measured.runs[run].place.file,
                       measured.runs[run].place.line, measured.runs[run].id,
                       first_line(without_file(why)), hint_behind(why));
  std::map<std::size_t, int> without;  // by run
  for (std::size_t i = 0; i < result.predictions.size(); ++i) {
    const std::size_t run = result.measured.points[i].run;
    if (result.predictions[i].method == Method::none && !result.left_out.contains(run))
      ++without[run];
  }
  for (const auto& [run, points] : without)
    out += fmt::format("no prediction: {}: {}: no element for each rank, or too large\n",
                       measured.runs[run].id, counted(points, "point"));
  return out + sum_text(result);
}

std::string validate_text(const ValidateResult& result) {
  const Summary summary = summary_of(result);
  std::string out = "fabricast validate nccl-tests: predictions against measurements\n\n";
  out += mapping_text(result) + method_text(result);
  out += "\nErrors in % of the measured time (with their sign: bias; runs), scored runs only.\n";
  out +=
      eras_text(result, left_out_of(result)) + '\n' + table_text("class", summary.classes) + '\n';
  out += table_text("collective", scores_by(result, [](const MeasuredRun& run, const Prediction&) {
                      return std::string(to_text(run.collective));
                    }));
  out +=
      '\n' + table_text("nodes", scores_by(result, [](const MeasuredRun& run, const Prediction&) {
                          return fmt::format("{:4}", run.nodes);
                        }));
  out += '\n' + table_text("chosen",
                           scores_by(result, [](const MeasuredRun&, const Prediction& prediction) {
                             return algorithm_of(prediction);
                           }));
  out += "\nThe worst runs, two of each class:\n" + worst_text(result) + pairs_text(result);
  return out;
}

}  // namespace fabricast
