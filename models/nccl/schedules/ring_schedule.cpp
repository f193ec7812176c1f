#include "models/nccl/programs/ring_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/wiring/ring_links.hpp"

namespace fabricast {
namespace {

void connect_ring(Assembly& assembly, const RingOrder& ring, std::uint32_t first_worker,
                  std::uint64_t slices) {
  assembly.each_place([&](std::uint32_t i) {
    const std::uint32_t next = (i + 1) % ring.ranks();
    Endpoint a = assembly.endpoint(ring.rank(i), 0), b = assembly.endpoint(ring.rank(next), 0);
    const int node = ring.rank(i) / assembly.gpus();
    if (node != ring.rank(next) / assembly.gpus()) {
      const NodeCrossing crossing = ring.crossing(node);
      a.nic = crossing.from_nic;
      b.nic = crossing.to_nic;
    }
    assembly.connect(first_worker + assembly.number(i), first_worker + assembly.number(next), a, b,
                     slices);
  });
}

}  // namespace

void add_rings(Assembly& assembly) {
  const CollectiveRun& run = assembly.run();
  std::vector<RingOrder> rings;
  std::vector<std::uint32_t> root_index;
  for (const ChannelPart& part : assembly.partition().parts) {
    rings.emplace_back(run.graph, assembly.nodes(), part.channel, run.version);
    root_index.push_back(rings.back().index(run.root));
  }
  const auto ranks = static_cast<std::uint32_t>(assembly.ranks());
  const RingProgram::Config config{run.collective, run.protocol, ranks,
                                   step_size(run.protocol, run.buffers), run.in_place};
  const RingProgram& program =
      assembly.keep(std::make_unique<RingProgram>(config, assembly.partition(), root_index));
  // Of a loop's primitives the last only keeps what it receives (recv, recvReduceCopy). Where there
  // is but one primitive, blocks send all the time or never.
  const std::vector<std::uint32_t> classes =
      assembly.worker_classes(1, ring_ops_per_loop(run.collective, ranks) > 1);
  std::vector<std::uint32_t> first;
  for (std::uint32_t lane = 0; lane < rings.size(); ++lane) {
    first.push_back(assembly.machine().workers());
    assembly.each_place([&](std::uint32_t i) {
      assembly.add_worker(classes, program, {lane, i}, rings[lane].rank(i), program.slices(lane));
    });
  }
  const std::uint64_t ops = ring_ops_per_loop(run.collective, ranks);
  const std::uint64_t sends = ring_sends_per_loop(run.collective, ranks);
  for (std::uint32_t lane = 0; lane < rings.size(); ++lane)
    connect_ring(assembly, rings[lane], first[lane], program.slices(lane) / ops * sends);
}

}  // namespace fabricast
