#include "models/nccl/assembly.hpp"
#include "models/nccl/pat_program.hpp"

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
    for (int rank = 0; rank < ranks; ++rank)
      assembly.add_worker(classes, program, {lane, 0}, rank, program.slices(lane));
    for (int dim = 0; dim < pat_dimensions(ranks); ++dim) {
      for (int rank = 0; rank < ranks; ++rank) {
        const int above = (rank + (1 << dim)) % ranks;
        const int from = scatters ? rank : above, to = scatters ? above : rank;
        assembly.connect(first + static_cast<std::uint32_t>(from),
                         first + static_cast<std::uint32_t>(to), end(from), end(to),
                         program.messages(lane, dim));
      }
    }
  }
}

}  // namespace fabricast
