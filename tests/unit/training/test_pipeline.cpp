// Orders of pipeline schedules, and what executing them takes, against hand-derived figures.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "models/training/step/pipeline.hpp"
#include "models/training/step/stream_graph.hpp"
#include "sim/base/error.hpp"

using namespace fabricast;

namespace {

struct Work {
  std::int64_t forward = 1, backward = 2, weight = 0;  ///< of a stage and micro-batch, in 1/12 us
};

/// Twelfths of a time unit until the last stage is done, without communication.
std::int64_t makespan(Schedule schedule, int stages, int chunks, int micro_batches, Work work) {
  StreamGraph graph;
  std::map<std::tuple<int, int, int>, TaskId> tasks;  // kind, model chunk, micro-batch
  const auto orders = pipeline_orders(schedule, stages, chunks, micro_batches);
  for (int stage = 0; stage < stages; ++stage) {
    for (const PipelineOp& op : orders[static_cast<std::size_t>(stage)]) {
      const std::int64_t time = op.kind == PipelineOp::Kind::forward    ? work.forward
                                : op.kind == PipelineOp::Kind::backward ? work.backward
                                                                        : work.weight;
      tasks[{static_cast<int>(op.kind), op.chunk * stages + stage, op.micro}] =
          graph.add(static_cast<std::uint32_t>(stage), Duration{12 * time / chunks});
    }
  }
  const int all = stages * chunks;
  for (int i = 0; i < micro_batches; ++i) {
    for (int c = 0; c + 1 < all; ++c) {
      graph.after(tasks.at({0, c + 1, i}), tasks.at({0, c, i}));
      graph.after(tasks.at({1, c, i}), tasks.at({1, c + 1, i}));
    }
    graph.after(tasks.at({1, all - 1, i}), tasks.at({0, all - 1, i}));
  }
  Instant end{};
  for (const TaskTimes& times : graph.run()) end = later(end, times.end);
  return end.ps;
}

std::string order(Schedule schedule, int stages, int chunks, int micro_batches, int stage) {
  const auto orders = pipeline_orders(schedule, stages, chunks, micro_batches);
  return to_text(orders[static_cast<std::size_t>(stage)], chunks > 1);
}

}  // namespace

