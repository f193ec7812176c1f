#include "models/nccl/base/channel_graph.hpp"

#include <cassert>

namespace fabricast {
namespace {

constexpr std::array<std::string_view, kPathTypes> kPathNames = {
    "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

}  // namespace

std::string_view to_text(PathType type) { return kPathNames[static_cast<std::size_t>(type)]; }

std::optional<PathType> path_type_from_text(std::string_view text) {
  for (std::size_t t = 0; t < kPathNames.size(); ++t) {
    if (kPathNames[t] == text) return static_cast<PathType>(t);
  }
  return std::nullopt;
}

int nic_of(const ChannelGraph& graph, int channel, int local_gpu) {
  assert(!graph.channels.empty() && channel >= 0);
  const GraphChannel& c = graph.channels[static_cast<std::size_t>(channel % graph.channel_count())];
  return c.gpu_order.front() == local_gpu ? c.net_in : c.net_out;
}

}  // namespace fabricast
