#include "models/io/bands/band_key.hpp"

#include <algorithm>

namespace fabricast {
namespace {

/// How the GPUs are joined, in the words of NodeShape.
NodeKind kind_of(const NodeGraph& node) {
  if (node.domain_nodes() > 1) return NodeKind::nvl72;
  if (node.gpus().size() == 1) return NodeKind::single;
  if (!node.nvswitches().empty()) return NodeKind::nvswitch;
  const GpuInfo& first = node.gpus().front();
  if (first.nvlink_targets.empty()) return NodeKind::pcie;
  const std::size_t joined = first.nvlink_targets.size() + 1;
  if (joined == 2) return NodeKind::nvlink_pairs;
  return joined == node.gpus().size() ? NodeKind::nvlink_mesh : NodeKind::nvlink_cube_mesh;
}

std::string hardware(const std::string& gpu, NodeKind kind) {
  return gpu + " " + std::string(to_text(kind));
}

}  // namespace

bool decided_by_launches(double host_us, double call_us) {
  constexpr double kNearly = 0.98;  // a period of several calls is a mean
  return host_us > 0 && host_us >= kNearly * call_us;
}

BandKey band_key(const NodeShape& shape, const PartsCatalogue& parts, Collective collective,
                 Bytes size) {
  std::string network = "none";
  if (shape.nics > 0) network = to_text(shape.network.value_or(parts.nics.at(shape.nic).network));
  return {hardware(shape.gpu, shape.kind), network, std::string(to_text(collective)),
          size_range(size), parts.gpus.at(shape.gpu).sm / 10};
}

BandKey band_key(const NodeGraph& node, int nodes, Collective collective, Bytes size) {
  const bool has_network = nodes > 1 && !node.nics().empty();
  return {hardware(node.gpus().front().part.name, kind_of(node)),
          std::string(has_network ? to_text(node.nics().front().part.network) : "none"),
          std::string(to_text(collective)), size_range(size), node.gpus().front().part.sm / 10};
}

}  // namespace fabricast
