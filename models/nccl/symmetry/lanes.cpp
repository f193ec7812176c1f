#include "models/nccl/symmetry/lanes.hpp"

#include <algorithm>
#include <map>

#include "models/nccl/wiring/nvls_links.hpp"

namespace fabricast {
namespace {

/// All that the ways of a channel follow from, as numbers.
std::vector<std::int64_t> ways_of(const CollectiveRun& run, const Members& members, int channel) {
  if (members.node_count() == 1) return {};
  std::vector<std::int64_t> out = {channel % 2};  // which of both trees
  for (const int head : distinct_heads(run.graph))
    out.push_back(nic_of_head(run.graph, head, channel));
  return out;
}

}  // namespace

bool Lanes::merges() const {
  return std::ranges::any_of(built, [this](std::uint32_t lane) { return copies[lane] > 1; });
}

Lanes all_lanes(std::size_t parts) {
  Lanes out;
  for (std::uint32_t lane = 0; lane < parts; ++lane) {
    out.built.push_back(lane);
    out.like.push_back(lane);
    out.copies.push_back(1);
  }
  return out;
}

Lanes find_lanes(const CollectiveRun& run, const Members& members, const Partition& partition) {
  if (partition.is_strided || !run.faults.outages.empty()) return all_lanes(partition);
  Lanes out;
  out.copies.resize(partition.parts.size());
  std::map<std::vector<std::int64_t>, std::uint32_t> known;
  for (std::uint32_t lane = 0; lane < partition.parts.size(); ++lane) {
    const ChannelPart& part = partition.parts[lane];
    std::vector<std::int64_t> key = ways_of(run, members, part.channel);
    for (const std::int64_t size :
         {part.count_elements, part.chunk_elements, part.last_loop_chunk_elements})
      key.push_back(size);
    const auto [like, is_new] = known.try_emplace(std::move(key), lane);
    if (is_new) out.built.push_back(lane);
    out.like.push_back(like->second);
    ++out.copies[like->second];
  }
  return out;
}

}  // namespace fabricast
