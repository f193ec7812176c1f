#pragma once
// Whether a move takes the ways of a run to ways of their kind: looked at way by way, as generators
// of moves name them.

#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "models/nccl/call/transport.hpp"
#include "models/nccl/symmetry/move.hpp"

namespace fabricast {

class MoveCheck {
 public:
  using Image = std::function<int(int)>;
  /// Where hosts of the cluster and GPUs of a host go; none = all stay.
  MoveCheck(const Cluster& cluster, Image nodes, Image gpus)
      : cluster_(cluster), nodes_(std::move(nodes)), gpus_(std::move(gpus)) {}

  /// Whether the first may go to the second, with all that has gone before: they are of one kind,
  /// and each link goes to one of its rate and latency, to which no other goes. Links between
  /// switches go to others, those of a host and its NICs to its image's.
  bool takes(const Transport& from, const Transport& to);
  bool takes(std::span<const LinkId> from, std::span<const LinkId> to);

  /// Where links have gone that are of no node, there and back,
  const std::map<std::uint32_t, std::uint32_t>& trunks() const { return trunks_; }
  /// and those that are, by what they are in any: the number of a host's link, and after these of
  /// each rail's NIC the port's way out (even) and in.
  const std::map<int, int>& parts() const { return parts_; }
  /// Whether links that have gone to each other are simulated by the same one. `representative`:
  /// of a link.
  bool agrees(const std::function<LinkId(LinkId)>& representative) const;
  bool agrees(const Move& move) const {
    return agrees([&](LinkId link) { return move.representative(cluster_, link); });
  }

 private:
  bool takes(LinkId from, LinkId to);
  int part(LinkId link) const;
  int proxy(int gpu) const { return gpus_ ? gpus_(gpu) : gpu; }

  const Cluster& cluster_;
  Image nodes_, gpus_;
  std::map<int, int> parts_, parts_back_;
  std::map<std::uint32_t, std::uint32_t> trunks_, trunks_back_;
  std::vector<std::pair<LinkId, LinkId>> pairs_;  ///< some more than once
};

/// Whether `from` may go to `to` in a map that is one to one.
template <class T>
bool put(std::map<T, T>& map, std::map<T, T>& inverse, T from, T to) {
  return map.try_emplace(from, to).first->second == to &&
         inverse.try_emplace(to, from).first->second == from;
}

}  // namespace fabricast
