// CollNetChain (AllReduce): the GPUs of a node form a chain whose head speaks with CollNet. Sums go
// up to it and come down from it. Facts: src/device/all_reduce.h, src/graph/connect.cc, NCCL 2.21
// to 2.30.

#include "models/nccl/schedules/collnet_wiring.hpp"

namespace fabricast {
namespace {

/// The chains of one channel.
class ChainChannel {
 public:
  ChainChannel(Assembly& assembly, HeadPrograms& programs,
               const std::vector<std::uint32_t>& classes, std::uint32_t lane)
      : assembly_(assembly), programs_(programs), classes_(classes), lane_(lane) {}

  /// The ends at the head.
  CollnetEnd add(int node, const GraphChannel& chain) {
    const std::vector<int>& gpus = chain.gpu_order;
    std::vector<std::uint32_t> up, down;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::uint32_t below = i + 1 < gpus.size() ? 1 : 0;
      const int rank = node * assembly_.gpus() + gpus[i];
      up.push_back(add_worker(below, 1, rank));
      down.push_back(add_worker(1, below, rank));
    }
    const std::uint64_t slices = programs_.get(HeadShare::one_chunk, 1, 1).slices(lane_);
    for (std::size_t i = 0; i + 1 < gpus.size(); ++i) {
      const Endpoint above = end(node, gpus[i], 0), below = end(node, gpus[i + 1], 0);
      assembly_.connect(up[i + 1], up[i], below, above, slices);
      assembly_.connect(down[i], down[i + 1], above, below, slices);
    }
    return {up.front(), down.front(), end(node, gpus.front(), chain.net_in), {}};
  }

 private:
  Endpoint end(int node, int gpu, int nic) const {
    return assembly_.endpoint(node * assembly_.gpus() + gpu, nic);
  }
  std::uint32_t add_worker(std::uint32_t inputs, std::uint32_t outputs, int rank) {
    return programs_.add_worker(classes_, HeadShare::one_chunk, inputs, outputs, {lane_, 0}, rank);
  }

  Assembly& assembly_;
  HeadPrograms& programs_;
  const std::vector<std::uint32_t>& classes_;
  std::uint32_t lane_;
};

}  // namespace

void add_collnet_chain(Assembly& assembly) {
  HeadPrograms programs(assembly, 1);
  CollnetWiring network(assembly, programs);
  // A block is split in two as for Tree.
  const std::vector<std::uint32_t> classes =
      assembly.worker_classes(assembly.software().tree_copy_share);
  const std::vector<GraphChannel>& channels = assembly.run().graph.channels;
  for (const std::uint32_t lane : assembly.lanes()) {
    const auto channel = static_cast<std::size_t>(assembly.partition().parts[lane].channel);
    ChainChannel chains(assembly, programs, classes, lane);
    std::vector<CollnetEnd> ends;
    assembly.each_node(
        [&](int node) { ends.push_back(chains.add(node, channels[channel % channels.size()])); });
    network.connect({lane, 0}, ends);
  }
}

}  // namespace fabricast
