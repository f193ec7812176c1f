#include "models/io/topologies/nearest_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "models/io/topo_views/topo_text.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kItemsShown = 6;

std::size_t apart(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

std::string nic_text(const NodeGraph& node) {
  if (node.nics().empty()) return "none";
  const NicInfo& nic = node.nics().front();
  return fmt::format("{} of {} on {}", node.vertex(nic.vertex).part, to_bits_text(nic.speed),
                     to_text(nic.part.network));
}

}  // namespace

const std::string& gpu_part(const NodeGraph& node) {
  return node.vertex(node.gpus().front().vertex).part;
}

std::vector<KnownNode> nodes_with(const std::string& gpu, const PartsCatalogue& parts) {
  std::vector<KnownNode> out;
  for (const std::string& name : node_preset_names()) {
    KnownNode one(name, load_node_type(name), parts);
    if (gpu_part(one.graph) == gpu) out.push_back(std::move(one));
  }
  return out;
}

std::optional<KnownNode> nearest_node(const NodeGraph& node, const PartsCatalogue& parts) {
  std::vector<KnownNode> known = nodes_with(gpu_part(node), parts);
  const auto rank = [&](const KnownNode& one) {
    return std::tuple(apart(one.graph.gpus().size(), node.gpus().size()),
                      apart(one.graph.nics().size(), node.nics().size()),
                      differing_ways(node, one.graph).size());
  };
  const auto best = std::ranges::min_element(known, {}, rank);
  if (best == known.end()) return std::nullopt;
  return std::move(*best);
}

std::vector<std::string> differing_ways(const NodeGraph& here, const NodeGraph& there) {
  std::vector<std::string> out;
  const auto compare = [&](const std::string& pair, VertexId a, VertexId b, VertexId c,
                           VertexId d) {
    const std::string mine = smi_cell(here, a, b), other = smi_cell(there, c, d);
    if (mine != other) out.push_back(fmt::format("{} {} ({} there)", pair, mine, other));
  };
  const std::size_t gpus = std::min(here.gpus().size(), there.gpus().size());
  const std::size_t nics = std::min(here.nics().size(), there.nics().size());
  for (std::size_t g = 0; g < gpus; ++g) {
    for (std::size_t other = g + 1; other < gpus; ++other)
      compare(fmt::format("GPU{}-GPU{}", g, other), here.gpus()[g].vertex,
              here.gpus()[other].vertex, there.gpus()[g].vertex, there.gpus()[other].vertex);
    for (std::size_t n = 0; n < nics; ++n)
      compare(fmt::format("GPU{}-NIC{}", g, n), here.gpus()[g].vertex, here.nics()[n].vertex,
              there.gpus()[g].vertex, there.nics()[n].vertex);
  }
  return out;
}

std::vector<std::string> differences(const NodeGraph& here, const NodeGraph& there) {
  std::vector<std::string> out;
  const auto say = [&](std::string_view what, const std::string& mine, const std::string& other) {
    if (mine != other) out.push_back(fmt::format("{}: {} ({} there)", what, mine, other));
  };
  say("GPUs", std::to_string(here.gpus().size()), std::to_string(there.gpus().size()));
  say("NICs", std::to_string(here.nics().size()), std::to_string(there.nics().size()));
  say("kind of NIC", nic_text(here), nic_text(there));
  say("NVLinks of GPU0", std::to_string(here.gpus().front().nvlink_count),
      std::to_string(there.gpus().front().nvlink_count));
  say("CPU", here.cpus().front().part.name, there.cpus().front().part.name);
  if (const auto ways = differing_ways(here, there); !ways.empty())
    out.push_back("ways that differ: " + first_of(ways));
  return out;
}

std::string first_of(const std::vector<std::string>& items) {
  if (items.size() <= kItemsShown) return fmt::format("{}", fmt::join(items, ", "));
  return fmt::format("{} and {} more", fmt::join(items.begin(), items.begin() + kItemsShown, ", "),
                     items.size() - kItemsShown);
}

}  // namespace fabricast
