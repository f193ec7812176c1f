#pragma once
// Tasks on streams: a stream works in the order in which it was given tasks, a task waits for its
// predecessors on other streams. Tasks that load the same site (the NICs of a stage's GPUs) slow
// each other while they run at the same time. That is all a training step is, once its parts have a
// duration.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

enum class TaskId : std::uint32_t {};
constexpr std::size_t index_of(TaskId task) { return static_cast<std::size_t>(task); }

struct TaskTimes {
  Instant start, end;
  std::optional<TaskId> waited_for;  ///< who ended last of those it had to wait for
};

/// What a task does to a site: kinds are numbered from 1; 0 = nothing.
struct SiteLoad {
  std::uint32_t site = 0;
  std::uint8_t kind = 0;
};

class StreamGraph {
 public:
  static constexpr int kLoadKinds = 8;

  /// Streams are numbered from 0; a stream exists once it has a task. `duration` is that of the
  /// task alone.
  TaskId add(std::uint32_t stream, Duration duration, SiteLoad load = {}, SiteLoad other = {});
  /// `later` starts no sooner than the end of `earlier`. Any order of adding will do.
  void after(TaskId later, TaskId earlier);
  /// A task of `kind` takes `factor` times as long while one of `beside` loads its site; several
  /// add up what they cost. REQUIRES: factor >= 1.
  void slow(std::uint8_t kind, std::uint8_t beside, double factor);

  std::size_t tasks() const { return tasks_.size(); }
  std::uint32_t stream_of(TaskId task) const { return tasks_[index_of(task)].stream; }
  Duration alone(TaskId task) const { return tasks_[index_of(task)].duration; }
  /// Every task's times. Throws Error when tasks wait for each other in a circle.
  std::vector<TaskTimes> run() const;

 private:
  friend class StreamRun;
  struct Task {
    std::uint32_t stream = 0;
    Duration duration;
    std::array<SiteLoad, 2> loads;
  };
  struct Edge {
    TaskId later{}, earlier{};
  };
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::vector<std::int64_t> last_;  ///< by stream: its last task, -1 = none
  /// Time lost to one beside, in 1024ths of the time alone: whole numbers order events.
  std::array<std::array<std::int64_t, kLoadKinds>, kLoadKinds> lost_{};
  std::uint32_t sites_ = 0;
};

}  // namespace fabricast
