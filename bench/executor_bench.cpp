// How fast the kernel is: the queue alone, and the executor on a ring all-reduce of Simple slices
// over one egress and one ingress link per rank, 16 channels, as on NVSwitch. Counters: events per
// second of CPU time, and bytes of executor state per rank.

#include <benchmark/benchmark.h>

#include <random>

#include "models/nccl/programs/ring_program.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {
namespace {

/// Hold model: n events pending; each pop schedules one up to 100 us ahead.
void queue_hold(benchmark::State& state) {
  RadixHeap heap;
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i < state.range(0); ++i)
    heap.push({static_cast<std::int64_t>(random() % 100'000'000)}, i);
  for (auto _ : state) {
    const Event event = heap.pop();
    heap.push({event.at.ps + static_cast<std::int64_t>(random() % 100'000'000)}, event.actor);
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(queue_hold)->Arg(1 << 10)->Arg(1 << 14);

constexpr std::uint32_t kChannels = 16;

template <class Stamp>
void build_ring(Executor<Stamp>& executor, const RingProgram& program, std::uint32_t ranks) {
  const std::uint32_t kind = executor.add_worker_class({{37'000'000'000}, {}});
  for (std::uint32_t r = 0; r < 2 * ranks; ++r)
    executor.add_link({{370'800'000'000}, nanoseconds(r % 2 == 0 ? 0 : 120)});
  for (std::uint32_t c = 0; c < kChannels; ++c)
    for (std::uint32_t r = 0; r < ranks; ++r) executor.add_worker(kind, program, {c, r});
  for (std::uint32_t c = 0; c < kChannels; ++c) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const std::uint32_t next = (r + 1) % ranks;
      const std::uint32_t path[] = {2 * r, 2 * next + 1};
      executor.connect({c * ranks + r,
                        c * ranks + next,
                        4,
                        path,
                        nanoseconds(2720),
                        nanoseconds(560),
                        nanoseconds(680),
                        {}});
    }
  }
}

/// Argument: ranks. The size grows with the ranks so that every run has about 4 M slices.
template <class Stamp>
void ring(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  PartitionInput input;
  input.version = kNccl2_27_7;
  input.collective = Collective::all_reduce;
  input.algorithm = Algorithm::ring;
  input.protocol = Protocol::simple;
  input.ranks = static_cast<int>(ranks);
  input.channels = input.communicator_channels = kChannels;
  // Loops x (2n - 1) x 2 slices x n ranks x 16 channels; a loop is n chunks of 2 MiB a channel.
  const std::int64_t per_loop = std::int64_t{4} * ranks * ranks * kChannels;
  const std::int64_t loops = std::max<std::int64_t>(1, 4'000'000 / per_loop);
  input.count = loops * ranks * kChannels * (2 << 20) / 4;
  const Partition parts = partition(input);
  const RingProgram program({Collective::all_reduce, Protocol::simple, ranks,
                             step_size(Protocol::simple, input.buffers), false},
                            parts, {});
  std::uint64_t events = 0;
  std::size_t memory = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Executor<Stamp> executor;
    build_ring(executor, program, ranks);
    state.ResumeTiming();
    executor.run();
    events += executor.events();
    memory = executor.memory_bytes();
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.counters["B/rank"] = static_cast<double>(memory) / ranks;
}
BENCHMARK(ring<PlainStamp>)->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(ring<CausalStamp>)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabricast
