#include "models/studies/judge/judge_inspector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/base/add_once.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

/// A wait that is worth a word: of the mean time of a call, and of calls with the same last rank.
constexpr double kWaitShare = 0.2, kLastShare = 0.5;

/// The Inspector's "COLLNET_DIRECT" is NCCL's "CollNetDirect".
std::optional<Algorithm> algorithm_of(std::string word) {
  std::erase(word, '_');
  return algorithm_from_text(word);
}

/// Communicators that are expected to be alike.
struct Shape {
  int nodes = 1, ranks = 1;
  Collective collective{};
  auto operator<=>(const Shape&) const = default;
};

class InspectionJudge {
 public:
  InspectionJudge(InspectedRun run, const InspectorRequest& request, const PartsCatalogue& parts,
                  const BandTable& bands, const ForEach& for_each)
      : parts_(parts), bands_(bands), for_each_(for_each) {
    out_.request = request;
    out_.run = std::move(run);
    out_.verdicts.resize(out_.run.rows.size());
  }

  JudgedInspection judge() {
    std::map<Shape, std::vector<std::size_t>> shapes;
    for (std::size_t i = 0; i < out_.run.rows.size(); ++i) {
      const InspectedRow& row = out_.run.rows[i];
      std::string& why_not = out_.verdicts[i].why_not;
      if (!row.collective) {
        why_not = fmt::format("{} is no collective of nccl-tests", row.word);
      } else if (row.ranks < 2) {
        why_not = "one rank: nothing is sent";
      } else if (row.ranks % row.nodes != 0) {
        why_not = fmt::format("{} on {}: unlike numbers of GPUs", counted(row.ranks, "rank"),
                              counted(row.nodes, "node"));
      } else {
        shapes[{row.nodes, row.ranks, *row.collective}].push_back(i);
      }
    }
    for (const auto& [shape, rows] : shapes) judge_shape(shape, rows);
    for (std::size_t i = 0; i < out_.verdicts.size(); ++i)
      out_.verdicts[i].suspect = suspect_of(out_.run.rows[i], out_.verdicts[i]);
    tell_basis();
    return std::move(out_);
  }

 private:
  JudgeConfig config_of(const Shape& shape) const {
    JudgeConfig out;
    static_cast<Job&>(out) = out_.request.job;
    out.nodes = shape.nodes;
    out.gpus_per_node = shape.ranks / shape.nodes;
    out.collective = shape.collective;
    // What training sends; only its bytes count for the choice of most collectives.
    out.datatype = "bfloat16";
    out.release_said = out_.request.release_said;
    return out;
  }

  void judge_shape(const Shape& shape, const std::vector<std::size_t>& rows) {
    // Rows come in the order of their time.
    std::map<std::int64_t, std::size_t> sizes;  // with the row's number in the expectation
    for (const std::size_t i : rows) {
      if (sizes.size() < kInspectedSizesMax) sizes.try_emplace(out_.run.rows[i].size.count, 0);
    }
    JudgeConfig config = config_of(shape);
    for (auto& [size, number] : sizes) {
      number = config.rows.size();
      config.rows.push_back({Bytes{size}, 0});
    }
    ExpectedRows expected;
    try {
      expected = expect_rows(config, parts_, bands_, for_each_);
    } catch (const Error& error) {
      for (const std::size_t i : rows) out_.verdicts[i].why_not = error.message();
      return;
    }
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::size_t>> of;
    for (const std::size_t i : rows) {
      const InspectedRow& row = out_.run.rows[i];
      if (sizes.contains(row.size.count)) {
        of[{row.job, row.communicator, row.name}].push_back(i);
      } else {
        out_.verdicts[i].why_not = fmt::format(
            "of this collective the {} sizes that take longest "
            "are judged",
            kInspectedSizesMax);
      }
    }
    for (auto& [communicator, own] : of) judge_one(config, expected, sizes, std::move(own));
  }