TEST_CASE("pipeline: orders of 1F1B, 4 stages, 6 micro-batches") {
  const auto of = [](int stage) { return order(Schedule::one_f_one_b, 4, 1, 6, stage); };
  CHECK(of(0) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  CHECK(of(1) == "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  CHECK(of(2) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  CHECK(of(3) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST_CASE("pipeline: interleaved orders, 2 stages of 2 chunks, 4 micro-batches") {
  CHECK(order(Schedule::interleaved, 2, 2, 4, 0) ==
        "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  CHECK(order(Schedule::interleaved, 2, 2, 4, 1) ==
        "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

TEST_CASE("pipeline: every order holds each micro-batch of each chunk once") {
  for (const int stages : {2, 4, 8}) {
    for (const int chunks : {1, 2, 3}) {
      for (const Schedule schedule :
           {Schedule::gpipe, Schedule::one_f_one_b, Schedule::zero_bubble}) {
        if (chunks > 1 && schedule != Schedule::one_f_one_b) continue;
        for (auto& ops : pipeline_orders(schedule, stages, chunks, 2 * stages)) {
          std::vector<PipelineOp> seen = ops;
          const int kinds = schedule == Schedule::zero_bubble ? 3 : 2;
          CHECK(seen.size() == static_cast<std::size_t>(kinds * chunks * 2 * stages));
          const auto key = [](const PipelineOp& op) {
            return std::tuple(op.kind, op.chunk, op.micro);
          };
          std::sort(seen.begin(), seen.end(),
                    [&](const auto& a, const auto& b) { return key(a) < key(b); });
          CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
        }
      }
    }
  }
}

TEST_CASE("pipeline: makespans and bubbles") {
  const Work work;
  CHECK(makespan(Schedule::one_f_one_b, 4, 1, 8, work) == 12 * 33);
  CHECK(makespan(Schedule::one_f_one_b, 4, 1, 4, work) == 12 * 21);
  CHECK(makespan(Schedule::one_f_one_b, 8, 1, 64, work) == 12 * 213);
  CHECK(makespan(Schedule::gpipe, 4, 1, 8, work) == 12 * 33);
  CHECK(makespan(Schedule::interleaved, 4, 2, 8, work) == 12 * 28.5);
  CHECK(makespan(Schedule::interleaved, 2, 2, 4, work) == 12 * 13.5);
  CHECK(makespan(Schedule::interleaved, 8, 3, 64, work) == 12 * 199);
  // Bubbles over ideal: (p - 1) / (v m).
  const auto bubble = [&](int stages, int chunks, int micro_batches) {
    const double ideal = 36.0 * micro_batches;
    return static_cast<double>(
               makespan(Schedule::one_f_one_b, stages, chunks, micro_batches, work)) /
               ideal -
           1;
  };
  CHECK(bubble(8, 1, 64) == doctest::Approx(0.109375));
  CHECK(bubble(8, 3, 64) == doctest::Approx(0.036458).epsilon(1e-4));
  CHECK(bubble(64, 1, 512) == doctest::Approx(0.123047).epsilon(1e-5));
}

TEST_CASE("pipeline: zero-bubble leaves a third of 1F1B's bubble (arXiv 2401.10241, table 2)") {
  // ZB-H1: (p - 1)(F + B - W) where 1F1B has (p - 1)(F + B + W).
  for (const int stages : {2, 4, 8}) {
    for (const int micro_batches : {stages, 2 * stages, 5 * stages}) {
      CHECK(makespan(Schedule::zero_bubble, stages, 1, micro_batches, {1, 1, 1}) ==
            12 * (3 * micro_batches + stages - 1));
    }
  }
}

TEST_CASE("stream graph: tasks that wait in a circle") {
  StreamGraph graph;
  const TaskId a = graph.add(0, Duration{1}), b = graph.add(1, Duration{1});
  graph.after(a, b);
  graph.after(b, a);
  CHECK_THROWS_WITH(graph.run(), "2 of 2 tasks of the step wait for each other in a circle");
}

TEST_CASE("stream graph: streams keep their order, others wait") {
  StreamGraph graph;
  const TaskId a = graph.add(0, Duration{5}), b = graph.add(1, Duration{7});
  const TaskId c = graph.add(0, Duration{3}), d = graph.add(1, Duration{1});
  graph.after(c, b);
  const std::vector<TaskTimes> times = graph.run();
  CHECK(times[index_of(a)].end.ps == 5);
  CHECK(times[index_of(c)].start.ps == 7);
  CHECK(times[index_of(c)].waited_for == b);
  CHECK(times[index_of(d)].start.ps == 7);
  CHECK(times[index_of(d)].waited_for == b);
}

TEST_CASE("stream graph: tasks that load one site slow each other while both run") {
  // Kind 1 takes twice as long beside kind 2, which takes 1.5 times as long beside kind 1.
  StreamGraph graph;
  graph.slow(1, 2, 2);
  graph.slow(2, 1, 1.5);
  const TaskId a = graph.add(0, Duration{1000}, {0, 1});
  const TaskId b = graph.add(1, Duration{600}, {0, 2});
  const TaskId elsewhere = graph.add(2, Duration{1000}, {1, 2});
  const std::vector<TaskTimes> times = graph.run();
  // b ends at 900, when a has done 450 of its 1000.
  CHECK(times[index_of(b)].end.ps == 900);
  CHECK(times[index_of(a)].end.ps == 900 + 550);
  CHECK(times[index_of(elsewhere)].end.ps == 1000);
}

TEST_CASE("stream graph: one that comes later, on a second site, and three at a time") {
  StreamGraph graph;
  graph.slow(1, 2, 2);
  graph.slow(1, 3, 1.5);
  const TaskId a = graph.add(0, Duration{1000}, {0, 1});
  const TaskId wait = graph.add(1, Duration{200});
  const TaskId b = graph.add(1, Duration{300}, {5, 3}, {0, 2});
  const TaskId c = graph.add(2, Duration{400}, {0, 3});
  const std::vector<TaskTimes> times = graph.run();
  CHECK(times[index_of(wait)].end.ps == 200);
  CHECK(times[index_of(b)].end.ps == 500);
  CHECK(times[index_of(c)].end.ps == 400);
  // a: until 200 at 1/1.5 (133 done), until 400 at 1/2.5 (80), until 500 at 1/2 (50), then alone.
  CHECK(times[index_of(a)].end.ps >= 500 + 1000 - 133 - 80 - 50);
  CHECK(times[index_of(a)].end.ps <= 500 + 1000 - 133 - 80 - 50 + 2);
}
