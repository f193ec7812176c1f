#pragma once
// One kernel on all GPUs that NVLink joins, as stages: who moves what to whom, and what it means.
// No time and no links here. Engines and NCCL's symmetric kernels are made of the same stages.

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

enum class MoveKind : std::uint8_t {
  flag,       ///< a word that a peer polls; nothing is summed by it
  request,    ///< of a load, on its way to the memory of the peer
  load,       ///< its answer: no more than a window is under way
  store,      ///< into a peer's memory
  ll,         ///< a store with a flag in every word (NCCL's LL): no more than a window is under way
  in_switch,  ///< summed and multicast by the NVSwitches: both ways are busy
  one_way,    ///< summed or multicast by them
  copy        ///< by a copy engine
};
inline constexpr int kMoveKinds = 8;

/// What the bytes of a move are to who gets them.
enum class Payload : std::uint8_t { none, input, sum };

/// A message has as many equal parts as there are GPUs, up to 16 B: the first are larger.
struct KernelMove {
  int from = 0, to = 0;
  MoveKind kind{};
  Bytes bytes;        ///< that cross the links of `from` and `to`
  Payload payload{};  ///< of these parts: the input of `from`, or the sum of all inputs
  int first_part = 0, parts = 0;
};

struct KernelStage {
  std::vector<KernelMove> moves;  ///< side by side; the next stage of a GPU waits for its own ones
  Bytes local;                    ///< of its own memory that each GPU goes over, after nothing else
  std::int64_t turns = 0;         ///< in so many turns, each after a load of the one before
};

/// Of part `part`.
Bytes part_bytes(Bytes size, int gpus, int part);

/// Builds stages, one after another. `size` is that of the larger buffer, so of all parts together.
/// REQUIRES: 2 GPUs or more, size > 0.
class StageBuilder {
 public:
  StageBuilder(int gpus, Bytes size) : gpus_(gpus), size_(size) {}

  Bytes size() const { return size_; }
  int gpus() const { return gpus_; }

  /// Each tells each peer, and waits for all of them.
  void barrier();
  /// Of its own memory, in turns that wait for each other, or as fast as it goes.
  void go_over(Bytes bytes, std::int64_t turns = 0);
  /// The whole input of each peer.
  void load_inputs();
  void store_inputs(MoveKind kind = MoveKind::store);
  /// Its own part of each peer's input: what it sums.
  void load_shares();
  /// The part of each peer to that peer: also an all-to-all.
  void store_shares(MoveKind kind = MoveKind::store);
  /// Its own part, or the sum of it, to all peers.
  void store_parts(Payload payload, MoveKind kind = MoveKind::store);
  /// Of each peer its part, summed, one peer after another.
  void load_sums_in_turn();
  /// The part of each rank to one of them, or from it.
  void to_root(int root, MoveKind kind);
  void from_root(int root, MoveKind kind);
  /// The switches read a part of all inputs and answer with the sum: on the link of a GPU the whole
  /// message goes out and its part comes in.
  void sum_in_switch();
  /// Each stores its part once, and the switches hand it to all, over whose links all parts come.
  void multicast_parts(MoveKind kind = MoveKind::one_way);
  /// The same of the whole input of each.
  void multicast_inputs(MoveKind kind = MoveKind::one_way);
  /// Both at the same time: the message and a part of it each way.
  void sum_and_multicast();

  std::vector<KernelStage> take() { return std::move(stages_); }

 private:
  enum class Parts : std::uint8_t { senders, receivers, all };
  void in_switches(MoveKind kind, Bytes bytes, Payload payload, Parts parts);
  void load(std::vector<KernelMove> moves);
  std::vector<KernelMove> shares(MoveKind kind) const;
  /// Nothing of a part without bytes.
  void add_part(std::vector<KernelMove>& moves, int from, int to, int part, MoveKind kind,
                Payload payload) const;

  int gpus_;
  Bytes size_;
  std::vector<KernelStage> stages_;
};

}  // namespace fabricast
