#include <algorithm>

#include "models/nccl/assembly.hpp"
#include "models/nccl/ring_links.hpp"
#include "models/nccl/ring_program.hpp"

namespace fabricast {
namespace {

void connect_ring(Assembly& assembly, const GlobalRing& ring, std::uint32_t first_worker,
                  std::uint64_t slices) {
  const auto n = static_cast<std::uint32_t>(assembly.ranks());
  for (std::uint32_t i = 0; i < n; ++i) {
    Endpoint a = assembly.endpoint(ring.ranks[i], 0);
    Endpoint b = assembly.endpoint(ring.ranks[(i + 1) % n], 0);
    if (a.node != b.node) {
      const int place = ring.ranks[i] / assembly.gpus();
      const NodeCrossing& crossing = ring.crossings[static_cast<std::size_t>(place)];
      a.nic = crossing.from_nic;
      b.nic = crossing.to_nic;
    }
    assembly.connect(first_worker + i, first_worker + (i + 1) % n, a, b, slices);
  }
}

}  // namespace

void add_rings(Assembly& assembly) {
  const CollectiveRun& run = assembly.run();
  std::vector<GlobalRing> rings;
  std::vector<std::uint32_t> root_index;
  for (const ChannelPart& part : assembly.partition().parts) {
    rings.push_back(global_ring(run.graph, assembly.nodes(), part.channel, run.version));
    const std::vector<int>& order = rings.back().ranks;
    root_index.push_back(static_cast<std::uint32_t>(
        std::find(order.begin(), order.end(), run.root) - order.begin()));
  }
  const auto ranks = static_cast<std::uint32_t>(assembly.ranks());
  const RingProgram::Config config{run.collective, run.protocol, ranks,
                                   step_size(run.protocol, run.buffers), run.in_place};
  const RingProgram& program =
      assembly.keep(std::make_unique<RingProgram>(config, assembly.partition(), root_index));
  const std::vector<std::uint32_t> classes = assembly.worker_classes(1);
  std::vector<std::uint32_t> first;
  for (std::uint32_t lane = 0; lane < rings.size(); ++lane) {
    first.push_back(assembly.machine().workers());
    for (std::uint32_t i = 0; i < ranks; ++i)
      assembly.add_worker(classes, program, {lane, i}, rings[lane].ranks[i], program.slices(lane));
  }
  const std::uint64_t ops = ring_ops_per_loop(run.collective, ranks);
  const std::uint64_t sends = ring_sends_per_loop(run.collective, ranks);
  for (std::uint32_t lane = 0; lane < rings.size(); ++lane)
    connect_ring(assembly, rings[lane], first[lane], program.slices(lane) / ops * sends);
}

}  // namespace fabricast
