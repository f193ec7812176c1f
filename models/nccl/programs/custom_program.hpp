#pragma once
// A custom algorithm as a program of the executor. Role: lane = channel, position = index of the
// block. A block's input 0 is its connection from the rank it receives from, if any; then come
// signals of other blocks of its rank. Outputs alike.
//
// Facts: microsoft/msccl, src/collectives/device/msccl_interpreter.h (loops, counts) and src/misc/
// msccl (how many chunks a message takes).

#include <cstdint>
#include <vector>

#include "models/nccl/call/collective_run.hpp"
#include "sim/links/program.hpp"

namespace fabricast {

class CustomProgram final : public LoopProgram {
 public:
  /// A block tells another of its rank that it has come so far.
  struct Signal {
    std::uint32_t from = 0, to = 0;
    std::vector<std::uint32_t> steps;  ///< of `from`, ascending
  };

  /// Throws Error where a block speaks with more others than a worker can (31).
  CustomProgram(const CollectiveRun& run, const Partition& partition);

  /// In the order in which they are to be connected, after what sends and receives.
  const std::vector<Signal>& signals() const { return signals_; }
  /// Slices that a block sends to its peer.
  std::uint64_t slices_sent(std::uint32_t block) const;
  /// All that it handles, one for each signal.
  std::uint64_t slices(std::uint32_t block) const;

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;
  PrimitiveLabel label(Role role, Cursor cursor) const override;

 private:
  std::uint32_t steps(Role role) const override {
    return static_cast<std::uint32_t>(ops_[role.position].size());
  }
  std::uint32_t loops(Role) const override { return loops_; }

  struct Op {
    std::uint32_t in = 0, out = 0;
    std::uint32_t chunks = 0;  ///< 0: waits or signals
    std::uint32_t step = 0;
    CustomKind kind{};
  };

  void find_signals(const CustomAlgorithm& algorithm);
  void add_ops(const CustomAlgorithm& algorithm, std::uint32_t block, std::uint32_t most_chunks);

  int element_bytes_;
  Protocol protocol_;
  Bytes step_;
  StepShape shape_;
  std::int64_t chunk_ = 0, last_chunk_ = 0;  ///< elements of a chunk that a loop covers
  std::uint32_t loops_ = 0;
  std::vector<Signal> signals_;
  std::vector<std::vector<Op>> ops_;  ///< by block
};

}  // namespace fabricast
