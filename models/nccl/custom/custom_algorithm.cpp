#include "models/nccl/custom/custom_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricast {

std::string_view to_text(ChunkBuffer buffer) {
  switch (buffer) {
    case ChunkBuffer::input:
      return "input";
    case ChunkBuffer::output:
      return "output";
    case ChunkBuffer::scratch:
      return "scratch";
  }
  return "";
}

std::string_view to_text(CustomKind kind) {
  switch (kind) {
    case CustomKind::send:
      return "send";
    case CustomKind::recv:
      return "recv";
    case CustomKind::recv_copy_send:
      return "recvCopySend";
    case CustomKind::recv_reduce_send:
      return "recvReduceSend";
    case CustomKind::recv_reduce_copy:
      return "recvReduceCopy";
    case CustomKind::recv_reduce_copy_send:
      return "recvReduceCopySend";
    case CustomKind::copy:
      return "copy";
    case CustomKind::reduce:
      return "reduce";
    case CustomKind::nop:
      return "nop";
  }
  return "";
}

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
