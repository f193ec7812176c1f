#include "models/nccl/run/timeline_watch.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace fabricast {

JobRanks TimelineWatch::ranks_of(const JobPlan& plan) {
  using GpuPlace = std::pair<int, int>;  // node, GPU
  std::set<GpuPlace> all;
  for (const StreamPlan& stream : plan.streams)
    for (int rank = 0; rank < stream.members.ranks(); ++rank)
      all.insert({stream.members.node(rank), stream.members.gpu(rank)});
  const std::vector<GpuPlace> places(all.begin(), all.end());
  JobRanks out;
  for (const StreamPlan& stream : plan.streams) {
    std::vector<int>& ranks = out.emplace_back();
    for (int rank = 0; rank < stream.members.ranks(); ++rank) {
      const GpuPlace own{stream.members.node(rank), stream.members.gpu(rank)};
      const auto at = std::ranges::lower_bound(places, own) - places.begin();
      ranks.push_back(plan.streams.size() == 1 ? rank : static_cast<int>(at));
    }
  }
  return out;
}

void TimelineWatch::show(TimelineRecorder& recorder, const Assembly& assembly,
                         const CallLabel& label) const {
  std::vector<int> channels;
  for (const ChannelPart& part : assembly.partition().parts) channels.push_back(part.channel);
  for (int rank = 0; rank < assembly.ranks(); ++rank)
    recorder.show(ranks[label.stream][static_cast<std::size_t>(rank)], assembly.workers(rank),
                  channels, label);
}

}  // namespace fabricast
