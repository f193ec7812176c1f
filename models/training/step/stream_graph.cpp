#include "models/training/step/stream_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "sim/base/error.hpp"

namespace fabricast {

namespace {

constexpr std::int64_t kOne = 1024;

}  // namespace

TaskId StreamGraph::add(std::uint32_t stream, Duration duration, SiteLoad load, SiteLoad other) {
  const TaskId task{static_cast<std::uint32_t>(tasks_.size())};
  tasks_.push_back({stream, duration, {load, other}});
  for (const SiteLoad& one : {load, other})
    if (one.kind != 0) sites_ = std::max(sites_, one.site + 1);
  if (last_.size() <= stream) last_.resize(stream + 1, -1);
  std::int64_t& last = last_[stream];
  if (last >= 0) after(task, TaskId{static_cast<std::uint32_t>(last)});
  last = static_cast<std::int64_t>(index_of(task));
  return task;
}

void StreamGraph::after(TaskId later, TaskId earlier) { edges_.push_back({later, earlier}); }

void StreamGraph::slow(std::uint8_t kind, std::uint8_t beside, double factor) {
  lost_[kind][beside] = std::llround((factor - 1) * kOne);
}

/// One run: tasks start when the last of their predecessors ends, and end when their time alone,
/// stretched by what runs beside them, has passed.
class StreamRun {
 public:
  explicit StreamRun(const StreamGraph& graph)
      : g_(graph),
        first_(g_.tasks_.size() + 1),
        waiting_(g_.tasks_.size()),
        sorted_(g_.edges_.size()),
        times_(g_.tasks_.size()),
        pace_(g_.tasks_.size()),
        sites_(g_.sites_) {
    for (const StreamGraph::Edge& edge : g_.edges_) {
      ++first_[index_of(edge.earlier) + 1];
      ++waiting_[index_of(edge.later)];
    }
    for (std::size_t i = 0; i < g_.tasks_.size(); ++i) first_[i + 1] += first_[i];
    std::vector<std::uint32_t> fill(first_.begin(), first_.end() - 1);
    for (std::uint32_t e = 0; e < g_.edges_.size(); ++e)
      sorted_[fill[index_of(g_.edges_[e].earlier)]++] = e;
  }

  std::vector<TaskTimes> run() {
    for (std::uint32_t task = 0; task < g_.tasks_.size(); ++task)
      if (waiting_[task] == 0) start(task, {});
    std::size_t done = 0;
    while (!ends_.empty()) {
      const End next = ends_.top();
      ends_.pop();
      if (next.version != pace_[next.task].version) continue;
      finish(next.task, next.at);
      ++done;
    }
    if (done != g_.tasks_.size())
      throw Error(fmt::format("{} of {} tasks of the step wait for each other in a circle",
                              g_.tasks_.size() - done, g_.tasks_.size()));
    return std::move(times_);
  }

 private:
  struct End {
    Instant at;
    std::uint32_t task = 0, version = 0;
    bool operator<(const End& o) const {  // the queue's top is the greatest
      return std::tuple(o.at, o.task) < std::tuple(at, task);
    }
  };
  struct Pace {
    Instant since;              ///< when `left` was right
    Duration left;              ///< of its time alone
    std::int64_t lost = 0;      ///< as in StreamGraph::lost_, all that run beside it
    std::uint32_t version = 0;  ///< of its end: earlier ones do not count
    bool running = false;
  };

  void start(std::uint32_t task, Instant now) {
    Pace& pace = pace_[task];
    times_[task].start = now;
    pace = {now, g_.tasks_[task].duration, 0, 0, true};
    for (const SiteLoad& load : g_.tasks_[task].loads)
      if (load.kind != 0) sites_[load.site].push_back(task);
    push_end(task);
    settle_neighbours(task, now);
    settle(task, now);
  }

  void finish(std::uint32_t task, Instant now) {
    times_[task].end = now;
    pace_[task].running = false;
    for (const SiteLoad& load : g_.tasks_[task].loads)
      if (load.kind != 0) std::erase(sites_[load.site], task);
    settle_neighbours(task, now);
    for (std::uint32_t at = first_[task]; at < first_[task + 1]; ++at) {
      const StreamGraph::Edge& edge = g_.edges_[sorted_[at]];
      const auto next = static_cast<std::uint32_t>(index_of(edge.later));
      TaskTimes& times = times_[next];
      // The first that ends now, if several do.
      if (!times.waited_for || times_[index_of(*times.waited_for)].end < now)
        times.waited_for = edge.earlier;
      if (--waiting_[next] == 0) start(next, now);
    }
  }

  void settle_neighbours(std::uint32_t task, Instant now) {
    for (const SiteLoad& load : g_.tasks_[task].loads) {
      if (load.kind == 0) continue;
      for (const std::uint32_t other : sites_[load.site])
        if (other != task) settle(other, now);
    }
  }

  /// What runs beside it has changed.
  void settle(std::uint32_t task, Instant now) {
    std::int64_t lost = 0;
    for (const SiteLoad& load : g_.tasks_[task].loads) {
      if (load.kind == 0) continue;
      for (const std::uint32_t other : sites_[load.site]) {
        if (other == task) continue;
        for (const SiteLoad& beside : g_.tasks_[other].loads)
          if (beside.kind != 0 && beside.site == load.site)
            lost += g_.lost_[load.kind][beside.kind];
      }
    }
    Pace& pace = pace_[task];
    if (lost == pace.lost) return;
    // Up to 1e15 ps times 1024 fit.
    pace.left.ps -= (now - pace.since).ps * kOne / (kOne + pace.lost);
    pace.left.ps = std::max<std::int64_t>(pace.left.ps, 0);
    pace.since = now;
    pace.lost = lost;
    ++pace.version;
    push_end(task);
  }

  void push_end(std::uint32_t task) {
    const Pace& pace = pace_[task];
    const Duration time{pace.left.ps + pace.left.ps * pace.lost / kOne};
    ends_.push({pace.since + time, task, pace.version});
  }

  const StreamGraph& g_;
  std::vector<std::uint32_t> first_, waiting_, sorted_;  ///< edges by their earlier task
  std::vector<TaskTimes> times_;
  std::vector<Pace> pace_;
  std::vector<std::vector<std::uint32_t>> sites_;  ///< tasks that load them now
  std::priority_queue<End> ends_;
};

std::vector<TaskTimes> StreamGraph::run() const { return StreamRun(*this).run(); }

}  // namespace fabricast
