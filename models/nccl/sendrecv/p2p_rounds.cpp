#include "models/nccl/sendrecv/p2p_rounds.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace fabricast {
namespace {

constexpr int kBatch = 8;  ///< sends that a block serves at once

constexpr int divided_up(int a, int b) { return (a + b - 1) / b; }

/// 0, 1, 3, 6, ... modulo the next power of two: every number below n once.
std::vector<int> quadratic_order(int n) {
  const int all = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
  std::vector<int> out;
  for (int i = 0, value = 0; i < all; value = (value + ++i) % all) {
    if (value < n) out.push_back(value);
  }
  return out;
}

/// Up to 2.21 the places of a node fill 8 or divide it.
int padded(int gpus) {
  return gpus <= kBatch ? kBatch / (kBatch / gpus) : divided_up(gpus, kBatch) * kBatch;
}

int group_members(NcclVersion version, int nodes, int gpus, int group_size) {
  if (version < kGroupedRanks || nodes == 1) return gpus;
  return gpus % group_size == 0 ? group_size : std::gcd(gpus, group_size);
}

}  // namespace

P2pRounds::P2pRounds(NcclVersion version, int nodes, int gpus_per_node, int group_size)
    : version_(version),
      several_nodes_(nodes > 1),
      members_(group_members(version, nodes, gpus_per_node, group_size)) {
  groups_ = nodes * gpus_per_node / members_;
  places_ = version_ < kNccl2_22 ? padded(members_) : members_;
  if (version_ < kNccl2_22) {
    add_groups_in_pairs();
  } else {
    add_groups_quadratically(version_ < kGroupedRanks);
  }
  number_of_round_.resize(rounds_.size());
  for (int round = 0; round < count(); ++round) {
    const Round& at = rounds_[static_cast<std::size_t>(round)];
    number_of_round_[static_cast<std::size_t>(at.group * places_ + at.member)] = round;
  }
}

/// Near and far nodes in turns, forwards and backwards.
void P2pRounds::add_groups_in_pairs() {
  std::vector<bool> seen(static_cast<std::size_t>(groups_));
  for (int d = 0; d <= groups_ / 4; ++d) {
    const int far = groups_ / 2 - d;
    for (const int delta : {d, groups_ - d, far, groups_ - far}) {
      const int group = delta % groups_;
      if (seen[static_cast<std::size_t>(group)]) continue;
      seen[static_cast<std::size_t>(group)] = true;
      for (int member = 0; member < places_; ++member) rounds_.push_back({group, member});
    }
  }
}

void P2pRounds::add_groups_quadratically(bool members_too) {
  std::vector<int> members(static_cast<std::size_t>(members_));
  std::iota(members.begin(), members.end(), 0);
  if (members_too) members = quadratic_order(members_);
  for (const int group : quadratic_order(groups_)) {
    for (const int member : members) rounds_.push_back({group, member});
  }
}

int P2pRounds::send_peer(int rank, int round) const {
  const Round& at = rounds_[static_cast<std::size_t>(round)];
  const int member = (rank % members_ + at.member) % places_;
  return member < members_ ? (rank / members_ + at.group) % groups_ * members_ + member : kNoPeer;
}

int P2pRounds::receive_peer(int rank, int round) const {
  const Round& at = rounds_[static_cast<std::size_t>(round)];
  const int member = (rank % members_ + places_ - at.member) % places_;
  const int group = (rank / members_ + groups_ - at.group) % groups_;
  return member < members_ ? group * members_ + member : kNoPeer;
}

int P2pRounds::round_of(int from, int to) const {
  const int group = (to / members_ - from / members_ + groups_) % groups_;
  const int member = (to % members_ - from % members_ + places_) % places_;
  return number_of_round_[static_cast<std::size_t>(group * places_ + member)];
}

int P2pRounds::base(int round, int from, int to) const {
  if (version_ >= kNccl2_22) {
    if (!several_nodes_) return round;
    return round / members_ * divided_up(members_, kBatch) + round % members_ / kBatch;
  }
  const int local = (to % members_ - from % members_ + members_) % members_;
  if (!several_nodes_) return local;
  return rounds_[static_cast<std::size_t>(round)].group + local / kBatch;
}

}  // namespace fabricast
