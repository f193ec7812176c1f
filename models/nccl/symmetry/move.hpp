#pragma once
// A move of a run onto itself: nodes, GPUs and channels go to others that do the same at the same
// time, links to others of their kind. After `copies` moves everything is where it was, so of as
// many that are alike one is enough.
//
// Why that is exact. The move maps workers, proxies, connections and links onto others of their
// kind, and it moves each of them (no link is mapped onto itself), so that of one kind no two use
// one link or one proxy thread. Who goes first where several do is a matter of their numbers:
// copies are numbered one after another (Assembly), in full runs too, so that the order is the same
// at all copies. Below a SHARP tree all nodes give and take at the same time; and channels of NVLS
// share links evenly (sim/machines/sharing.cpp): there numbers decide nothing. Hence each round of
// events in the full run is the folded one, copied.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"

namespace fabricast {

/// Where a worker stands: a part of the partition on a rank.
struct BlockPlace {
  std::uint32_t lane = 0;
  int rank = 0;

  bool operator==(const BlockPlace&) const = default;
};

struct Move {
  int copies = 1;
  int nodes = 1, gpus = 1;  ///< of the run: places of nodes, and local ranks of each

  // Nodes go `period` places on, or each to the place as far from the other end, or stay.
  int period = 0;
  bool reverses = false;
  // Local ranks and parts of the partition go to these; empty = all stay.
  std::vector<int> gpu;
  std::vector<std::uint32_t> lane;

  /// Which links are each other's copies. Of those that nodes take along,
  int step = 0;              ///< hosts of the cluster from one to its copy,
  int first = 0;             ///< from where on: whole leaves, or pods, if the run goes over them;
  bool sharp = false;        ///< or nodes stand below one SHARP tree, wherever they are,
  int leaves = 0;            ///< of so many leaves;
  std::map<int, int> image;  ///< or of the cluster's nodes, each of the second half to this one;
  std::map<std::uint32_t, std::uint32_t> trunk;  ///< between switches: the one simulated.
  std::vector<std::uint32_t> link, rail;  ///< Inside nodes, by link and by rail: the one simulated.

  bool operator==(const Move&) const = default;
  /// Nodes, local ranks and links move in the same way; channels may not.
  bool is_like(const Move& other) const;

  BlockPlace moved(BlockPlace place) const;
  /// Of all that are alike, the one that is simulated.
  BlockPlace representative(BlockPlace place) const;
  /// The rank whose workers are simulated, on one channel or another.
  int representative(int rank) const;
  /// REQUIRES: the run uses the link.
  LinkId representative(const Cluster& cluster, LinkId id) const;
  /// Links that are alike, this one included.
  int copies_of(const Cluster& cluster, LinkId id) const {
    return sharp && cluster.is_trunk(id) ? leaves : copies;
  }
  /// Of the nodes, the first so many are simulated.
  int nodes_left() const { return period > 0 ? period : reverses ? nodes / 2 : nodes; }
  /// Of a node or its NICs that no step comes to.
  bool is_aside(const Cluster& cluster, LinkId id) const;
};

/// A move, or why there is none (or none of fewer nodes); "" = nothing stands against it.
struct FoundMove {
  Move move;
  std::string why_not;
};

}  // namespace fabricast
