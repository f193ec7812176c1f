#pragma once
// In which order the ranks of a group of sends and receives meet: all walk the same list of rounds;
// in a round each has one peer to send to and one to receive from. The order changed twice: 2.22
// and 2.28.7 (src/init.cc, p2pSchedule).

#include <vector>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// Peers of a rank that meets nobody in a round.
inline constexpr int kNoPeer = -1;
/// First with groups of ranks instead of nodes.
inline constexpr NcclVersion kGroupedRanks{28, 7};

class P2pRounds {
 public:
  /// `group_size`: NCCL_P2P_SCHEDULE_GROUP_SIZE, of several nodes since 2.28.7.
  P2pRounds(NcclVersion version, int nodes, int gpus_per_node, int group_size = 8);

  int count() const { return static_cast<int>(rounds_.size()); }
  /// Nobody: kNoPeer. If a rank sends to another in a round, that one receives from it in the same.
  int send_peer(int rank, int round) const;
  int receive_peer(int rank, int round) const;
  /// In which a rank sends to another: one of these rounds.
  int round_of(int from, int to) const;

  /// From which number the channels of a message follow (p2p_channel()); both ends say the same.
  int base(int round, int from, int to) const;

 private:
  struct Round {
    int group, member;  ///< how many groups and places on the receiver sits
  };

  void add_groups_in_pairs();
  void add_groups_quadratically(bool members_too);

  NcclVersion version_;
  bool several_nodes_;
  int groups_, members_;  ///< of ranks: nodes, or smaller ones since 2.28.7
  int places_;            ///< of a group: members, or more
  std::vector<Round> rounds_;
  std::vector<int> number_of_round_;  ///< at [group * places + member]
};

}  // namespace fabricast
