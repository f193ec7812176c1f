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

  std::uint32_t blocks() const { return blocks_.count(); }
  /// Of the blocks' number, and of any block.
  std::uint32_t place(std::uint32_t number) const {
    return rails_.place(blocks_.place(number), channels_);
  }
  std::uint32_t number(std::uint32_t block) const {
    return blocks_.number(rails_.number(block, channels_));
  }
  /// Threads: one a rank, and after these one a block.
  std::uint32_t thread(std::uint32_t thread) const {
    return thread < all_ranks_ ? ranks_.number(rails_.number(thread, 1))
                               : ranks_.count() + number(thread - all_ranks_);
  }
  /// Of the threads' number.
  std::uint32_t thread_place(std::uint32_t number) const {
    return number < ranks_.count() ? rails_.place(ranks_.place(number), 1)
                                   : all_ranks_ + place(number - ranks_.count());
  }
  /// How many threads there are, of so many in all.
  std::uint32_t threads(std::uint32_t all) const {
    return ranks_.count() + (all > all_ranks_ ? blocks_.count() : 0);
  }
  std::uint32_t link(std::uint32_t link) const {
    return link_ids_.empty() ? link : link_ids_[link];
  }

 private:
  /// Of each node's ranks the first `left` are simulated, each for those so many places on.
  struct Rails {
    std::uint32_t gpus = 1, left = 1;

    /// Of a rank, or of what each rank has `of_each` of.
    std::uint32_t number(std::uint32_t place, std::uint32_t of_each) const {
      const std::uint32_t rank = place / of_each;
      return (rank / gpus * left + rank % gpus % left) * of_each + place % of_each;
    }
    std::uint32_t place(std::uint32_t number, std::uint32_t of_each) const {
      const std::uint32_t rank = number / of_each;
      return (rank / left * gpus + rank % left) * of_each + number % of_each;
    }
  };

  CopyOrder ranks_, blocks_;
  Rails rails_;
  std::uint32_t all_ranks_ = 1, channels_ = 1;
  std::vector<std::uint32_t> link_ids_;
};

}  // namespace fabricast
