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
  for (std::uint32_t lane = 0; lane < assembly.partition().parts.size(); ++lane) {
    const int channel = assembly.partition().parts[lane].channel;
    const auto end = [&](int rank) {
      return assembly.endpoint(rank, nic_of(run.graph, channel, rank % assembly.gpus()));
    };
    const std::uint32_t first = assembly.machine().workers();
    assembly.each_place([&](std::uint32_t rank) {
      assembly.add_worker(classes, program, {lane, 0}, static_cast<int>(rank),
                          program.slices(lane));
    });
    for (int dim = 0; dim < pat_dimensions(ranks); ++dim) {
      assembly.each_place([&](std::uint32_t place) {
        const int rank = static_cast<int>(place), above = (rank + (1 << dim)) % ranks;
        const int from = scatters ? rank : above, to = scatters ? above : rank;
        assembly.connect(first + assembly.number(static_cast<std::uint32_t>(from)),
                         first + assembly.number(static_cast<std::uint32_t>(to)), end(from),
                         end(to), program.messages(lane, dim));
      });
    }
  }
}

}  // namespace fabricast
