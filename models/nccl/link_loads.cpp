#include "models/nccl/link_loads.hpp"

#include <algorithm>

namespace fabricast {

std::vector<LinkLoad> link_loads(const Cluster& cluster, Duration makespan,
                                 const std::function<Bytes(std::uint32_t)>& carried) {
  std::vector<LinkLoad> out;
  for (std::uint32_t i = 0; i < cluster.links(); ++i) {
    const Bytes bytes = carried(i);
    if (bytes.count == 0) continue;
    const Duration busy = transfer_time(bytes, cluster.link(LinkId{i}).rate);
    out.push_back({LinkId{i}, bytes,
                   static_cast<double>(busy.ps) /
                       static_cast<double>(std::max<std::int64_t>(makespan.ps, 1))});
  }
  std::stable_sort(out.begin(), out.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.utilisation > b.utilisation;
  });
  return out;
}

}  // namespace fabricast
