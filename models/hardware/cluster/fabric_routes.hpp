#pragma once
// The ways of connections from NIC to NIC, where they are known before the first byte: by
// destination, or as ECMP hashes each connection.

#include <cstdint>
#include <optional>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

class FabricRoutes {
 public:
  /// By destination, or hashed. `communicator`: of those of a run, each of which has connections of
  /// its own. The cluster outlives the routes.
  explicit FabricRoutes(const Cluster& cluster,
                        const std::optional<EcmpSeeds>& hashes = std::nullopt,
                        std::size_t communicator = 0)
      : cluster_(cluster), hashes_(hashes), communicator_(communicator) {}

  bool are_hashed() const { return hashes_.has_value(); }
  /// The way of a connection, behind what is in `links`. `connection`: its number among those that
  /// the communicator has between these two NICs, which says what it is and not when it is used, so
  /// that folded runs and full ones number alike.
  void add(int from_node, VertexId from_nic, int to_node, VertexId to_nic, std::uint32_t connection,
           std::vector<std::uint32_t>& links) const;
  /// The same for one whose way is there, by destination, and perhaps links of nodes before it and
  /// behind. Nothing changes where ways are not hashed.
  void lay_again(std::vector<LinkId>& way, std::uint32_t connection) const;

 private:
  const Cluster& cluster_;
  std::optional<EcmpSeeds> hashes_;
  std::uint64_t communicator_;
};

}  // namespace fabricast
