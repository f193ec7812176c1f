#pragma once
// Seeded random calls and channel graphs, and what NCCL cuts their chunks into.

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/split/partition.hpp"

namespace fabricast {

/// So that doctest can print it.
inline std::ostream& operator<<(std::ostream& out, Duration duration) {
  return out << duration.ps << " ps";
}

}  // namespace fabricast

namespace fabricast::testing {

/// The same numbers from every standard library.
struct Dice {
  std::mt19937_64 engine;

  explicit Dice(std::uint64_t seed) : engine(seed) {}
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class List>
  auto of(const List& list) {
    return list[engine() % std::size(list)];
  }
};

/// So many of the numbers below `all`, in ascending order.
inline std::vector<int> random_subset(Dice& random, int count, int all) {
  std::vector<int> out(static_cast<std::size_t>(all));
  std::iota(out.begin(), out.end(), 0);
  while (static_cast<int>(out.size()) > count)
    out.erase(out.begin() + random.pick(0, static_cast<std::int64_t>(out.size()) - 1));
  return out;
}

inline constexpr std::array kRingCollectives = {Collective::all_reduce, Collective::all_gather,
                                                Collective::reduce_scatter, Collective::broadcast,
                                                Collective::reduce};

/// What NCCL cuts the chunk into: LL and LL128 do not slice.
inline std::vector<std::int64_t> expected_slices(const PartitionInput& p, const Partition& split,
                                                 std::int64_t elements) {
  if (p.protocol != Protocol::simple) return {elements * split.element_bytes};
  const Slicing slicing =
      slices_of_chunk(elements, split.element_bytes, split.shape, step_size(p.protocol, p.buffers));
  std::vector<std::int64_t> out;
  for (int i = 0; i < slicing.slices; ++i) out.push_back(slicing.elements(i) * split.element_bytes);
  return out;
}

/// A call of 2.21 to 2.30, from a few bytes to a few loops of every channel, mostly uneven.
inline PartitionInput random_call(Dice& random, Collective collective, Algorithm algorithm,
                                  int nodes, int gpus) {
  PartitionInput p;
  p.version = random.of(kModelledVersions);
  p.collective = collective;
  p.algorithm = algorithm;
  p.protocol = random.of(kAllProtocols);
  p.nodes = nodes;
  p.ranks = nodes * gpus;
  p.element_bytes = 1 << random.pick(0, 3);
  const int channels_max = std::clamp(96 / p.ranks, 1, 8);
  p.communicator_channels = static_cast<int>(random.pick(1, channels_max));
  p.channels = static_cast<int>(random.pick(1, p.communicator_channels));
  p.threads = p.protocol == Protocol::ll128 ? 640 : 512;
  const Bytes chunk = chunk_size({p.version, algorithm, collective, p.protocol, Bytes{1 << 30},
                                  p.channels, nodes, p.ranks, p.buffers});
  const bool chunk_per_rank = algorithm == Algorithm::ring && collective == Collective::all_reduce;
  const std::int64_t loop =
      chunk.count / p.element_bytes * p.channels * (chunk_per_rank ? p.ranks : 1);
  switch (random.pick(0, 3)) {
    case 0:
      p.count = random.pick(1, 2'000);
      break;
    case 1:
      p.count = loop * random.pick(1, 2);
      break;
    default:
      p.count = random.pick(1, loop * 5 / 2);
  }
  return p;
}

/// Search channels with chains of GPUs in any order.
inline ChannelGraph random_graph(Dice& random, GraphPattern pattern, int gpus) {
  ChannelGraph graph;
  graph.pattern = pattern;
  graph.cross_nic = static_cast<int>(random.pick(0, 2));
  for (std::int64_t c = random.pick(1, 4); c > 0; --c) {
    GraphChannel channel;
    channel.gpu_order.resize(static_cast<std::size_t>(gpus));
    std::iota(channel.gpu_order.begin(), channel.gpu_order.end(), 0);
    for (std::size_t i = channel.gpu_order.size() - 1; i > 0; --i)
      std::swap(channel.gpu_order[i], channel.gpu_order[random.engine() % (i + 1)]);
    graph.channels.push_back(channel);
  }
  return graph;
}

}  // namespace fabricast::testing
