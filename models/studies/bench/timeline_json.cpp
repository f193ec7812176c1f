#include "models/studies/bench/timeline_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/numbers.hpp"
#include "text/quoting.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

/// Exact: picoseconds as microseconds with six decimals.
std::string us_text(std::int64_t ps) {
  constexpr std::int64_t kPerUs = 1'000'000;
  return fmt::format("{}.{:06}", ps / kPerUs, ps % kPerUs);
}

std::string json_text(std::string_view text) { return json_line(Json(text)); }

std::string_view wait_name(TimelineSpan::Kind kind) {
  switch (kind) {
    case TimelineSpan::Kind::full_slot:
      return "waiting for a full slot";
    case TimelineSpan::Kind::link:
      return "waiting for the link";
    case TimelineSpan::Kind::free_slot:
      return "waiting for a free slot";
    case TimelineSpan::Kind::slice:
    case TimelineSpan::Kind::message:
    case TimelineSpan::Kind::clear_to_send:
      break;
  }
  return {};
}

std::string_view category(TimelineSpan::Kind kind) {
  if (kind == TimelineSpan::Kind::slice) return "slice";
  const bool is_post =
      kind == TimelineSpan::Kind::message || kind == TimelineSpan::Kind::clear_to_send;
  return is_post ? "message" : "wait";
}

class TimelineWriter {
 public:
  TimelineWriter(std::ostream& out, const BenchConfig& config, const BenchBlock& block,
                 const BenchRow& row)
      : out_(out), config_(config), block_(block), row_(row), timeline_(*row.timeline) {}

