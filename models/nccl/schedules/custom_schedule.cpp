#include <algorithm>
#include <map>
#include <tuple>

#include "models/nccl/programs/custom_program.hpp"
#include "models/nccl/schedules/assembly.hpp"

namespace fabricast {

namespace {

/// One block tells another of its GPU that a step is done: a fence, a flag in global memory, and a
/// barrier of the threads of the waiting block. Two trips to the L2 cache of about 260 cycles each
/// (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via
/// Microbenchmarking", arXiv 2402.13499) and the fence. Status: assumed.
constexpr Duration kSignal = nanoseconds(500);
constexpr std::uint32_t kSignalsInFlight = 255;  // a flag only counts up: no limit

/// What a block copies in its own GPU's memory has no flags in it, whatever the protocol: the best
/// that it reaches in any, of the slowest GPU.
Bandwidth local_rate(const Assembly& assembly) {
  Bandwidth least{};
  for (const int gpu : assembly.members().gpus()) {
    const GpuInfo& info = assembly.cluster().node().gpus()[static_cast<std::size_t>(gpu)];
    const Bandwidth rate = std::ranges::max(info.part.copy_rate);
    if (least.bytes_per_s == 0 || rate < least) least = rate;
  }
  return least;
}

}  // namespace

void add_custom(Assembly& assembly) {
  const CollectiveRun& run = assembly.run();
  const CustomAlgorithm& algorithm = *run.custom;
  const CustomProgram& program =
      assembly.keep(std::make_unique<CustomProgram>(run, assembly.partition()));
  const std::vector<std::uint32_t> classes = assembly.worker_classes(1);
  const std::vector<Bandwidth> local_rates(assembly.members().gpus().size(), local_rate(assembly));
  const std::vector<std::uint32_t> local = assembly.worker_classes(local_rates);
  std::vector<std::uint32_t> workers;
  std::map<std::tuple<int, int, int>, std::uint32_t> receivers;  // rank, peer, channel
  for (std::uint32_t i = 0; i < algorithm.blocks.size(); ++i) {
    const CustomBlock& block = algorithm.blocks[i];
    const bool speaks = block.send >= 0 || block.recv >= 0;
    workers.push_back(assembly.add_worker(speaks ? classes : local, program,
                                          {static_cast<std::uint32_t>(block.channel), i},
                                          block.rank, program.slices(i)));
    receivers[{block.rank, block.recv, block.channel}] = i;
  }
  for (std::uint32_t i = 0; i < algorithm.blocks.size(); ++i) {
    const CustomBlock& block = algorithm.blocks[i];
    if (program.slices_sent(i) == 0) continue;
    Endpoint from = assembly.endpoint(block.rank, 0), to = assembly.endpoint(block.send, 0);
    if (from.node != to.node) {
      const int own = block.rank % assembly.gpus(), peer = block.send % assembly.gpus();
      from.nic = run.p2p.nics.exit(own, peer, block.channel).nic;
      to.nic = run.p2p.nics.entry(peer, block.channel);
    }
    assembly.connect(workers[i], workers[receivers.at({block.send, block.rank, block.channel})],
                     from, to, program.slices_sent(i));
  }
  for (const CustomProgram::Signal& signal : program.signals()) {
    ConnectionSpec flag;
    flag.from = workers[signal.from];
    flag.to = workers[signal.to];
    flag.slots = kSignalsInFlight;
    flag.sync = assembly.fixed_cost(workers[signal.from], kSignal);
    assembly.machine().connect(flag);
  }
}

}  // namespace fabricast
