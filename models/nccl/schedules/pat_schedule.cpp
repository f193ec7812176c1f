#include "models/nccl/programs/pat_program.hpp"
#include "models/nccl/schedules/assembly.hpp"

namespace fabricast {

/// One worker per rank and channel, with a connection in each direction per dimension. The NIC is
/// that of the tree's channel (src/transport/generic.cc).
void add_pat(Assembly& assembly) {
  const CollectiveRun& run = assembly.run();
  const int ranks = assembly.ranks();
  const PatProgram& program = assembly.keep(
      std::make_unique<PatProgram>(run.collective, assembly.partition(), ranks, run.version));
  const std::vector<std::uint32_t> classes = assembly.worker_classes(1);
  const bool scatters = run.collective == Collective::reduce_scatter;
  const auto rank_at = [](std::uint32_t, int place) { return place; };
  BlockMap<std::uint32_t> workers(assembly);
  for (const std::uint32_t lane : assembly.lanes()) {
    const int channel = assembly.partition().parts[lane].channel;
    const auto end = [&](int rank) {
      return assembly.endpoint(rank, nic_of(run.graph, channel, rank % assembly.gpus()));
    };
    assembly.each_place(lane, rank_at, [&](std::span<const BlockPlace> alike) {
      for (const BlockPlace& place : alike)
        workers(place) =
            assembly.add_worker(classes, program, {lane, 0}, place.rank, program.slices(lane));
    });
    for (int dim = 0; dim < pat_dimensions(ranks); ++dim) {
      assembly.each_place(lane, rank_at, [&](std::span<const BlockPlace> alike) {
        for (const BlockPlace& place : alike) {
          const int rank = place.rank, above = (rank + (1 << dim)) % ranks;
          const int from = scatters ? rank : above, to = scatters ? above : rank;
          assembly.connect(workers({lane, from}), workers({lane, to}), end(from), end(to),
                           program.messages(lane, dim));
        }
      });
    }
  }
}

}  // namespace fabricast
