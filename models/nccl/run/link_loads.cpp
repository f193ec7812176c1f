#include "models/nccl/run/link_loads.hpp"

#include <algorithm>

namespace fabricast {

namespace {

void add(std::vector<LinkLoad>& out, const Cluster& cluster, Duration makespan, std::uint32_t link,
         Bytes bytes, int copies) {
  if (bytes.count == 0) return;
  const Duration busy = transfer_time(bytes, cluster.link(LinkId{link}).rate);
  out.push_back(
      {LinkId{link}, bytes,
       static_cast<double>(busy.ps) / static_cast<double>(std::max<std::int64_t>(makespan.ps, 1)),
       copies});
}

void sort(std::vector<LinkLoad>& links) {
  std::stable_sort(links.begin(), links.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.utilisation > b.utilisation;
  });
}

}  // namespace

std::vector<LinkLoad> link_loads(const Cluster& cluster, Duration makespan,
                                 const std::function<Bytes(std::uint32_t)>& carried) {
  std::vector<LinkLoad> out;
  for (std::uint32_t i = 0; i < cluster.links(); ++i) add(out, cluster, makespan, i, carried(i), 1);
  sort(out);
  return out;
}

std::vector<LinkLoad> link_loads(const Cluster& cluster, Duration makespan,
                                 const std::map<std::uint32_t, Bytes>& carried, int copies) {
  std::vector<LinkLoad> out;
  for (const auto& [link, bytes] : carried) add(out, cluster, makespan, link, bytes, copies);
  sort(out);
  return out;
}

}  // namespace fabricast
