#include "models/studies/skew/skew.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/io/imports/collective_word.hpp"
#include "models/studies/shared/quantile.hpp"
#include "models/studies/shared/site.hpp"
#include "models/studies/skew/align_clocks.hpp"
#include "models/studies/skew/match_calls.hpp"
#include "models/studies/training/predict_call.hpp"
#include "models/training/calls/collective_times.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

/// A matched call on one clock, in ns.
struct Timed {
  double last_arrival = 0, end = 0;
  std::size_t last = 0;                ///< place among the call's ranks
  std::vector<double> arrivals, ends;  ///< by rank of the call
};

/// What of the spans lies in none of `with`, in us.
double exposed_us(const std::vector<TraceSpan>& spans, const std::vector<TraceSpan>& with) {
  std::int64_t out = 0;
  for (const TraceSpan& one : spans) out += one.end_ns - one.start_ns - overlap_ns(one, with);
  return static_cast<double>(out) / 1000;
}

class Study {
 public:
  Study(std::vector<RankTrace> traces, const std::string& folder, const Job& config,
        const PartsCatalogue& parts)
      : traces_(std::move(traces)), parts_(parts) {
    out_.config = config;
    out_.folder = folder;
  }

  SkewResult run(const ForEach& for_each) {
    name_ranks();
    matched_ = match_calls(traces_);
    for (const std::string& note : matched_.notes) out_.notes.push_back(note);
    out_.calls = matched_.calls.size();
    if (matched_.calls.empty())
      throw Error(Place{out_.folder, 0, {}}, "no collective is on two ranks",
                  "traces of one job, of the same steps");
    align();
    for (const MatchedCall& call : matched_.calls) timed_.push_back(on_one_clock(call));
    expect(for_each);
    add_rows();
    for (const int step : matched_.steps) add_step(step);
    count_ranks();
    tell();
    return std::move(out_);
  }

 private:
  const RankCollective& of(const MatchedRank& one) const {
    return traces_[static_cast<std::size_t>(one.rank)].collectives[one.collective];
  }
  const RankCollective& first_of(const MatchedCall& call) const { return of(call.ranks.front()); }
  int rank_number(int place) const { return traces_[static_cast<std::size_t>(place)].rank; }

  void name_ranks() {
    int most = 0;
    for (const RankTrace& trace : traces_) {
      out_.world_size = std::max(out_.world_size, trace.world_size);
      most = std::max(most, trace.rank);
      for (const RankCollective& one : trace.collectives)
        out_.world_size = std::max(out_.world_size, one.group_size);
    }
    out_.world_size = std::max(out_.world_size, most + 1);
    for (int rank = 0; rank < out_.world_size; ++rank)
      if (std::ranges::find(traces_, rank, &RankTrace::rank) == traces_.end())
        out_.missing.push_back(rank);
  }

  void align() {
    std::vector<CommonEnd> ends;
    for (const MatchedCall& call : matched_.calls) {
      if (!ends_together(first_of(call).collective)) continue;
      CommonEnd end;
      for (const MatchedRank& one : call.ranks) end.push_back({one.rank, of(one).end_ns});
      ends.push_back(std::move(end));
    }
    clocks_ = align_clocks(static_cast<int>(traces_.size()), ends);
    out_.aligned_by = clocks_.ends;
    out_.residual_us = clocks_.residual_ns / 1000;
    out_.residual_most_us = clocks_.residual_most_ns / 1000;
    // Ranks that share nothing with the first: their calls have no common clock with others.
    std::erase_if(matched_.calls, [&](const MatchedCall& call) {
      return std::ranges::any_of(call.ranks, [&](const MatchedRank& one) {
        return !clocks_.ranks[static_cast<std::size_t>(one.rank)].known;
      });
    });
    out_.calls = matched_.calls.size();
    for (const MatchedCall& call : matched_.calls) out_.part += call.is_whole ? 0 : 1;
  }

  double common(int rank, std::int64_t time_ns) const {
    return clocks_.ranks[static_cast<std::size_t>(rank)].common_ns(time_ns);
  }

  Timed on_one_clock(const MatchedCall& call) {
    Timed out;
    for (const MatchedRank& one : call.ranks) {
      out.arrivals.push_back(common(one.rank, of(one).start_ns));
      out.ends.push_back(common(one.rank, of(one).end_ns));
    }
    const auto last = std::ranges::max_element(out.arrivals);
    out.last = static_cast<std::size_t>(last - out.arrivals.begin());
    out.last_arrival = *last;
    out.end = quantile(out.ends, 0.5);
    if (!ends_together(first_of(call).collective)) return out;
    for (const double end : out.ends) {
      if (end >= out.last_arrival) continue;
      ++out_.early_ends;
      out_.early_most_us = std::max(out_.early_most_us, (out.last_arrival - end) / 1000);
    }
    return out;
  }

