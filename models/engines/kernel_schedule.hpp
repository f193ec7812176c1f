#pragma once
// A kernel of an engine as batches of an exchange: a block is a GPU, a stage of the plan a batch.

#include <vector>

#include "models/engines/engine_costs.hpp"
#include "models/engines/kernel_plan.hpp"
#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/base/members.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {

class KernelSchedule final : public ExchangeSchedule {
 public:
  /// REQUIRES: members of one node, which reach each other without a proxy.
  KernelSchedule(const Cluster& cluster, const Members& members, const EngineCosts& costs,
                 const EngineGpu& gpu, EngineKernel kernel, Bytes size);

  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override;
  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override;
  /// By MoveKind.
  const std::vector<MessageKind>& kinds() const { return kinds_; }

 private:
  void add_kinds(const EngineCosts& costs, const EngineGpu& gpu, Duration wire);
  void add_stage(const KernelStage& stage, const EngineCosts& costs, const EngineGpu& gpu,
                 Bytes window);

  int gpus_;
  std::vector<MessageKind> kinds_;
  std::vector<std::vector<ExchangeBatch>> batches_;  ///< by GPU
  std::vector<std::vector<std::uint32_t>> links_;    ///< by pair: from * gpus + to
};

}  // namespace fabricast
