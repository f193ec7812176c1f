#include "models/nccl/base/channel_graph.hpp"

#include <cassert>

namespace fabricast {
int nic_of(const ChannelGraph& graph, int channel, int local_gpu) {
  assert(!graph.channels.empty() && channel >= 0);
  const GraphChannel& c = graph.channels[static_cast<std::size_t>(channel % graph.channel_count())];
  return c.gpu_order.front() == local_gpu ? c.net_in : c.net_out;
}

}  // namespace fabricast
