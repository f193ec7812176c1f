#pragma once
// What each send and each receive has of the block that serves it.

#include <cstddef>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {

/// Warps that copy: for a send or a receive of a round that has both, for one of a round without
/// the other, and for a copy. A send's further warp only says that data are there.
struct P2pWarps {
  int shared = 1, lone_send = 1, lone_receive = 1, copy = 1;
};
P2pWarps p2p_warps(NcclVersion version, int rounds, int sends, int receives);

/// Whether a round has the other direction, too. REQUIRES: lanes are asked in the order of rounds.
class OtherDirection {
 public:
  explicit OtherDirection(const std::vector<ExchangeLane>& other) : other_(other) {}
  bool has(const ExchangeLane& lane) {
    while (at_ < other_.size() && other_[at_].tag < lane.tag) ++at_;
    return at_ < other_.size() && other_[at_].tag == lane.tag;
  }

 private:
  const std::vector<ExchangeLane>& other_;
  std::size_t at_ = 0;
};

/// What one of a block's `lanes` sends, or receives, has of the block at most. Of a message of one
/// chunk sending and receiving take turns, and each has all of it; of a long one both go on at
/// once, and each has `of_long`. In between: as long as both take on a block that is never idle.
double share_of_lane(const ExchangeLane& lane, std::size_t lanes, double of_long);

/// The same on a block that does nothing the other way. One stream over the network is no faster
/// for that (12 to 15 GB/s a channel, as NCCL reckons from 2.29 on), several together are.
double share_of_lone(const ExchangeLane& lane, std::size_t lanes, bool is_net, double of_long);

}  // namespace fabricast
