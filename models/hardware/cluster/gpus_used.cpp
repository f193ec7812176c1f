#include "models/hardware/cluster/gpus_used.hpp"

#include <fmt/format.h>

namespace fabricast {

void check_gpus_asked(int asked, const std::string& node, int known) {
  if (asked > known)
    throw Error(fmt::format("{} GPUs per node asked for, but {} has {}", asked, node, known),
                "lower --gpus-per-node, or raise --nodes");
}

int gpus_used(const Cluster& cluster, int asked) {
  const NodeGraph& node = cluster.node();
  const auto all = static_cast<int>(node.gpus().size());
  const int of_node = gpus_asked_of_node(node.trays(), asked);
  check_gpus_asked(of_node, node.name(), all);
  return of_node > 0 ? of_node : all;
}

}  // namespace fabricast
