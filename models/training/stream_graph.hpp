#pragma once
// Tasks on streams: a stream works in the order in which it was given tasks, a task waits for its
// predecessors on other streams. That is all a training step is, once its parts have a duration.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/units.hpp"

namespace fabricast {

enum class TaskId : std::uint32_t {};
constexpr std::size_t index_of(TaskId task) { return static_cast<std::size_t>(task); }

struct TaskTimes {
  Instant start, end;
  std::optional<TaskId> waited_for;  ///< who ended last of those it had to wait for
};

class StreamGraph {
 public:
  /// Streams are numbered from 0; a stream exists once it has a task.
  TaskId add(std::uint32_t stream, Duration duration);
  /// `later` starts no sooner than `lag` after the end of `earlier`. Any order of adding will do.
  void after(TaskId later, TaskId earlier, Duration lag = {});

  std::size_t tasks() const { return tasks_.size(); }
  std::uint32_t stream_of(TaskId task) const { return tasks_[index_of(task)].stream; }
  /// Every task's times. Throws Error when tasks wait for each other in a circle.
  std::vector<TaskTimes> run() const;

 private:
  struct Task {
    std::uint32_t stream = 0;
    Duration duration;
  };
  struct Edge {
    TaskId later{}, earlier{};
    Duration lag;
  };
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::vector<std::int64_t> last_;  ///< by stream: its last task, -1 = none
};

}  // namespace fabricast
