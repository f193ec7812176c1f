#include <fmt/format.h>

#include "models/studies/bench/bench.hpp"
#include "models/studies/bench/concurrent.hpp"
#include "text/counted.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

constexpr std::size_t kSharedLinksNamed = 3;

std::string layout_text(const RankLayout& layout) {
  std::string out;
  for (const RankLayout::Dimension& dimension : layout.dimensions)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", dimension.name, dimension.size);
  return out;
}

std::string call_text(const ConcurrentGroup& group, const ConcurrentGroupResult& result) {
  const CollectiveRun& run = result.decided.run;
  const std::string choice =
      is_tuned(run.collective) ? fmt::format("{} {}", to_text(run.algorithm), to_text(run.protocol))
                               : fmt::format("{}", to_text(run.protocol));
  return fmt::format(
      "{} x {} {} on {}, {}, {}{}", group.repeat, to_text(result.size), to_text(group.collective),
      counted(result.ranks, "rank"), choice, counted(run.channels, "channel"),
      group.start.ps > 0
          ? fmt::format(", from {:.2f} us on", static_cast<double>(group.start.ps) / 1e6)
          : "");
}

std::string waits_text(const Cluster& cluster, const ConcurrentGroupResult& result) {
  if (result.shared.empty()) return "#     shares no link with another group\n";
  std::string out;
  for (std::size_t i = 0; i < std::min(kSharedLinksNamed, result.shared.size()); ++i) {
    const SharedLink& shared = result.shared[i];
    out +=
        fmt::format("#     {:5.1f} % busy, {:5.1f} % of it its own: {}\n", 100 * shared.utilisation,
                    100 * shared.own_share, cluster.link_name(shared.link));
  }
  return out;
}

}  // namespace

std::string concurrent_text(const Cluster& cluster, const ConcurrentConfig& config,
                            const ConcurrentResult& result) {
  std::string out = fmt::format(
      "# fabricast concurrent: predicted, nothing was measured. {} x {}\n# layout: {} (the first "
      "changes fastest)\n",
      cluster.nodes(), cluster.node().name(), layout_text(config.layout));
  if (cluster.nodes() > 1) out += fmt::format("# fabric: {}\n", cluster.fabric_summary());
  for (std::size_t g = 0; g < config.groups.size(); ++g) {
    const ConcurrentGroup& group = config.groups[g];
    out += fmt::format("# {}: {} over {}, {}\n", group.name,
                       counted(result.groups[g].communicators, "communicator"),
                       fmt::join(group.over, " and "), call_text(group, result.groups[g]));
  }
  out +=
      "#\n"
      "#                         alone    together  slowdown   busbw alone  together  NIC bytes   "
      "SMs\n"
      "# group                    (us)        (us)                  (GB/s)    (GB/s)        (%)\n";
  for (std::size_t g = 0; g < config.groups.size(); ++g) {
    const ConcurrentGroupResult& one = result.groups[g];
    out += fmt::format("{:<16}  {:12.2f}  {:10.2f}  {:8.3f}  {:12.2f}  {:8.2f}  {:9.1f}  {:4d}\n",
                       config.groups[g].name, microseconds_of(one.alone),
                       microseconds_of(one.together), one.slowdown(), one.busbw_alone,
                       one.busbw_together, 100 * one.nic_share, one.decided.run.channels);
  }
  out += fmt::format("#\n# all ended after {:.2f} us; links that a group shares with others:\n",
                     microseconds_of(result.time));
  for (std::size_t g = 0; g < config.groups.size(); ++g)
    out += fmt::format("#   {}\n{}", config.groups[g].name, waits_text(cluster, result.groups[g]));
  if (result.sms > 0) {
    out += fmt::format("# thread blocks of a GPU, all groups together: {} of {} SMs ({:.0f} %)\n",
                       result.blocks, result.sms, 100.0 * result.blocks / result.sms);
  }
  for (const std::string& note : result.notes) out += fmt::format("# note: {}\n", note);
  out +=
      "# note: that kernels share SMs and memory with each other and with computation is not "
      "simulated.\n";
  out += fmt::format("# digest {:016x}\n", result.digest);
  return out;
}

}  // namespace fabricast
