#include "models/hardware/cluster/fabric_routes.hpp"

#include <algorithm>

namespace fabricast {

void FabricRoutes::add(int from_node, VertexId from_nic, int to_node, VertexId to_nic,
                       std::uint32_t connection, std::vector<std::uint32_t>& links) const {
  if (!hashes_) return cluster_.add_fabric_route(from_node, from_nic, to_node, to_nic, links);
  const std::uint64_t queue_pair = communicator_ << 32 | connection;
  cluster_.add_hashed_route(from_node, from_nic, to_node, to_nic, queue_pair, *hashes_, links);
}

void FabricRoutes::lay_again(std::vector<LinkId>& way, std::uint32_t connection) const {
  const auto is_in_fabric = [this](LinkId link) { return cluster_.is_fabric_link(link); };
  const auto first = std::ranges::find_if(way, is_in_fabric);
  if (!hashes_ || first == way.end()) return;
  const auto behind = std::find_if_not(first, way.end(), is_in_fabric);
  const auto [from_node, from_nic] = cluster_.nic_at(cluster_.link_from(*first));
  const auto [to_node, to_nic] = cluster_.nic_at(cluster_.link_to(*(behind - 1)));
  std::vector<std::uint32_t> hashed;
  add(from_node, from_nic, to_node, to_nic, connection, hashed);
  // Equally long: switches pick among the shortest ways.
  std::ranges::transform(hashed, first, [](std::uint32_t link) { return LinkId{link}; });
}

}  // namespace fabricast
