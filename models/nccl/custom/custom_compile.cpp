#include "models/nccl/custom/custom_compile.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace fabricast {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A chunk of a rank, as a number: in place, input and output are one.
struct Cell {
  int rank = 0, buffer = 0, chunk = 0;
  auto operator<=>(const Cell&) const = default;
};

/// From rank to rank on a channel.
using Way = std::tuple<int, int, int>;

class Compiler {
 public:
  Compiler(const std::vector<ChunkTransfer>& transfers, CustomAlgorithm& algorithm)
      : transfers_(transfers),
        algorithm_(algorithm),
        next_(transfers.size(), kNone),
        used_(transfers.size(), transfers.size()),
        received_(transfers.size()) {}

  void run() {
    find_uses();
    fuse();
    add_steps();
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t b) { return drafts_[b].rank; });
    std::vector<std::uint32_t> place(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) place[order_[i]] = i;
    std::map<int, int> ids;
    for (const std::uint32_t b : order_) {
      CustomBlock& block = algorithm_.blocks.emplace_back(std::move(drafts_[b]));
      block.id = ids[block.rank]++;
      for (CustomStep& step : block.steps)
        for (CustomStep::Wait& wait : step.waits) wait.block = place[wait.block];
    }
  }

 private:
  Cell cell(int rank, ChunkPlace place, int by) const {
    int chunk = place.chunk + by, buffer = static_cast<int>(place.buffer);
    if (algorithm_.in_place && place.buffer != ChunkBuffer::scratch) {
      const int inputs = algorithm_.inputs(), outputs = algorithm_.outputs();
      if (place.buffer == ChunkBuffer::input && inputs < outputs) chunk += rank * inputs;
      if (place.buffer == ChunkBuffer::output && outputs < inputs) chunk += rank * outputs;
      buffer = 0;
    }
    return {rank, buffer, chunk};
  }

  bool is_local(std::size_t t) const { return transfers_[t].from == transfers_[t].to; }
  Way way(std::size_t t) const {
    return {transfers_[t].from, transfers_[t].to, transfers_[t].channel};
  }

  /// Which transfer uses first what a transfer has brought, if it is one that takes on all of it.
  void find_uses() {
    struct Use {
      std::size_t transfer;
      bool as_source;
    };
    std::map<Cell, std::vector<Use>> uses;
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      const ChunkTransfer& one = transfers_[t];
      for (int i = 0; i < one.count; ++i) {
        uses[cell(one.from, one.source, i)].push_back({t, true});
        uses[cell(one.to, one.target, i)].push_back({t, false});
      }
    }
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      const ChunkTransfer& one = transfers_[t];
      std::optional<std::size_t> first;
      bool whole = true, ends = true;
      for (int i = 0; i < one.count; ++i) {
        const Cell at = cell(one.to, one.target, i);
        const std::vector<Use>& all = uses[at];
        auto use = std::ranges::find_if(all, [&](const Use& u) { return u.transfer > t; });
        if (use != all.end()) used_[t] = std::min(used_[t], use->transfer);
        if (use == all.end() || !use->as_source || (first && *first != use->transfer)) {
          whole = false;
          continue;
        }
        first = use->transfer;
        // What is written over before anybody reads it again, or is nobody's result, need not be
        // kept.
        for (++use; use != all.end() && use->transfer == *first;) ++use;
        const bool is_over = use == all.end()
                                 ? one.target.buffer == ChunkBuffer::scratch
                                 : !use->as_source && !transfers_[use->transfer].reduce;
        ends = ends && is_over;
      }
      if (!whole || is_local(t) || is_local(*first)) continue;
      const ChunkTransfer& onward = transfers_[*first];
      const bool same = onward.count == one.count && onward.channel == one.channel &&
                        cell(onward.from, onward.source, 0) == cell(one.to, one.target, 0);
      if (!same) continue;
      next_[t] = *first;
      if (ends) forgotten_.insert(t);
    }
  }

  /// Takes back what does not fit: a block has one rank on either side, and what it receives from
  /// one rank it receives in the order in which that rank sends.
  void fuse() {
    std::map<Way, Way> onward, back;
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      if (next_[t] == kNone) continue;
      const auto [to, is_new] = onward.try_emplace(way(t), way(next_[t]));
      const auto [from, is_first] = back.try_emplace(way(next_[t]), way(t));
      if (to->second != way(next_[t]) || from->second != way(t)) next_[t] = kNone;
    }
    std::map<Way, std::size_t> last;  // the latest that what comes next on the way is received
    for (std::size_t t = transfers_.size(); t-- > 0;) {
      if (is_local(t)) continue;
      std::size_t& latest = last.try_emplace(way(t), transfers_.size()).first->second;
      if (next_[t] != kNone && next_[t] > latest) next_[t] = kNone;
      latest = next_[t] == kNone ? std::min(latest, used_[t] - 1) : next_[t];
    }
    std::map<Way, std::size_t> before;
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      if (is_local(t)) continue;
      std::size_t& at = before[way(t)];
      at = next_[t] == kNone ? std::max(t, at) : next_[t];
      if (next_[t] == kNone) received_[at].push_back(t);
    }
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      if (next_[t] == kNone) continue;
      before_[next_[t]] = t;
      joined_[way(t)] = way(next_[t]);
    }
  }

  /// The block of a rank that receives on a way, or sends on one.
  std::uint32_t block_of(int rank, std::optional<Way> in, std::optional<Way> out) {
    if (in && !out && joined_.contains(*in)) out = joined_[*in];
    if (out && !in) {
      for (const auto& [from, to] : joined_)
        if (to == *out) in = from;
    }
    const auto key = std::tuple(rank, in, out);
    const auto [at, is_new] = known_.try_emplace(key, static_cast<std::uint32_t>(drafts_.size()));
    if (is_new) {
      CustomBlock& block = drafts_.emplace_back();
      order_.push_back(at->second);
      block.rank = rank;
      if (in) block.recv = std::get<0>(*in);
      if (out) block.send = std::get<1>(*out);
      block.channel = in ? std::get<2>(*in) : out ? std::get<2>(*out) : 0;
    }
    return at->second;
  }

  /// At the place of a transfer in the list: its send, with what was received for it, and what is
  /// received there to stay.
  void add_steps() {
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      const ChunkTransfer& one = transfers_[t];
      CustomStep step;
      step.count = one.count;
      step.line = one.line;
      step.source = one.source;
      step.target = one.target;
      if (is_local(t)) {
        step.kind = one.reduce ? CustomKind::reduce : CustomKind::copy;
        add(block_of(one.from, {}, {}), step);
        continue;
      }
      const auto received = before_.find(t);
      if (received == before_.end()) {
        step.kind = CustomKind::send;
        add(block_of(one.from, {}, way(t)), step);
      } else {
        const ChunkTransfer& brought = transfers_[received->second];
        step.source = step.target = brought.target;
        step.kind = !brought.reduce                         ? CustomKind::recv_copy_send
                    : forgotten_.contains(received->second) ? CustomKind::recv_reduce_send
                                                            : CustomKind::recv_reduce_copy_send;
        add(block_of(one.from, way(received->second), way(t)), step);
      }
      for (const std::size_t due : received_[t]) {
        const ChunkTransfer& brought = transfers_[due];
        step.kind = brought.reduce ? CustomKind::recv_reduce_copy : CustomKind::recv;
        step.source = step.target = brought.target;
        step.count = brought.count;
        step.line = brought.line;
        add(block_of(brought.to, way(due), {}), step);
      }
    }
  }

  /// With what it has to wait for.
  void add(std::uint32_t b, CustomStep step) {
    CustomBlock& block = drafts_[b];
    const auto at = static_cast<std::uint32_t>(block.steps.size());
    std::map<std::uint32_t, std::uint32_t> waits;
    const auto wait_for = [&](std::pair<std::uint32_t, std::uint32_t> other) {
      if (other.first == b) return;
      std::uint32_t& last = waits[other.first];
      last = std::max(last, other.second);
    };
    for (int i = 0; i < step.count; ++i) {
      if (reads_source(step.kind)) {
        Touched& touched = touched_[cell(block.rank, step.source, i)];
        if (touched.written) wait_for(*touched.written);
        touched.read[b] = at;
      }
      if (writes_target(step.kind)) {
        Touched& touched = touched_[cell(block.rank, step.target, i)];
        if (touched.written) wait_for(*touched.written);
        for (const auto& reader : touched.read) wait_for(reader);
        touched = {std::pair(b, at), {}};
      }
    }
    for (const auto& [other, last] : waits) {
      auto& so_far = waited_[{b, other}];
      if (so_far > last) continue;  // one more than the step waited for
      so_far = last + 1;
      step.waits.push_back({other, last});
    }
    block.steps.push_back(std::move(step));
  }

  struct Touched {
    std::optional<std::pair<std::uint32_t, std::uint32_t>> written;  ///< block, step
    std::map<std::uint32_t, std::uint32_t> read;
  };

  const std::vector<ChunkTransfer>& transfers_;
  CustomAlgorithm& algorithm_;
  std::vector<std::size_t> next_;  ///< by transfer: the one that passes it on at once
  std::vector<std::size_t> used_;  ///< by transfer: the first other that uses its target
  std::vector<std::vector<std::size_t>> received_;  ///< by transfer, in its place: what else
  std::map<std::size_t, std::size_t> before_;       ///< the other way round
  std::set<std::size_t> forgotten_;                 ///< passed on, and not kept
  std::map<Way, Way> joined_;  ///< ways that have one block at the rank between
  std::map<std::tuple<int, std::optional<Way>, std::optional<Way>>, std::uint32_t> known_;
  std::vector<CustomBlock> drafts_;
  std::vector<std::uint32_t> order_;
  std::map<Cell, Touched> touched_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> waited_;
};

}  // namespace

void compile(const std::vector<ChunkTransfer>& transfers, CustomAlgorithm& algorithm) {
  Compiler(transfers, algorithm).run();
}

}  // namespace fabricast
