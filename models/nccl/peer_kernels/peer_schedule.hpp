#pragma once
// Stages of a kernel as batches of an exchange: a block is a GPU, a stage a batch.

#include <vector>

#include "models/nccl/peer_kernels/peer_run.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {

class PeerSchedule final : public ExchangeSchedule {
 public:
  /// REQUIRES: as simulate_stages().
  PeerSchedule(const Cluster& cluster, const Members& members, const PeerCosts& costs,
               const PeerGpu& gpu, const std::vector<KernelStage>& stages,
               const PeerWindows& windows);

  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override;
  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override;
  /// By MoveKind.
  const std::vector<MessageKind>& kinds() const { return kinds_; }

 private:
  void add_kinds(const PeerCosts& costs, const PeerGpu& gpu, Duration wire, Duration ll_read);
  void add_stage(const KernelStage& stage, const PeerCosts& costs, const PeerGpu& gpu,
                 const PeerWindows& windows);

  int gpus_;
  std::vector<MessageKind> kinds_;
  std::vector<std::vector<ExchangeBatch>> batches_;  ///< by GPU
  std::vector<std::vector<std::uint32_t>> links_;    ///< by pair: from * gpus + to
};

}  // namespace fabricast
