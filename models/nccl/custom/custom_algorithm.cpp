#include "models/nccl/custom/custom_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricast {

int CustomAlgorithm::channels() const {
  int last = 0;
  for (const CustomBlock& block : blocks) last = std::max(last, block.channel);
  return last + 1;
}

int CustomAlgorithm::inputs() const {
  return collective == Collective::all_gather ? chunks / ranks : chunks;
}

int CustomAlgorithm::outputs() const {
  return collective == Collective::reduce_scatter ? chunks / ranks : chunks;
}

Place CustomAlgorithm::place(std::uint32_t block, std::uint32_t step) const {
  const CustomBlock& b = blocks[block];
  return {file, b.steps[step].line,
          fmt::format("rank {}, threadblock {}, step {}", b.rank, b.id, step)};
}

StepShape custom_shape(Protocol protocol) {
  return protocol == Protocol::simple ? StepShape{4, 2} : StepShape{1, 1};
}

int messages_in_flight(std::optional<Protocol> protocol) {
  const StepShape shape = custom_shape(protocol.value_or(Protocol::simple));
  return shape.slices_in_flight() / shape.slices_per_chunk();
}

}  // namespace fabricast