  /// Name, sizes, type, group: what makes calls one kind.
  using Kind = std::tuple<std::string, std::int64_t, std::int64_t, std::string, std::string, int>;
  Kind kind_of(const MatchedCall& call) const {
    const RankCollective& one = first_of(call);
    return {collective_word(one.collective),
            one.in_elements,
            one.out_elements,
            one.dtype,
            one.description.empty() ? one.group : one.description,
            one.group_size};
  }

  /// Evenly spaced ranks are a group of the job; others are taken to be neighbours.
  RankGroup group_of(const RankCollective& one) const {
    RankGroup out;
    const std::vector<int> ranks = ranks_of_group(one.ranks, one.group_size);
    if (ranks.size() < 2) return out;
    const int stride = ranks[1] - ranks[0];
    for (std::size_t i = 1; i < ranks.size(); ++i)
      if (ranks[i] - ranks[i - 1] != stride || stride < 1) return out;
    out.stride = stride;
    if (stride > 1) out.job = out_.world_size;
    return out;
  }

  void expect(const ForEach& for_each) {
    const Cluster cluster = load_cluster(out_.config, 1, parts_);
    CollectiveTimes times(
        cluster, parts_.software,
        {out_.config.version, out_.config.environment, out_.config.gpus_per_node, false, {}});
    const auto ask = [&] {
      for (const MatchedCall& call : matched_.calls) {
        const Kind kind = kind_of(call);
        if (!asked_.contains(kind)) asked_.emplace(kind, predicted(call, times));
      }
    };
    times.prepare(for_each, ask);
    asked_.clear();
    ask();
  }

  TracedLine predicted(const MatchedCall& call, CollectiveTimes& times) const {
    const RankCollective& one = first_of(call);
    TracedCall traced{collective_word(one.collective),
                      one.in_elements,
                      one.out_elements,
                      one.dtype,
                      one.description.empty() ? one.group : one.description,
                      one.group_size,
                      0,
                      0};
    try {
      return predict_call(traced, group_of(one), out_.world_size, times);
    } catch (const Error& error) {
      TracedLine line;
      line.call = traced;
      line.ranks = one.group_size;
      line.why_not = error.reason();
      return line;
    }
  }

  void add_rows() {
    struct Kept {
      SkewRow row;
      std::vector<double> waits, transfers;
      std::map<int, double> caused;
    };
    std::map<Kind, Kept> rows;
    for (std::size_t i = 0; i < matched_.calls.size(); ++i) {
      const MatchedCall& call = matched_.calls[i];
      const Timed& timed = timed_[i];
      Kept& kept = rows[kind_of(call)];
      double wait = 0;
      for (const double arrival : timed.arrivals) wait += timed.last_arrival - arrival;
      wait /= 1000 * static_cast<double>(timed.arrivals.size() - 1);
      kept.waits.push_back(wait);
      kept.transfers.push_back(std::max(0.0, timed.end - timed.last_arrival) / 1000);
      kept.caused[rank_number(call.ranks[timed.last].rank)] += wait;
    }
    for (auto& [kind, kept] : rows) {
      SkewRow& row = kept.row;
      row.line = asked_.at(kind);
      row.times = kept.waits.size();
      row.line.times = static_cast<int>(row.times);
      row.wait_us = quantile(kept.waits, 0.5);
      row.wait_most_us = quantile(kept.waits, 1);
      row.transfer_us = quantile(kept.transfers, 0.5);
      row.transfer_p90_us = quantile(kept.transfers, 0.9);
      for (const double one : kept.waits) row.all_wait_us += one;
      for (const double one : kept.transfers) row.all_transfer_us += one;
      for (const auto& [rank, caused] : kept.caused) {
        const double share = row.all_wait_us > 0 ? caused / row.all_wait_us : 0;
        if (row.slowest >= 0 && share <= row.slowest_share) continue;
        row.slowest = rank;
        row.slowest_share = share;
      }
      out_.rows.push_back(std::move(row));
    }
    std::ranges::stable_sort(out_.rows, std::greater{}, [](const SkewRow& row) {
      return row.all_wait_us + row.all_transfer_us;
    });
  }

  /// Of a rank in a step, by its own clock.
  struct Busy {
    std::vector<TraceSpan> waits, transfers;
    double above_us = 0, spent_us = 0;
    double caused_us = 0;  ///< waits of the mean other rank for it
    std::size_t last = 0;
  };

  void add_call(std::size_t i, std::vector<Busy>& busy) const {
    const MatchedCall& call = matched_.calls[i];
    const Timed& timed = timed_[i];
    const TracedLine& expected = asked_.at(kind_of(call));
    double waits = 0;
    for (std::size_t k = 0; k < call.ranks.size(); ++k) {
      const RankCollective& one = of(call.ranks[k]);
      Busy& rank = busy[static_cast<std::size_t>(call.ranks[k].rank)];
      const double wait = timed.last_arrival - timed.arrivals[k];
      waits += wait;
      const std::int64_t middle = std::clamp<std::int64_t>(
          one.start_ns + std::llround(wait), one.start_ns, std::max(one.start_ns, one.end_ns));
      rank.waits.push_back({one.start_ns, middle});
      rank.transfers.push_back({middle, one.end_ns});
      const double took = static_cast<double>(one.end_ns - middle) / 1000;
      rank.spent_us += took;
      if (expected.time) rank.above_us += std::max(0.0, took - microseconds_of(*expected.time));
    }
    Busy& last = busy[static_cast<std::size_t>(call.ranks[timed.last].rank)];
    ++last.last;
    last.caused_us += waits / 1000 / static_cast<double>(call.ranks.size() - 1);
  }

