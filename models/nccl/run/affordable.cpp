#include "models/nccl/run/affordable.hpp"

#include <cmath>

#include "models/nccl/call/message_cut.hpp"
#include "models/nccl/sendrecv/p2p_traffic.hpp"

namespace fabricast {
namespace {

/// On fewer no node has a parent and two children.
constexpr int kTreeLeast = 4;

class Line {
 public:
  using SizeOf = std::function<std::optional<CallSize>(const CallAt&)>;

  Line(CallAt whole, std::uint64_t most, const SizeOf& size_of)
      : whole_(whole), most_(most), size_of_(size_of), size_(size_of(whole)) {}

  std::vector<CallShare> shares() const {
    if (!size_) return {};
    for (const std::uint64_t most : {most_, kWholeTimes * most_}) {
      if (size_->simulated <= most) return {{whole_, 1}};
      std::vector<CallShare> out;
      if (size_->growth == Growth::depth) out = over_both(most);
      if (out.empty()) out = is_by_rank() ? over_nodes(most) : over_sizes(most, true);
      if (out.empty()) out = is_by_rank() ? over_sizes(most, true) : over_nodes(most);
      if (!out.empty()) return out;
    }
    return over_sizes(most_, false);
  }

 private:
  bool is_by_rank() const { return size_->growth == Growth::rank; }

  /// T = more + reach * (more - less)
  static std::vector<CallShare> through(const CallAt& more, const CallAt& less, double reach) {
    return {{more, 1 + reach}, {less, -reach}};
  }

  /// And NCCL takes the same for it; if `cut_alike`, cuts it so, too.
  bool is_affordable(const CallAt& at, std::uint64_t most, bool cut_alike) const {
    const std::optional<CallSize> size = size_of_(at);
    return size && size->simulated <= most && size->takes_as(*size_) &&
           (is_by_rank() || size->cut.parts == size_->cut.parts) &&
           (!cut_alike || size->cut == size_->cut);
  }

  /// T(all nodes, few bytes) + reach * (T(few nodes, more bytes) - T(few nodes, few bytes)). More
  /// bytes are all of them, or as many as NCCL takes the same for there; few nodes the fewest, as
  /// they cost least.
  std::vector<CallShare> over_both(std::uint64_t most) const {
    CallAt less = whole_;
    do {
      less.size.count /= 2;
      if (less.size.count < kLongCall.count) return {};
    } while (!is_affordable(less, most, false));
    for (std::int64_t bytes = whole_.size.count; bytes / 2 >= less.size.count; bytes /= 2) {
      for (int nodes = kTreeLeast; nodes < whole_.nodes; nodes *= 2) {
        const CallAt more{nodes, {bytes}}, few{nodes, less.size};
        if (!is_affordable(more, most, false) || !is_affordable(few, most, false)) continue;
        if (bytes < whole_.size.count && size_of_(more)->cut != size_of_(few)->cut) continue;
        const double reach = static_cast<double>(whole_.size.count - less.size.count) /
                             static_cast<double>(bytes - less.size.count);
        return {{less, 1}, {more, reach}, {few, -reach}};
      }
    }
    return {};
  }

  std::vector<CallShare> over_sizes(std::uint64_t most, bool cut_alike) const {
    for (std::int64_t half = whole_.size.count / 2; half / 2 >= kLongCall.count; half /= 2) {
      const CallAt more{whole_.nodes, {half}}, less{whole_.nodes, {half / 2}};
      if (!is_affordable(more, most, cut_alike)) continue;
      if (!is_affordable(less, most, cut_alike)) continue;
      return through(
          more, less,
          static_cast<double>(whole_.size.count - half) / static_cast<double>(half - half / 2));
    }
    return {};
  }

  /// Not down to one node, where no bytes cross the fabric.
  std::vector<CallShare> over_nodes(std::uint64_t most) const {
    const int least = size_->growth == Growth::depth ? kTreeLeast : 2;
    for (int half = whole_.nodes / 2; half / 2 >= least; half /= 2) {
      const CallAt more = on(half), less = on(half / 2);
      if (!is_affordable(more, most, false) || !is_affordable(less, most, false)) continue;
      const auto all = static_cast<double>(whole_.nodes), some = static_cast<double>(half),
                 few = static_cast<double>(half / 2);
      return through(more, less,
                     size_->growth == Growth::depth ? std::log2(all / some) / std::log2(some / few)
                                                    : (all - some) / (some - few));
    }
    return {};
  }

  CallAt on(int nodes) const {
    if (!is_by_rank()) return {nodes, whole_.size};
    return {nodes, {std::max(whole_.size.count * nodes / whole_.nodes, std::int64_t{1})}};
  }

  CallAt whole_;
  std::uint64_t most_;
  const SizeOf& size_of_;
  std::optional<CallSize> size_;
};

Growth growth_of(const CollectiveRun& run) {
  if (!run.has_algorithm())
    return run.collective == Collective::sendrecv ? Growth::node : Growth::rank;
  if (run.algorithm == Algorithm::ring)
    return has_root(run.collective) ? Growth::node : Growth::rank;
  return run.algorithm == Algorithm::collnet_chain ? Growth::node : Growth::depth;
}

CallCut cut_of_messages(const CollectiveRun& run) {
  const P2pRules& rules = run.p2p.rules;
  const P2pCut cut = message_cut(run, rules.several_nodes);
  const P2pTraffic traffic(run.collective, rules.ranks, {run.count * run.element_bytes}, run.root);
  return {cut.part.chunk.count / run.element_bytes, cut.split.parts,
          traffic.is_aligned(run.root, kP2pPack)};
}

CallCut cut_of(const CollectiveRun& run) {
  if (run.custom != nullptr || run.traffic != nullptr) return {};
  if (!run.has_algorithm()) return cut_of_messages(run);
  const std::vector<ChannelPart> parts = partition_of(run, run.members).parts;
  CallCut out;
  if (!parts.empty()) out.chunk = parts.front().chunk_elements;
  return out;
}

}  // namespace

CallSize size_of_call(const CollectiveRun& run, std::uint64_t simulated) {
  return {simulated, run.algorithm, run.protocol, run.channels, cut_of(run), growth_of(run)};
}

std::vector<CallShare> affordable(
    CallAt whole, std::uint64_t most,
    const std::function<std::optional<CallSize>(const CallAt&)>& size_of) {
  return Line(whole, most, size_of).shares();
}

}  // namespace fabricast
