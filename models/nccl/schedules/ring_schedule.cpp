#include "models/nccl/programs/ring_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/wiring/ring_links.hpp"

namespace fabricast {

void add_rings(Assembly& assembly) {
  const CollectiveRun& run = assembly.run();
  std::vector<RingOrder> rings;
  std::vector<std::uint32_t> root_index;
  for (const ChannelPart& part : assembly.partition().parts) {
    rings.emplace_back(run.graph, assembly.nodes(), part.channel, run.version);
    root_index.push_back(rings.back().index(run.root));
  }
  const auto ranks = static_cast<std::uint32_t>(assembly.ranks());
  const RingProgram::Config config{run.collective, run.protocol,
                                   ranks,          step_size(run.protocol, run.buffers),
                                   run.in_place,   assembly.chunks()};
  const RingProgram& program =
      assembly.keep(std::make_unique<RingProgram>(config, assembly.partition(), root_index));
  // Of a loop's primitives the last only keeps what it receives (recv, recvReduceCopy). Where there
  // is but one primitive, blocks send all the time or never.
  const std::uint64_t ops = ring_ops_per_loop(run.collective, ranks);
  const std::uint64_t sends = ring_sends_per_loop(run.collective, ranks);
  const std::vector<std::uint32_t> classes = assembly.worker_classes(1, ops > 1);
  // An AllGather's own chunk goes to the output as it is sent (copySend), unless input and output
  // are one buffer. Inside a node the GPU before writes the last chunk there itself, so that the
  // last primitive, which is charged for a copy, has none: the two are even. From a NIC that chunk
  // comes into a buffer and has to be copied: both count.
  const bool keeps = run.collective == Collective::all_gather && !run.in_place;
  const double from_net = assembly.share_from_net();
  const bool is_same = assembly.nodes() == 1 || (!keeps && from_net == 1);
  const std::vector<std::uint32_t> entered =
      is_same ? classes : assembly.worker_classes(from_net, ops > 1, keeps);
  const auto enters = [&](const RingOrder& ring, int rank) {
    const int before = ring.rank((ring.index(rank) + ring.ranks() - 1) % ring.ranks());
    return before / assembly.gpus() != rank / assembly.gpus();
  };
  const auto rank_at = [&](std::uint32_t lane, int place) {
    return rings[lane].rank(static_cast<std::uint32_t>(place));
  };
  BlockMap<std::uint32_t> workers(assembly);
  for (const std::uint32_t lane : assembly.lanes()) {
    assembly.each_place(lane, rank_at, [&](std::span<const BlockPlace> alike) {
      for (const BlockPlace& place : alike)
        workers(place) = assembly.add_worker(enters(rings[lane], place.rank) ? entered : classes,
                                             program, {lane, rings[lane].index(place.rank)},
                                             place.rank, program.slices(lane));
    });
  }
  for (const std::uint32_t lane : assembly.lanes()) {
    const RingOrder& ring = rings[lane];
    const std::uint64_t slices = program.slices(lane) / ops * sends;
    assembly.each_place(lane, rank_at, [&](std::span<const BlockPlace> alike) {
      for (const BlockPlace& place : alike) {
        const int next = ring.rank((ring.index(place.rank) + 1) % ring.ranks());
        Endpoint a = assembly.endpoint(place.rank, 0), b = assembly.endpoint(next, 0);
        const int node = place.rank / assembly.gpus();
        if (node != next / assembly.gpus()) {
          const NodeCrossing crossing = ring.crossing(node);
          a.nic = crossing.from_nic;
          b.nic = crossing.to_nic;
        }
        assembly.connect(workers(place), workers({lane, next}), a, b, slices);
      }
    });
  }
}

}  // namespace fabricast
