#include "models/training/stream_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"

namespace fabricast {

TaskId StreamGraph::add(std::uint32_t stream, Duration duration) {
  const TaskId task{static_cast<std::uint32_t>(tasks_.size())};
  tasks_.push_back({stream, duration});
  if (last_.size() <= stream) last_.resize(stream + 1, -1);
  std::int64_t& last = last_[stream];
  if (last >= 0) after(task, TaskId{static_cast<std::uint32_t>(last)});
  last = static_cast<std::int64_t>(index_of(task));
  return task;
}

void StreamGraph::after(TaskId later, TaskId earlier, Duration lag) {
  edges_.push_back({later, earlier, lag});
}

std::vector<TaskTimes> StreamGraph::run() const {
  // Edges by their earlier task, then tasks as they become ready.
  std::vector<std::uint32_t> first(tasks_.size() + 1), waiting(tasks_.size());
  for (const Edge& edge : edges_) {
    ++first[index_of(edge.earlier) + 1];
    ++waiting[index_of(edge.later)];
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i) first[i + 1] += first[i];
  std::vector<std::uint32_t> fill(first.begin(), first.end() - 1), sorted(edges_.size());
  for (std::uint32_t e = 0; e < edges_.size(); ++e) sorted[fill[index_of(edges_[e].earlier)]++] = e;

  std::vector<TaskTimes> times(tasks_.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t task = 0; task < tasks_.size(); ++task)
    if (waiting[task] == 0) ready.push_back(task);
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t task = ready.back();
    ready.pop_back();
    ++done;
    times[task].end = times[task].start + tasks_[task].duration;
    for (std::uint32_t at = first[task]; at < first[task + 1]; ++at) {
      const Edge& edge = edges_[sorted[at]];
      const std::size_t next = index_of(edge.later);
      const Instant free = times[task].end + edge.lag;
      if (free > times[next].start || !times[next].waited_for) {
        times[next].start = later(times[next].start, free);
        times[next].waited_for = edge.earlier;
      }
      if (--waiting[next] == 0) ready.push_back(static_cast<std::uint32_t>(next));
    }
  }
  if (done != tasks_.size())
    throw Error(fmt::format("{} of {} tasks of the step wait for each other in a circle",
                            tasks_.size() - done, tasks_.size()));
  return times;
}

}  // namespace fabricast
