#pragma once
// Blocks, threads and links of an exchange, of which those that are alike may be simulated once.

#include <string>
#include <vector>

#include "models/nccl/base/members.hpp"
#include "models/nccl/symmetry/copy_order.hpp"
#include "models/nccl/symmetry/simulated_links.hpp"

namespace fabricast {

class ExchangePlaces {
 public:
  /// No symmetry: nothing is alike. `links`: of the machine, where only the first ones are
  /// simulated.
  ExchangePlaces(const Cluster& cluster, const Symmetry* symmetry, SimulatedLinks* links,
                 const Members& members, int channels);

  std::uint32_t blocks() const { return ranks_.count() * channels_; }
  /// Of the blocks' number, and of any block.
  std::uint32_t place(std::uint32_t number) const {
    const std::uint32_t ranks = ranks_.count();
    return rank_place(number % ranks) * channels_ + number / ranks;
  }
  std::uint32_t number(std::uint32_t block) const {
    return block % channels_ * ranks_.count() + rank_number(block / channels_);
  }
  /// Threads: one a rank, and after these one a block.
  std::uint32_t thread(std::uint32_t thread) const {
    return thread < all_ranks_ ? rank_number(thread) : ranks_.count() + number(thread - all_ranks_);
  }
  /// Of the threads' number.
  std::uint32_t thread_place(std::uint32_t number) const {
    return number < ranks_.count() ? rank_place(number)
                                   : all_ranks_ + place(number - ranks_.count());
  }
  /// How many threads there are, of so many in all.
  std::uint32_t threads(std::uint32_t all) const {
    return ranks_.count() + (all > all_ranks_ ? blocks() : 0);
  }
  std::uint32_t link(std::uint32_t link) const {
    return link_ids_.empty() ? link : link_ids_[link];
  }

 private:
  std::uint32_t rank_number(std::uint32_t rank) const {
    return ranks_.number(rank / gpus_ * left_ + rank % gpus_ % left_);
  }
  std::uint32_t rank_place(std::uint32_t number) const {
    const std::uint32_t place = ranks_.place(number);
    return place / left_ * gpus_ + place % left_;
  }

  CopyOrder ranks_;
  std::uint32_t gpus_ = 1, left_ = 1;  ///< of each node, and of these the first are simulated
  std::uint32_t all_ranks_ = 1, channels_ = 1;
  std::vector<std::uint32_t> link_ids_;
};

}  // namespace fabricast