  /// The part of the expectation that one communicator's rows are about.
  void judge_one(JudgeConfig config, const ExpectedRows& whole,
                 const std::map<std::int64_t, std::size_t>& sizes, std::vector<std::size_t> rows) {
    std::ranges::sort(rows, {}, [&](std::size_t i) { return out_.run.rows[i].size.count; });
    ExpectedRows expected = whole;
    const auto part = [&](const auto& from) {
      std::remove_cvref_t<decltype(from)> out;
      if (from.empty()) return out;
      for (const std::size_t i : rows) out.push_back(from[sizes.at(out_.run.rows[i].size.count)]);
      return out;
    };
    expected.rows = part(whole.rows);
    for (SimulatedSuspect& cause : expected.causes) {
      cause.times_us = part(cause.times_us);
      cause.limits = part(cause.limits);
    }
    config.rows.clear();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const InspectedRow& row = out_.run.rows[rows[k]];
      config.rows.push_back({row.size, row.transfer_us});
      // Of a range of sizes time may be as much longer or shorter.
      expected.rows[k].band.lower *= 1 - row.size_doubt;
      expected.rows[k].band.upper *= 1 + row.size_doubt;
      out_.verdicts[rows[k]].judgement = out_.judgements.size();
      out_.verdicts[rows[k]].row = k;
    }
    JudgeResult result = judge_rows(config, std::move(expected));
    for (const std::string& note : result.notes) add_once(out_.notes, note);
    out_.judgements.push_back({std::move(rows), std::move(result)});
  }

  std::string suspect_of(const InspectedRow& row, const InspectedRowVerdict& verdict) const {
    if (verdict.judgement) {
      const JudgeResult& result = out_.judgements[*verdict.judgement].result;
      const JudgeRow& judged = result.rows[verdict.row];
      if (judged.verdict == RowVerdict::below) {
        if (std::string choice = other_choice(row, judged); !choice.empty()) return choice;
        const bool explained =
            result.of_times == JudgeVerdict::explained && !result.ranking.empty();
        if (explained) {
          const Suspect& cause = result.causes[result.ranking.front().fits.front().which].cause;
          return fmt::format("{} [{}]{}", cause.title, cause.name, or_late(row));
        }
        return "nothing we know explains it" + or_late(row);
      }
    }
    if (!row.skew || row.skew->wait_us < kWaitShare * row.time_us ||
        row.skew->last_share < kLastShare || row.ranks_seen < 2)
      return {};
    return fmt::format("{} comes last in {:.0f} % of calls",
                       row.skew->last_rank >= 0
                           ? fmt::format("rank {} ({})", row.skew->last_rank, row.skew->last)
                           : row.skew->last,
                       100 * row.skew->last_share);
  }

  /// What is not to be told apart from a slow transfer where no other rank is seen.
  static std::string or_late(const InspectedRow& row) {
    return row.skew ? "" : ", or a rank that comes late: no other one is seen";
  }

  /// Where NCCL took another algorithm or protocol than it would by itself.
  static std::string other_choice(const InspectedRow& row, const JudgeRow& judged) {
    const std::optional<Algorithm> algorithm = algorithm_of(row.algorithm);
    const std::optional<Protocol> protocol = protocol_from_text(row.protocol);
    if (!algorithm || !protocol) return {};
    if (to_text(*algorithm) == judged.algorithm && to_text(*protocol) == judged.protocol) return {};
    return fmt::format("a setting: NCCL took {} {}, by itself {} {}", to_text(*algorithm),
                       to_text(*protocol), judged.algorithm, judged.protocol);
  }

  void tell_basis() {
    const std::vector<InspectedRow>& rows = out_.run.rows;
    const auto any = [&](auto is) { return std::ranges::any_of(rows, is); };
    if (any([](const InspectedRow& row) { return !row.skew; }))
      out_.notes.push_back(
          "where one rank of a communicator is seen, its time has the wait for the last one in it");
    if (any(&InspectedRow::is_mean))
      out_.notes.push_back(
          "times of Prometheus are means over an interval, sizes ranges: the band "
          "is as much wider");
    if (any(&InspectedRow::off_gpu))
      out_.notes.push_back("some times are those of a CPU's clock, with the launch in them");
  }

  const PartsCatalogue& parts_;
  const BandTable& bands_;
  const ForEach& for_each_;
  JudgedInspection out_;
};

}  // namespace

const JudgeRow* JudgedInspection::judged(std::size_t row) const {
  const InspectedRowVerdict& verdict = verdicts[row];
  return verdict.judgement ? &judgements[*verdict.judgement].result.rows[verdict.row] : nullptr;
}

double JudgedInspection::lower_us(std::size_t row) const {
  return judged(row)->expected_us * judged(row)->band.lower;
}

double JudgedInspection::upper_us(std::size_t row) const { return judged(row)->limit_us(); }

double busbw_of(const InspectedRow& row, double time_us) {
  return row.collective ? busbw_GBps(*row.collective, row.ranks, row.size,
                                     Duration{static_cast<std::int64_t>(time_us * 1e6)})
                        : 0;
}

JudgedInspection judge_inspection(InspectedRun run, const InspectorRequest& request,
                                  const PartsCatalogue& parts, const BandTable& bands,
                                  const ForEach& for_each) {
  return InspectionJudge(std::move(run), request, parts, bands, for_each).judge();
}

}  // namespace fabricast