  void add_step(int number) {
    SkewStep step;
    step.number = number;
    std::vector<Busy> busy(traces_.size());
    double first = INFINITY, end = -INFINITY;
    for (std::size_t i = 0; i < matched_.calls.size(); ++i) {
      if (matched_.calls[i].step != number) continue;
      ++step.calls;
      add_call(i, busy);
      first = std::min(first, std::ranges::min(timed_[i].arrivals));
      end = std::max(end, timed_[i].end);
    }
    if (step.calls == 0) return;
    step.time_us = (end - first) / 1000;
    double longest = 0, waits = 0, most = -1;
    std::size_t slowest = 0;
    for (std::size_t rank = 0; rank < busy.size(); ++rank) {
      Busy& one = busy[rank];
      join_spans(one.waits);
      join_spans(one.transfers);
      const std::vector<TraceSpan>& compute = traces_[rank].compute;
      SkewRank& told = rank_of(rank);
      const double wait = exposed_us(one.waits, compute);
      told.wait_us += wait;
      told.transfer_us += exposed_us(one.transfers, compute);
      told.last += one.last;
      told.caused_us += one.caused_us;
      waits += wait;
      if (one.caused_us > most) std::tie(most, slowest) = std::tie(one.caused_us, rank);
      for (const RankStep& span : traces_[rank].steps)
        if (span.number == number)
          longest = std::max(longest, static_cast<double>(span.end_ns - span.start_ns) / 1000);
    }
    if (longest > 0) step.time_us = longest;
    const Busy& late = busy[slowest];
    step.slowest = rank_number(static_cast<int>(slowest));
    step.last = late.last;
    step.caused_us = late.caused_us;
    step.wait_us = waits / static_cast<double>(busy.size());
    step.transfer_us = exposed_us(late.transfers, traces_[slowest].compute);
    step.above_us =
        late.spent_us > 0 ? step.transfer_us * std::min(1.0, late.above_us / late.spent_us) : 0;
    out_.steps.push_back(step);
  }

  SkewRank& rank_of(std::size_t place) {
    if (out_.ranks.empty())
      for (const RankTrace& trace : traces_) {
        SkewRank one;
        one.rank = trace.rank;
        one.file = trace.file;
        out_.ranks.push_back(std::move(one));
      }
    return out_.ranks[place];
  }

  void count_ranks() {
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      SkewRank& one = rank_of(i);
      const RankClock& clock = clocks_.ranks[i];
      one.calls = traces_[i].collectives.size();
      one.clock_known = clock.known;
      one.offset_us = clock.offset_ns / 1000;
      one.drift_ppm = (clock.drift - clocks_.ranks.front().drift) * 1e6;
      one.residual_us = clock.residual_ns / 1000;
      for (const TraceSpan& span : traces_[i].compute)
        one.compute_us += static_cast<double>(span.end_ns - span.start_ns) / 1000;
    }
  }

  void tell() {
    const auto say = [&](std::size_t count, const char* what) {
      if (count > 0)
        out_.notes.push_back(
            fmt::format("{} {}", counted(static_cast<std::int64_t>(count), "call"), what));
    };
    say(matched_.messages, "of sends and receives: not matched, so that pipelines are left out.");
    say(matched_.unlike, "with another name or size on another rank: not compared.");
    say(matched_.alone, "on one rank alone: not compared.");
    say(matched_.outside, "of no step that all traces have: not compared.");
    say(out_.part, "with members that have no trace: the last to arrive may be one of them.");
    for (const SkewRank& one : out_.ranks)
      if (!one.clock_known)
        out_.notes.push_back(
            fmt::format("rank {} ends nothing with the others: its clock is not "
                        "known, its calls are left out.",
                        one.rank));
    if (out_.steps.size() == 1 && out_.steps.front().number == 0)
      out_.notes.emplace_back("no ProfilerStep is in the traces: all of them is one step.");
  }

  std::vector<RankTrace> traces_;
  const PartsCatalogue& parts_;
  SkewResult out_;
  MatchedCalls matched_;
  AlignedClocks clocks_;
  std::vector<Timed> timed_;
  std::map<Kind, TracedLine> asked_;
};

}  // namespace

SkewResult find_skew(std::vector<RankTrace> traces, const std::string& folder, const Job& config,
                     const PartsCatalogue& parts, const ForEach& for_each) {
  return Study(std::move(traces), folder, config, parts).run(for_each);
}

}  // namespace fabricast
