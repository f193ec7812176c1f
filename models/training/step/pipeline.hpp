#pragma once
// The order in which every stage of a pipeline works on its micro-batches.

#include <cstdint>
#include <string>
#include <vector>

#include "models/training/model/layout.hpp"

namespace fabricast {

struct PipelineOp {
  enum class Kind : std::uint8_t { forward, backward, weight };
  Kind kind{};
  int micro = 0;
  int chunk = 0;  ///< of this stage's virtual stages: model chunk = chunk * stages + stage
  bool operator==(const PipelineOp&) const = default;
};

/// By stage. backward holds the gradients of weights as well, but in zero_bubble, where weight has
/// them. Sources: GPipe (arXiv 1811.06965), 1F1B and interleaved as Megatron-LM issues them
/// (arXiv 2104.04473), zero_bubble = ZB-H1 (arXiv 2401.10241).
/// REQUIRES: check_layout()'s rules for virtual stages.
std::vector<std::vector<PipelineOp>> pipeline_orders(Schedule schedule, int stages,
                                                     int virtual_stages, int micro_batches);

/// "F0 F1 B0", with chunks "F0.1".
std::string to_text(const std::vector<PipelineOp>& order, bool chunks);

}  // namespace fabricast
