#pragma once
// Blocks, threads and links of an exchange, of which those that are alike may be simulated once.

#include <string>
#include <vector>

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
  std::uint32_t place(std::uint32_t number) const { return blocks_.place(number); }
  std::uint32_t number(std::uint32_t block) const { return blocks_.number(block); }
  /// Threads: one a rank, and after these one a block.
  std::uint32_t thread(std::uint32_t thread) const {
    return thread < all_ranks_ ? ranks_.number(thread)
                               : ranks_.count() + blocks_.number(thread - all_ranks_);
  }
  /// Of the threads' number.
  std::uint32_t thread_place(std::uint32_t number) const {
    return number < ranks_.count() ? ranks_.place(number)
                                   : all_ranks_ + blocks_.place(number - ranks_.count());
  }
  /// How many threads there are, of so many in all.
  std::uint32_t threads(std::uint32_t all) const {
    return ranks_.count() + (all > all_ranks_ ? blocks_.count() : 0);
  }
  std::uint32_t link(std::uint32_t link) const {
    return link_ids_.empty() ? link : link_ids_[link];
  }

 private:
  CopyOrder ranks_, blocks_;
  std::uint32_t all_ranks_ = 1;
  std::vector<std::uint32_t> link_ids_;
};

}  // namespace fabricast
