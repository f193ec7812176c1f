#pragma once
// Who sends how much to whom in one group of sends and receives.

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// Bytes that a thread of Simple loads or stores at once where every address is a multiple of them.
/// Where one is not, it takes element by element, which of sends and receives are single bytes
/// (src/device/common_kernel.h, reduceCopy(); sends and receives are built for int8_t alone).
inline constexpr int kP2pPack = 16;

class P2pTraffic {
 public:
  static constexpr std::int64_t kNone = -1;

  /// As nccl-tests calls them: `each` bytes from everybody to everybody (alltoall), to the next
  /// rank (sendrecv), to the root (gather), or from the root to everybody (scatter); what a rank
  /// keeps for itself is a copy. REQUIRES: no tuned collective, root < ranks.
  P2pTraffic(Collective collective, int ranks, Bytes each, int root = 0)
      : collective_(collective), ranks_(ranks), each_(each.count), root_(root) {
    assert(!is_tuned(collective) && root >= 0 && root < ranks);
  }
  /// All-to-all-v: bytes from rank a to rank b at [a * ranks + b]; kNone = no message. An empty
  /// message still synchronises the two.
  P2pTraffic(int ranks, std::vector<std::int64_t> matrix)
      : collective_(Collective::alltoall), ranks_(ranks), matrix_(std::move(matrix)) {
    assert(matrix_.size() == static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  }

  int ranks() const { return ranks_; }

  /// Of each message, unless they come from a matrix.
  Bytes usual() const { return {each_}; }

  /// Whether each rank sends as many to each.
  bool is_uniform() const { return matrix_.empty() && collective_ == Collective::alltoall; }

  /// Bytes of the message from one rank to another, or kNone.
  std::int64_t bytes(int from, int to) const {
    if (!matrix_.empty()) {
      return matrix_[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
                     static_cast<std::size_t>(to)];
    }
    return is_pair(from, to) ? each_ : kNone;
  }

  /// Whether a rank's messages begin at multiples of so many bytes. Equal ones stand one after the
  /// other in a buffer that does; of a matrix nothing is known, and this is taken to be so.
  bool is_aligned(int rank, std::int64_t multiple) const {
    const bool is_rooted = collective_ == Collective::gather || collective_ == Collective::scatter;
    const bool has_one =
        collective_ == Collective::sendrecv || ranks_ == 1 || (is_rooted && rank != root_);
    return has_one || !matrix_.empty() || each_ % multiple == 0;
  }

 private:
  bool is_pair(int from, int to) const {
    switch (collective_) {
      case Collective::sendrecv:
        return to == (from + 1) % ranks_;
      case Collective::gather:
        return to == root_;
      case Collective::scatter:
        return from == root_;
      default:
        return true;
    }
  }

  Collective collective_;
  int ranks_;
  std::int64_t each_ = 0;
  int root_ = 0;
  std::vector<std::int64_t> matrix_;
};

}  // namespace fabricast
