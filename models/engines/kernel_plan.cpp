#include "models/engines/kernel_plan.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace fabricast {
namespace {

constexpr Bytes kFlag{4}, kRequest{32};
constexpr std::int64_t kVector = 16;  // bytes that a thread moves at once

class Planner {
 public:
  Planner(int gpus, Bytes size) : gpus_(gpus), size_(size) {}

  std::vector<KernelStage> plan(EngineKernel kernel) {
    switch (kernel) {
      case EngineKernel::nccl:
        break;
      case EngineKernel::one_shot:
      case EngineKernel::pull:
        barrier();
        load_inputs();
        barrier();
        break;
      case EngineKernel::two_shot:
        barrier();
        load_shares();
        barrier();
        load_sums_in_turn();
        break;
      case EngineKernel::push:
      case EngineKernel::lamport:
        store_inputs();
        go_over(size_ * gpus_);  // polls what has come, and clears it for the next call but one
        break;
      case EngineKernel::fused:
        barrier();
        load_shares();
        store_sums();
        barrier();
        break;
      case EngineKernel::scatter:
        store_shares();
        barrier();
        load_sums_in_turn();
        barrier();
        break;
      case EngineKernel::multimem:
        go_over(size_ * 2);  // into the symmetric buffer: a read and a write
        barrier();
        sum_in_switch();
        barrier();
        go_over(size_ * 2);
        break;
      case EngineKernel::symmetric:
        go_over(size_ * 2);
        barrier();
        load_shares();
        store_sums();
        barrier();
        go_over(size_ * 2);
        break;
    }
    return std::move(stages_);
  }

 private:
  template <class Visit>
  void each_pair(Visit visit) const {
    for (int from = 0; from < gpus_; ++from)
      for (int i = 1; i < gpus_; ++i) visit(from, (from + i) % gpus_);
  }

  void barrier() {
    KernelStage& stage = stages_.emplace_back();
    each_pair([&](int from, int to) {
      stage.moves.push_back({from, to, MoveKind::flag, kFlag, Payload::none, 0, 0});
    });
  }

  void go_over(Bytes bytes) { stages_.emplace_back().local = bytes; }

  /// Loads of `moves`: their requests first, which go the other way.
  void load(std::vector<KernelMove> moves) {
    KernelStage& requests = stages_.emplace_back();
    for (const KernelMove& move : moves)
      requests.moves.push_back(
          {move.to, move.from, MoveKind::request, kRequest, Payload::none, 0, 0});
    stages_.emplace_back().moves = std::move(moves);
  }

  void load_inputs() {
    std::vector<KernelMove> moves;
    each_pair([&](int from, int to) {
      moves.push_back({from, to, MoveKind::load, size_, Payload::input, 0, gpus_});
    });
    load(std::move(moves));
  }

  std::vector<KernelMove> shares(MoveKind kind) const {
    std::vector<KernelMove> moves;
    each_pair([&](int from, int to) {
      const Bytes bytes = part_bytes(size_, gpus_, to);
      if (bytes.count > 0) moves.push_back({from, to, kind, bytes, Payload::input, to, 1});
    });
    return moves;
  }
  void load_shares() { load(shares(MoveKind::load)); }
  void store_shares() { stages_.emplace_back().moves = shares(MoveKind::store); }

  void store_inputs() {
    KernelStage& stage = stages_.emplace_back();
    each_pair([&](int from, int to) {
      stage.moves.push_back({from, to, MoveKind::store, size_, Payload::input, 0, gpus_});
    });
  }

  void store_sums() {
    KernelStage& stage = stages_.emplace_back();
    each_pair([&](int from, int to) {
      const Bytes bytes = part_bytes(size_, gpus_, from);
      if (bytes.count > 0)
        stage.moves.push_back({from, to, MoveKind::store, bytes, Payload::sum, from, 1});
    });
  }

  /// What a thread stores may be what it loads next, for all the compiler knows: so it loads from
  /// one peer after another (vLLM, csrc/custom_all_reduce.cuh, cross_device_reduce_2stage).
  void load_sums_in_turn() {
    for (int i = 1; i < gpus_; ++i) {
      std::vector<KernelMove> moves;
      for (int to = 0; to < gpus_; ++to) {
        const int from = (to + i) % gpus_;
        const Bytes bytes = part_bytes(size_, gpus_, from);
        if (bytes.count > 0)
          moves.push_back({from, to, MoveKind::load, bytes, Payload::sum, from, 1});
      }
      load(std::move(moves));
    }
  }

  /// Each GPU sums its part by loads that the switch answers, and stores the sum to all at once.
  /// On the link of a GPU that is its whole message out and its part in for the sum, and its part
  /// out and the whole message in for the multicast: both ways at the same time, spread evenly.
  void sum_in_switch() {
    KernelStage& stage = stages_.emplace_back();
    const Bytes share{(size_.count + size_.count / gpus_) / (gpus_ - 1)};
    each_pair([&](int from, int to) {
      stage.moves.push_back({from, to, MoveKind::in_switch, share, Payload::input, to, 1});
    });
    KernelStage sums;
    each_pair([&](int from, int to) {
      sums.moves.push_back({from, to, MoveKind::in_switch, Bytes{0}, Payload::sum, from, 1});
    });
    stages_.push_back(std::move(sums));
  }

  int gpus_;
  Bytes size_;
  std::vector<KernelStage> stages_;
};

}  // namespace

Bytes part_bytes(Bytes size, int gpus, int part) {
  const std::int64_t vectors = (size.count + kVector - 1) / kVector;
  const auto before = [&](std::int64_t i) {
    return std::min(size.count, (vectors * i + gpus - 1) / gpus * kVector);
  };
  return {before(part + 1) - before(part)};
}

std::vector<KernelStage> plan_kernel(EngineKernel kernel, int gpus, Bytes size) {
  assert(kernel != EngineKernel::nccl && gpus >= 2 && gpus <= 8 && size.count > 0);
  return Planner(gpus, size).plan(kernel);
}

}  // namespace fabricast
