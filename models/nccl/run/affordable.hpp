#pragma once
// What is simulated of a call that is too large to simulate: the one rule of all commands. Such a
// call is extrapolated from two or three calls like it that are not too large.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/call/collective_run.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// A call of a study, told by what is varied to find a smaller one.
struct CallAt {
  int nodes = 1;
  Bytes size;

  bool operator==(const CallAt&) const = default;
};

/// What the time of calls on more and more nodes grows by the same with.
enum class Growth {
  node,   ///< each node, of as many bytes in all: what goes along a chain, or to the next rank only
  depth,  ///< each doubling of the nodes, as the depth of a tree does: trees of any kind, PAT
  rank,   ///< each node, of as many bytes of each rank: rings of them, a message for everybody
};

/// Into what a call is cut.
struct CallCut {
  std::int64_t chunk = 0;  ///< elements at a time, of a channel's first part
  int parts = 1;           ///< of each message of sends and receives, for as many channels
  bool in_packs = true;    ///< sends and receives begin where whole packs do (kP2pPack)

  bool operator==(const CallCut&) const = default;
};

struct CallSize {
  std::uint64_t simulated = 0;  ///< slices (JobSize)
  // What does not change along a line over sizes.
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;
  CallCut cut;
  Growth growth = Growth::node;

  /// NCCL takes the same for both, the cut apart.
  bool takes_as(const CallSize& other) const {
    return algorithm == other.algorithm && protocol == other.protocol && channels == other.channels;
  }
};
/// Of the call, which takes so many.
CallSize size_of_call(const CollectiveRun& run, std::uint64_t simulated);

/// The time of the call is the sum of the times of these, each times its weight.
struct CallShare {
  CallAt at;
  double weight = 1;
};

/// Their sum, but no less than any of them: a call takes no less than a smaller one, where the line
/// is through times that do not grow evenly.
class SharesTime {
 public:
  void add(double weight, double time) {
    sum_ += weight * time;
    least_ = std::max(least_, time);
  }
  double whole() const { return std::max(sum_, least_); }

 private:
  double sum_ = 0, least_ = 0;
};

/// The call itself, if no more than `most` slices of it are simulated. Else smaller ones, of half
/// of its size or nodes or less, for which NCCL takes the same algorithm, protocol and channels:
/// - over nodes, if each rank has bytes of its own for the others (fewer would go in other chunks;
///   into how many parts each is cut matters little, as all together take all channels);
/// - over both, if it grows with depth: fewer bytes, kLongCall and more, on all nodes, and what
///   more bytes take on fewer nodes;
/// - else over sizes, of kLongCall and more, cut alike: further bytes of a long call cost the same;
/// - else over nodes, with messages in as many parts.
/// Where there are none, the same with kWholeTimes as many slices, the call itself first. Last,
/// over sizes that are cut otherwise. None: nor is there that, or `size_of` says that there is no
/// such call.
std::vector<CallShare> affordable(
    CallAt whole, std::uint64_t most,
    const std::function<std::optional<CallSize>(const CallAt&)>& size_of);
inline constexpr Bytes kLongCall{16 << 20};
inline constexpr std::uint64_t kWholeTimes = 16;

}  // namespace fabricast
