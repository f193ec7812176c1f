#include "models/experts/ep_ways.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace fabricast {
namespace {

/// The NIC with the shortest way to each GPU; of several the one that fewest GPUs have so far.
std::vector<int> nearest_nics(const NodeGraph& node, int gpus) {
  const auto nics = node.nics();
  std::vector<int> out, taken(nics.size());
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const Vertex& at = node.vertex(node.gpus()[static_cast<std::size_t>(gpu)].vertex);
    int best = -1;
    std::size_t best_way = 0;
    for (std::size_t nic = 0; nic < nics.size(); ++nic) {
      if (node.vertex(nics[nic].vertex).tray != at.tray) continue;
      const std::size_t way =
          node.pcie_route(node.gpus()[static_cast<std::size_t>(gpu)].vertex, nics[nic].vertex)
              .size();
      if (best < 0 || way < best_way ||
          (way == best_way && taken[nic] < taken[static_cast<std::size_t>(best)])) {
        best = static_cast<int>(nic);
        best_way = way;
      }
    }
    if (best < 0)
      throw Error(fmt::format("{} has no NIC: its tokens cannot leave the node", at.name),
                  "ask for one node, or for a topology with NICs");
    ++taken[static_cast<std::size_t>(best)];
    out.push_back(best);
  }
  return out;
}

}  // namespace

EpWays::EpWays(const Cluster& cluster, int gpus, std::vector<int> nodes)
    : cluster_(cluster), gpus_(gpus), nodes_(std::move(nodes)) {
  if (nodes_.empty()) {
    nodes_.resize(static_cast<std::size_t>(cluster.nodes()));
    std::iota(nodes_.begin(), nodes_.end(), 0);
  }
  const NodeGraph& node = cluster.node();
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      const VertexId a = node.gpus()[static_cast<std::size_t>(from)].vertex;
      const VertexId b = node.gpus()[static_cast<std::size_t>(to)].vertex;
      inside_.push_back(from == to ? std::vector<LinkId>{} : node.nvlink_route(a, b));
      if (from != to && inside_.back().empty())
        throw Error(fmt::format("{} and {} have no NVLink to each other: these kernels write into "
                                "the memory of every GPU of the node",
                                node.vertex(a).name, node.vertex(b).name),
                    "nccl-alltoall runs over PCIe, too");
    }
  }
  if (nodes_.size() == 1) return;
  nics_ = nearest_nics(node, gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const VertexId at = node.gpus()[static_cast<std::size_t>(gpu)].vertex;
    const VertexId nic =
        node.nics()[static_cast<std::size_t>(nics_[static_cast<std::size_t>(gpu)])].vertex;
    sides_.push_back({node.pcie_route(at, nic), node.pcie_route(nic, at)});
  }
}

void EpWays::add_local(int node, const std::vector<LinkId>& route,
                       std::vector<std::uint32_t>& links) const {
  for (const LinkId link : route) links.push_back(index_of(cluster_.global(node, link)));
}

void EpWays::add(int from, int to, std::vector<std::uint32_t>& links) const {
  const int from_node = nodes_[static_cast<std::size_t>(from / gpus_)],
            to_node = nodes_[static_cast<std::size_t>(to / gpus_)];
  const int from_gpu = from % gpus_, to_gpu = to % gpus_;
  if (from_node == to_node) {
    add_local(from_node, inside_[static_cast<std::size_t>(from_gpu * gpus_ + to_gpu)], links);
    return;
  }
  const auto nic_of = [&](int gpu) {
    return cluster_.node().nics()[static_cast<std::size_t>(nic(gpu))].vertex;
  };
  add_local(from_node, sides_[static_cast<std::size_t>(from_gpu)].out, links);
  for (const LinkId link :
       cluster_.fabric_route(from_node, nic_of(from_gpu), to_node, nic_of(to_gpu)))
    links.push_back(index_of(link));
  add_local(to_node, sides_[static_cast<std::size_t>(to_gpu)].in, links);
}

}  // namespace fabricast