  void write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":" << summary() << ",\n\"traceEvents\":[";
    call();
    tracks();
    for (const TimelineSpan& span : timeline_.spans) event(span);
    for (const TimelineLink& link : timeline_.links) counter(link);
    out_ << "\n]}\n";
  }

 private:
  // Process numbers: 1 the call, then the ranks, then these.
  int pid_of(int rank) const { return 2 + rank; }
  /// Of all groups of a split.
  int ranks() const {
    if (!row_.split) return row_.ranks;
    int out = 0;
    for (const SplitGroup& group : block_.groups) out += group.members.ranks();
    return out;
  }
  int proxies_pid() const { return pid_of(ranks()); }
  int links_pid() const { return proxies_pid() + 1; }

  std::string summary() const {
    const CollectiveRun& run = row_.decided.run;
    return json_line(Json{{"made_by", "fabricast bench: predicted, nothing was measured"},
                          {"topology", config_.topology},
                          {"nccl", to_text(config_.version)},
                          {"collective", to_text(row_.collective)},
                          {"size_bytes", row_.size.count},
                          {"nodes", row_.nodes},
                          {"ranks", row_.ranks},
                          {"algorithm", row_.algorithm()},
                          {"protocol", to_text(run.protocol)},
                          {"time_ps", row_.result.time.ps},
                          {"launch_ps", row_.result.launch.ps},
                          {"digest", fmt::format("{:016x}", row_.result.digest)}});
  }

  void put(const std::string& event) {
    if (!first_) out_ << ',';
    first_ = false;
    out_ << '\n' << event;
  }

  void name_process(int pid, const std::string& name) {
    put(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid,
                    json_text(name)));
    put(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{0},)"
                    R"("args":{{"sort_index":{0}}}}})",
                    pid));
  }
  void name_thread(int pid, int tid, const std::string& name) {
    put(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                    pid, tid, json_text(name)));
    put(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},)"
                    R"("args":{{"sort_index":{}}}}})",
                    pid, tid, tid));
  }

  void whole(int pid, int tid, std::string_view category, std::string_view name, std::int64_t start,
             std::int64_t end, const std::string& more) {
    put(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"cat":"{}","name":{},"ts":{},"dur":{},)"
                    R"("args":{{{}"start_ps":{},"end_ps":{}}}}})",
                    pid, tid, category, json_text(name), us_text(start), us_text(end - start), more,
                    start, end));
  }

  void call() {
    name_process(1, "call");
    const CollectiveRun& run = row_.decided.run;
    const std::int64_t launch = timeline_.launch.ps;
    if (row_.split) return calls_of_groups();
    name_thread(1, 1, "call");
    if (launch > 0) whole(1, 1, "call", "launch", 0, launch, {});
    std::string name = run.calls > 1 ? fmt::format("{} calls of ", run.calls) : "";
    name += fmt::format("{} {} ", to_text(row_.collective), to_text(row_.size));
    if (run.has_algorithm()) name += fmt::format("{} ", row_.algorithm());
    whole(1, 1, "call", name += to_text(run.protocol), launch, row_.result.time.ps, {});
  }

  /// Launches are part of them.
  void calls_of_groups() {
    for (const TimelineKernel& kernel : timeline_.kernels) {
      const int tid = static_cast<int>(kernel.stream) + 1;
      name_thread(1, tid, fmt::format("group {}", block_.groups[kernel.stream].colour));
      whole(1, tid, "call", fmt::format("{} {}", to_text(row_.collective), to_text(row_.requested)),
            kernel.start.ps, kernel.end.ps, {});
    }
  }
  std::string group_of(const TimelineTrack& track) const {
    return row_.split ? fmt::format("group {}, ", block_.groups[track.stream].colour) : "";
  }

  /// Names all tracks and gives them their numbers.
  void tracks() {
    const int per_node = ranks() / row_.nodes;
    bool has_proxies = false;
    int rank = -1, tid = 0;
    for (const TimelineTrack& track : timeline_.tracks) {
      if (track.kind == TimelineTrack::Kind::proxy) {
        if (!has_proxies) name_process(proxies_pid(), "proxies");
        has_proxies = true;
        const bool helps = track.channel != TimelineTrack::kWholeRank;
        const int number = track.rank + 1 + (helps ? (track.channel + 1) * ranks() : 0);
        threads_.push_back({proxies_pid(), number});
        name_thread(proxies_pid(), number,
                    group_of(track) + fmt::format("proxy of rank {}", track.rank) +
                        (helps ? fmt::format(", channel {}", track.channel) : ""));
        continue;
      }
      if (track.rank != rank) {
        rank = track.rank;
        tid = 0;
        name_process(pid_of(rank),
                     fmt::format("rank {} (node{} gpu{})", rank, rank / per_node, rank % per_node));
      }
      threads_.push_back({pid_of(rank), ++tid});
      name_thread(pid_of(rank), tid,
                  group_of(track) + fmt::format("channel {}{}{}", track.channel,
                                                track.part.empty() ? "" : " ", track.part));
    }
    if (!timeline_.links.empty()) name_process(links_pid(), "links");
  }

  void event(const TimelineSpan& span) {
    const Thread thread = threads_[span.track];
    const std::int64_t start = span.start.ps + timeline_.launch.ps;
    const std::int64_t end = span.end.ps + timeline_.launch.ps;
    const std::string peer = span.peer_rank < 0 ? "" : fmt::format(R"("rank":{},)", span.peer_rank);
    std::string name{wait_name(span.kind)}, more = peer;
    if (span.kind == TimelineSpan::Kind::slice) {
      name = span.name;
      more = row_.decided.run.has_algorithm()
                 ? fmt::format(R"("bytes":{},"loop":{},"step":{},"slice":{},)", span.bytes.count,
                               span.loop, span.step, span.slice)
                 : fmt::format(R"("bytes":{},"chunk":{},)", span.bytes.count, span.slice) + peer;
      if (row_.decided.run.calls > 1) more += fmt::format(R"("call":{},)", span.call);
    } else if (span.kind == TimelineSpan::Kind::clear_to_send) {
      name = fmt::format("clear to send for rank {}", span.peer_rank);
    } else if (span.kind == TimelineSpan::Kind::message) {
      name = span.peer_rank < 0 ? "message" : fmt::format("to rank {}", span.peer_rank);
      more = fmt::format(R"("bytes":{},)", span.bytes.count) + peer;
    }
    whole(thread.pid, thread.tid, category(span.kind), name, start, end, more);
  }

  /// A point where the value changes: the share of the bin that the link was busy, in per cent.
  void counter(const TimelineLink& link) {
    const std::string name = json_text(block_.cluster.link_name(link.link));
    std::int64_t before = 0;
    for (std::size_t bin = 0; bin <= link.busy.size(); ++bin) {
      const std::int64_t busy = bin < link.busy.size() ? link.busy[bin].ps : 0;
      const std::int64_t start = static_cast<std::int64_t>(bin) * timeline_.bin.ps;
      // The last bin ends with the run.
      const std::int64_t at = std::min(start, timeline_.run.ps);
      const std::int64_t width = std::min(timeline_.bin.ps, timeline_.run.ps - at);
      const std::int64_t share = width > 0 ? busy * 10'000 / width : 0;
      if (share == before) continue;
      before = share;
      put(fmt::format(R"({{"ph":"C","pid":{},"name":{},"ts":{},"args":{{"busy %":{}.{:02}}}}})",
                      links_pid(), name, us_text(at + timeline_.launch.ps), share / 100,
                      share % 100));
    }
  }

  struct Thread {
    int pid = 0, tid = 0;
  };

  std::ostream& out_;
  const BenchConfig& config_;
  const BenchBlock& block_;
  const BenchRow& row_;
  const Timeline& timeline_;
  std::vector<Thread> threads_;  ///< by track
  bool first_ = true;
};

int parse_rank(std::string_view text) {
  const int rank = to_number<int>(text).value_or(-1);
  if (rank < 0)
    throw Error(fmt::format("\"{}\" is not a rank", text), "write ranks like 0-7, or 3");
  return rank;
}

}  // namespace

TimelineFilter parse_trace_ranks(std::string_view text) {
  const std::size_t dash = text.find('-');
  TimelineFilter out;
  out.first = parse_rank(trimmed(text.substr(0, dash)));
  out.last =
      dash == std::string_view::npos ? out.first : parse_rank(trimmed(text.substr(dash + 1)));
  if (out.last < out.first)
    throw Error(fmt::format("\"{}\" runs backwards", text), "write ranks like 0-7, or 3");
  return out;
}

void write_timeline(std::ostream& out, const BenchConfig& config, const BenchBlock& block,
                    const BenchRow& row) {
  TimelineWriter(out, config, block, row).write();
}

}  // namespace fabricast
