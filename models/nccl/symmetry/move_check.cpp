#include "models/nccl/symmetry/move_check.hpp"

#include <algorithm>

namespace fabricast {

bool MoveCheck::takes(const Transport& from, const Transport& to) {
  return from.kind == to.kind && from.sender_flag == to.sender_flag &&
         from.receiver_flag == to.receiver_flag && from.flush == to.flush &&
         from.receives_gdr == to.receives_gdr &&
         (from.kind != HopKind::net || proxy(from.proxy_gpu) == to.proxy_gpu) &&
         takes(from.into_slots, to.into_slots) && takes(from.network, to.network);
}

bool MoveCheck::takes(std::span<const LinkId> from, std::span<const LinkId> to) {
  return std::ranges::equal(from, to, [this](LinkId a, LinkId b) { return takes(a, b); });
}

bool MoveCheck::takes(LinkId from, LinkId to) {
  const ClusterLink a = cluster_.link(from), b = cluster_.link(to);
  if (a.rate != b.rate || a.latency != b.latency) return false;
  pairs_.emplace_back(from, to);
  if (cluster_.is_trunk(from) != cluster_.is_trunk(to)) return false;
  if (cluster_.is_trunk(from))
    return from != to && put(trunks_, trunks_back_, index_of(from), index_of(to));
  if (nodes_ && nodes_(cluster_.first_node_of(from)) != cluster_.first_node_of(to)) return false;
  return put(parts_, parts_back_, part(from), part(to));
}

int MoveCheck::part(LinkId link) const {
  const auto links = static_cast<int>(cluster_.node().links().size());
  if (!cluster_.is_fabric_link(link)) return static_cast<int>(index_of(link)) % links;
  const Cluster::FabricEnd from = cluster_.link_from(link), to = cluster_.link_to(link);
  return from.is_switch ? links + 2 * static_cast<int>(to.rail) + 1
                        : links + 2 * static_cast<int>(from.rail);
}

bool MoveCheck::agrees(const std::function<LinkId(LinkId)>& representative) const {
  return std::ranges::all_of(pairs_, [&](const auto& pair) {
    const auto& [from, to] = pair;
    return from != to && representative(from) == representative(to);
  });
}

}  // namespace fabricast
