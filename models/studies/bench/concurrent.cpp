#include "models/studies/bench/concurrent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/nccl/communicator/communicators.hpp"
#include "models/studies/bench/bench.hpp"
#include "sim/base/add_once.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

class Concurrent {
 public:
  Concurrent(const ConcurrentQuestion& question, const ConcurrentConfig& config,
             const SoftwareCosts& software)
      : question_(question),
        config_(config),
        software_(software),
        communicators_(question.cluster, question.communicators) {}

  ConcurrentResult run(const std::function<void(double)>& progress) {
    std::vector<Stream> all;
    std::vector<std::size_t> first;
    for (const ConcurrentGroup& group : config_.groups) {
      first.push_back(all.size());
      for (Stream& stream : streams(group)) all.push_back(std::move(stream));
    }
    first.push_back(all.size());
    SimulationOptions options;
    options.progress = progress;
    const StreamsResult together = simulate(question_.cluster, software_, all, options);
    out_.time = together.time;
    out_.digest = together.digest;
    for (std::size_t g = 0; g < config_.groups.size(); ++g)
      compare(g, std::span(all).subspan(first[g], first[g + 1] - first[g]),
              std::span(together.streams).subspan(first[g], first[g + 1] - first[g]));
    share_links(together);
    count_blocks();
    return std::move(out_);
  }

 private:
  const Cluster& cluster() const { return question_.cluster; }
  int gpus() const { return question_.communicators.gpus_per_node; }

  std::vector<Stream> streams(const ConcurrentGroup& group) {
    ConcurrentGroupResult& result = out_.groups.emplace_back();
    std::vector<Stream> out;
    for (const std::vector<int>& ranks : config_.layout.groups(group.over)) {
      const Members members = Members::of_job(ranks, gpus());
      result.ranks = members.ranks();
      result.count =
          element_count(group.collective, group.size, question_.element_bytes, members.ranks());
      if (result.count == 0)
        throw Error(fmt::format("{}: {} over {} ranks rounds down to no element", group.name,
                                to_text(group.size), members.ranks()));
      result.size =
          message_size(group.collective, result.count, question_.element_bytes, members.ranks());
      const DecidedCall call = communicators_.decide(
          members, {group.collective, result.count, question_.element_bytes, 0});
      if (out.empty()) {
        result.decided = call;
        for (const std::string& warning : communicators_.like(members).warnings)
          add_once(out_.notes, warning);
      }
      const auto repeat = static_cast<std::size_t>(group.repeat);
      out.push_back({std::vector<CollectiveRun>(repeat, call.run), group.start});
    }
    result.communicators = static_cast<int>(out.size());
    return out;
  }

  /// The group without the others.
  void compare(std::size_t number, std::span<const Stream> streams,
               std::span<const StreamResult> together) {
    ConcurrentGroupResult& group = out_.groups[number];
    const StreamsResult alone = simulate(cluster(), software_, streams);
    const auto slowest = [](std::span<const StreamResult> of) {
      return std::ranges::max_element(of, {}, &StreamResult::time)->time;
    };
    group.alone = slowest(alone.streams);
    group.together = slowest(together);
    const ConcurrentGroup& asked = config_.groups[number];
    const auto busbw = [&](Duration all) {
      return busbw_GBps(asked.collective, group.ranks, group.size, {all.ps / asked.repeat});
    };
    group.busbw_alone = busbw(group.alone);
    group.busbw_together = busbw(group.together);
    for (const LinkLoad& load : alone.links) carried_[load.link][number] = load.carried.count;
  }

  /// Every group carries the bytes that it carries alone.
  void share_links(const StreamsResult& together) {
    std::int64_t sent = 0;
    std::vector<std::int64_t> sent_by(out_.groups.size());
    for (const LinkLoad& load : together.links) {  // busiest first
      const std::map<std::size_t, std::int64_t>& by = carried_[load.link];
      const auto whole = static_cast<double>(load.carried.count);
      for (const auto& [group, bytes] : by) {
        if (is_sent_by_nic(load.link)) sent_by[group] += bytes;
        if (by.size() > 1)
          out_.groups[group].shared.push_back(
              {load.link, load.utilisation, static_cast<double>(bytes) / whole});
      }
      if (is_sent_by_nic(load.link)) sent += load.carried.count;
    }
    for (std::size_t g = 0; sent > 0 && g < out_.groups.size(); ++g)
      out_.groups[g].nic_share = static_cast<double>(sent_by[g]) / static_cast<double>(sent);
  }

  bool is_sent_by_nic(LinkId link) const {
    return cluster().is_fabric_link(link) && !cluster().link_from(link).is_switch;
  }

  /// Every GPU is in one communicator of each group, as layouts have it.
  void count_blocks() {
    for (const ConcurrentGroupResult& group : out_.groups)
      out_.blocks += group.decided.run.channels;
    out_.sms = cluster().node().gpus().front().part.multiprocessors;
    if (out_.sms > 0 && out_.blocks > out_.sms)
      out_.notes.push_back(
          fmt::format("{} thread blocks do not fit on {} SMs at one block each: "
                      "some kernels would wait, which is not simulated.",
                      out_.blocks, out_.sms));
  }

  const ConcurrentQuestion& question_;
  const ConcurrentConfig& config_;
  const SoftwareCosts& software_;
  Communicators communicators_;
  ConcurrentResult out_;
  std::map<LinkId, std::map<std::size_t, std::int64_t>> carried_;  ///< by link, group
};

}  // namespace

int RankLayout::ranks() const {
  int out = 1;
  for (const Dimension& dimension : dimensions) out *= dimension.size;
  return out;
}

std::vector<std::vector<int>> RankLayout::groups(const std::vector<std::string>& over) const {
  std::map<int, std::vector<int>> by_rest;
  for (int rank = 0; rank < ranks(); ++rank) {
    int rest = 0, stride = 1;
    for (const Dimension& dimension : dimensions) {
      const bool varies = std::ranges::find(over, dimension.name) != over.end();
      if (!varies) rest += rank / stride % dimension.size * stride;
      stride *= dimension.size;
    }
    by_rest[rest].push_back(rank);
  }
  std::vector<std::vector<int>> out;
  for (auto& [rest, ranks] : by_rest) out.push_back(std::move(ranks));
  return out;
}

ConcurrentResult run_concurrent(const ConcurrentQuestion& question, const ConcurrentConfig& config,
                                const SoftwareCosts& software,
                                const std::function<void(double)>& progress) {
  ConcurrentQuestion asked = question;
  const int gpus = gpus_used(question.cluster, question.communicators.gpus_per_node);
  asked.communicators.gpus_per_node = gpus;
  const int ranks = question.cluster.nodes() * gpus;
  if (config.layout.ranks() != ranks)
    throw Error(fmt::format("the layout has {} ranks, {} nodes with {} GPUs have {}",
                            config.layout.ranks(), question.cluster.nodes(), gpus, ranks),
                "the sizes of its dimensions multiply to the number of ranks");
  return Concurrent(asked, config, software).run(progress);
}

}  // namespace fabricast
