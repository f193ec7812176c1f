#include "models/experts/ep_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/experts/ep_schedule.hpp"
#include "sim/base/scaled.hpp"
#include "sim/machines/executor.hpp"

namespace fabricast {
namespace {

constexpr int kGroupsMax = 64;  ///< of a two-stage schedule, and of many ranks so many:
constexpr int kGroupsLeast = 16;
constexpr int kMessagesMax = 1 << 20;
constexpr int kChunksMax = 64;    ///< of a message: what more of them change is less than they cost
constexpr int kChunksOfMany = 8;  ///< the same where there are many messages

double doublings(int count, int from) {
  return count > from ? std::log2(static_cast<double>(count) / from) : 0;
}
Bandwidth rate_of(double bytes_per_s) {
  return {std::max<std::int64_t>(1, std::llround(bytes_per_s))};
}
/// 0 stands for what takes no time.
Bandwidth rate_of(double bytes, double seconds) {
  return seconds > 0 ? rate_of(bytes / seconds) : Bandwidth{};
}

class EpRun {
 public:
  EpRun(const EpWays& ways, const ExpertKernels& kernels, const ExpertCall& call, EpMode mode,
        EpPhase phase, const TokenCounts& counts)
      : ways_(ways),
        kernels_(kernels),
        call_(call),
        mode_(mode),
        phase_(phase),
        counts_(counts),
        gpu_(ways.cluster().node().gpus().front().part),
        costs_(kernels.of(mode, gpu_.sm).of(phase)),
        bytes_(token_bytes(call, phase)) {}

  EpResult run();

 private:
  bool by_expert() const { return mode_ == EpMode::low_latency; }
  bool one_sided() const { return is_one_sided(mode_); }
  bool two_stages() const { return takes_sms(mode_) && ways_.nodes() > 1; }
  double all_tokens() const { return static_cast<double>(call_.tokens) * ways_.ranks(); }
  double copies() const {
    return by_expert() ? call_.choice.top_k : static_cast<double>(counts_.copies()) / all_tokens();
  }
  double node_copies() const { return static_cast<double>(counts_.node_copies()) / all_tokens(); }
  double half() const { return call_.sms / 2.0; }
  double network_share() const { return kernels_.network_share * costs_.nic_share; }

  void set_fixed();
  /// Of a call on one node.
  double hops() const {
    return costs_.start_hops > 0 ? costs_.start_hops + doublings(ways_.gpus(), 2) : 0;
  }
  Duration map_gather() const;
  double node_work(double copies) const;
  void add_links(Executor<PlainStamp>& machine);
  std::unique_ptr<EpSchedule> direct();
  std::unique_ptr<EpSchedule> two_stage();
  void set_halves(TwoStageSchedule::Config& config);
  void set_one_sided(TwoStageSchedule::Config& config);
  void note_work(std::string name, bool received, double seconds_per_copy, bool node);
  void note_links(const Executor<PlainStamp>& machine);

  const EpWays& ways_;
  const ExpertKernels& kernels_;
  const ExpertCall& call_;
  EpMode mode_;
  EpPhase phase_;
  const TokenCounts& counts_;
  const GpuPart& gpu_;
  const PhaseCosts& costs_;
  std::int64_t bytes_;
  Bandwidth pool_{};  ///< low latency: what all blocks of a GPU send
  EpResult out_;
};

void EpRun::set_fixed() {
  const int nodes = ways_.nodes();
  const double experts = call_.choice.experts;
  if (two_stages()) {
    const double steps = doublings(nodes, 2);
    out_.notify = costs_.notify + scaled(costs_.notify_doubling, steps) + map_gather();
    out_.fixed = out_.notify + costs_.net_start + scaled(costs_.net_doubling, steps);
    return;
  }
  if (nodes == 1)
    out_.notify = costs_.notify_token * call_.tokens + costs_.notify +
                  scaled(costs_.notify_doubling, doublings(ways_.ranks(), 2));
  if (mode_ == EpMode::normal) out_.notify = {};  // the kernel of one node tells counts itself
  if (one_sided()) out_.notify = costs_.notify + map_gather();
  out_.fixed = out_.notify + costs_.start +
               scaled(costs_.start_doubling, doublings(ways_.gpus(), 2)) +
               scaled(kernels_.hop(gpu_.sm), hops()) + scaled(costs_.expert_flag, experts / nodes);
  if (costs_.start_rate.bytes_per_s > 0) out_.fixed += transfer_time({bytes_}, costs_.start_rate);
  if (nodes > 1)
    out_.fixed += costs_.net_start + scaled(costs_.net_flag, experts * (nodes - 1) / nodes);
}

/// Hybrid-EP: before dispatch all ranks gather who takes which experts, a byte for each pair. It
/// comes from other domains over the NICs, from the own one over NVLink.
Duration EpRun::map_gather() const {
  if (mode_ != EpMode::hybrid || phase_ != EpPhase::dispatch) return {};
  const double map = static_cast<double>(call_.tokens) * call_.choice.experts;
  const double rate = gpu_.nvlink_links * static_cast<double>(gpu_.nvlink_per_link.bytes_per_s);
  double seconds = rate > 0 ? map * (ways_.ranks() - 1) / (rate * costs_.nvlink_share) : 0;
  if (ways_.nodes() > 1) {
    const NicPart& nic = ways_.cluster().node().nics()[static_cast<std::size_t>(ways_.nic(0))].part;
    const double sent = static_cast<double>(nic.port_rate.bytes_per_s) * nic.goodput;
    seconds = std::max(seconds, map * (ways_.nodes() - 1) / (sent * network_share()));
  }
  return Duration{std::llround(seconds * 1e12)};
}

/// One-sided: what an SM does for a token on each domain where it has `copies` receivers.
double EpRun::node_work(double copies) const {
  const bool scans = phase_ == EpPhase::dispatch && call_.dispatched == EpDatatype::fp8;
  const TokenWork& work = phase_ == EpPhase::dispatch ? costs_.send : costs_.receive;
  return work.seconds(static_cast<double>(bytes_), copies, 1) +
         (scans ? static_cast<double>(costs_.scan.ps) / 1e12 * ways_.gpus() : 0);
}

/// The cluster's, with what kernels like these reach of NVLink and of NICs.
void EpRun::add_links(Executor<PlainStamp>& machine) {
  const Cluster& cluster = ways_.cluster();
  for (std::uint32_t id = 0; id < cluster.links(); ++id) {
    const LinkId global{id};
    const ClusterLink link = cluster.link(global);
    double share = 1;
    if (cluster.is_fabric_link(global)) {
      if (!cluster.is_pool(global) && !cluster.is_trunk(global)) share = network_share();
    } else if (cluster.node_link(global).kind == LinkKind::nvlink) {
      share = costs_.nvlink_share;
    }
    machine.add_link(
        {rate_of(static_cast<double>(link.rate.bytes_per_s) * share), link.latency, link.lanes});
  }
  if (pool_.bytes_per_s == 0) return;
  for (int rank = 0; rank < ways_.ranks(); ++rank) machine.add_link({pool_, {}, 1});
}

/// Ranks by how busy some of their SMs are: each copy that they send, or receive, takes so long.
void EpRun::note_work(std::string name, bool received, double seconds_per_copy, bool node) {
  EpResource out{std::move(name), {}, 0};
  // Combine goes the other way.
  if (phase_ == EpPhase::combine) received = !received;
  for (int rank = 0; rank < ways_.ranks(); ++rank) {
    std::int64_t all = 0;
    if (node) {
      for (int other = 0; other < ways_.nodes(); ++other)
        all += received ? counts_.to_node(other * ways_.gpus() + rank % ways_.gpus(),
                                          rank / ways_.gpus())
                        : counts_.to_node(rank, other);
    } else {
      for (int other = 0; other < ways_.ranks(); ++other) {
        const int from = received ? other : rank, to = received ? rank : other;
        all += by_expert() ? counts_.pairs(from, to) : counts_.to_rank(from, to);
      }
    }
    const double share = static_cast<double>(all) * seconds_per_copy;
    if (out.where.empty() || share > out.share) {
      out.share = share;
      out.where = fmt::format("rank {}", rank);
    }
  }
  if (out.share > 0) out_.resources.push_back(std::move(out));
}

std::unique_ptr<EpSchedule> EpRun::direct() {
  const int lanes = ways_.gpus(), ranks = ways_.ranks();
  const auto bytes = static_cast<double>(bytes_);
  const bool normal = mode_ == EpMode::normal;
  double send = costs_.send.seconds(bytes, copies(), lanes) / copies();
  double receive = costs_.receive.seconds(bytes, copies(), lanes) / copies();
  if (normal) {
    send /= half();
    receive /= half();
  } else if (one_sided()) {
    const double each = node_work(copies()) / copies() / call_.sms;
    send = phase_ == EpPhase::dispatch ? each : 0;
    receive = phase_ == EpPhase::combine ? each : 0;
  } else if (by_expert()) {
    send /= low_latency_sms(call_.choice.experts, gpu_.multiprocessors);
    pool_ = rate_of(bytes, send);
  }
  note_work("SMs that send", false, send, false);
  note_work("SMs that receive", true, receive, false);
  DirectSchedule::Config config{ways_, counts_, phase_, by_expert(), bytes_, 0, {}, 0, false};
  config.rates.receive = rate_of(bytes / ranks, receive);
  if (by_expert()) {
    config.has_pools = pool_.bytes_per_s > 0;
    config.first_pool = ways_.cluster().links();
    const std::int64_t pairs = std::int64_t{call_.tokens} * call_.choice.top_k / ranks;
    config.chunk_tokens = std::max<std::int64_t>(kernels_.chunk_tokens, pairs / kChunksOfMany + 1);
    return std::make_unique<DirectSchedule>(config);
  }
  config.rates.send = rate_of(bytes / ranks, send);
  const double chunk =
      kernels_.chunk_tokens * (takes_sms(mode_) ? half() : gpu_.multiprocessors / 2.0);
  config.chunk_tokens = std::max<std::int64_t>(
      {1, std::llround(chunk), (call_.tokens + kChunksMax - 1) / kChunksMax});
  return std::make_unique<DirectSchedule>(config);
}

std::unique_ptr<EpSchedule> EpRun::two_stage() {
  const int nodes = ways_.nodes(), gpus = ways_.gpus();
  const auto all = static_cast<double>(call_.tokens) * node_copies() / nodes;
  const double chunk = kernels_.net_chunk_tokens * half();
  TwoStageSchedule::Config config{ways_, counts_, phase_, bytes_, 1, {}};
  const int messages = ways_.ranks() * nodes * (gpus + 1);  // of a group
  const int most = std::clamp(kMessagesMax / messages, kGroupsLeast, kGroupsMax);
  config.groups = std::clamp(static_cast<int>(std::ceil(all / chunk)), 1, most);
  if (one_sided())
    set_one_sided(config);
  else
    set_halves(config);
  return std::make_unique<TwoStageSchedule>(config);
}

/// Normal kernels: half of the SMs face other nodes and receive over NVLink, half forward.
void EpRun::set_halves(TwoStageSchedule::Config& config) {
  const int nodes = ways_.nodes(), gpus = ways_.gpus();
  const auto bytes = static_cast<double>(bytes_);
  const double local = copies(), remote = node_copies();
  const TokenWork& work = costs_.send;
  const double copy =
      costs_.forward *
      (static_cast<double>(work.copy.ps) / 1e12 / gpus +
       (work.rate.bytes_per_s > 0 ? bytes / static_cast<double>(work.rate.bytes_per_s) : 0)) /
      half();
  // What a token costs by itself is spread over the copies of the half that sends.
  const double own = static_cast<double>(work.token.ps) / 1e12 / half() / (local + remote);
  const double outer = copy + own;
  // Half of the SMs have both the far ends of the second stage and the near ones of the first.
  const double share_outer = remote / (local + remote), share_inner = local / (local + remote);
  note_work("SMs that send and receive", phase_ == EpPhase::combine,
            outer * (local + remote) / remote, true);
  note_work("SMs that forward", true, copy, false);
  config.rates.send = rate_of(bytes * share_outer / nodes, outer);
  config.rates.receive = config.rates.send;
  config.rates.local = rate_of(bytes * share_inner / (nodes * gpus), outer);
  config.rates.forward = rate_of(bytes / (nodes * gpus), copy);
}

/// The GPU that a token comes to on a domain hands it on, or adds up what the domain has of it; its
/// NIC does the rest.
void EpRun::set_one_sided(TwoStageSchedule::Config& config) {
  const double local = copies(), remote = node_copies();
  const double token = node_work(local / remote) / call_.sms;
  note_work("SMs that forward", true, token, true);
  const int lanes = ways_.nodes() * forwarded_at_once(ways_.gpus());
  config.rates.forward = rate_of(static_cast<double>(bytes_) / lanes, token * remote / local);
}

/// The busiest link of each kind.
void EpRun::note_links(const Executor<PlainStamp>& machine) {
  const Cluster& cluster = ways_.cluster();
  std::vector<EpResource> kinds = {
      {"NVLink", {}, 0}, {"PCIe", {}, 0}, {"NIC", {}, 0}, {"fabric between switches", {}, 0}};
  for (std::uint32_t id = 0; id < cluster.links(); ++id) {
    const Bytes carried = machine.carried(id);
    if (carried.count == 0) continue;
    const LinkId link{id};
    double rate = static_cast<double>(cluster.link(link).rate.bytes_per_s);
    std::size_t kind = 1;
    if (cluster.is_fabric_link(link)) {
      kind = cluster.is_pool(link) || cluster.is_trunk(link) ? 3 : 2;
      if (kind == 2) rate *= network_share();
    } else if (cluster.node_link(link).kind == LinkKind::nvlink) {
      kind = 0;
      rate *= costs_.nvlink_share;
    }
    const double seconds = static_cast<double>(carried.count) / rate;
    if (seconds <= kinds[kind].share) continue;
    kinds[kind].share = seconds;
    kinds[kind].where = cluster.link_name(link);
  }
  for (EpResource& one : kinds)
    if (one.share > 0) out_.resources.push_back(std::move(one));
}

EpResult EpRun::run() {
  set_fixed();
  const std::unique_ptr<EpSchedule> schedule = two_stages() ? two_stage() : direct();
  Executor<PlainStamp> machine;
  add_links(machine);
  Exchange<PlainStamp> exchange(*schedule, schedule->blocks(), 0, machine.queue(),
                                machine.transit());
  exchange.add_kind({});
  machine.host(exchange);
  machine.run();
  note_links(machine);
  out_.time = out_.fixed + Duration{exchange.makespan().ps};
  out_.events = machine.events();
  out_.digest = machine.digest();
  const double seconds = static_cast<double>(out_.time.ps) / 1e12;
  for (EpResource& one : out_.resources) one.share = std::min(1.0, one.share / seconds);
  out_.resources.push_back(
      {"fixed costs", "every rank",
       static_cast<double>(out_.fixed.ps) / static_cast<double>(out_.time.ps)});
  std::ranges::stable_sort(out_.resources,
                           [](const auto& a, const auto& b) { return a.share > b.share; });
  out_.counted_bytes = static_cast<double>(call_.tokens) * static_cast<double>(bytes_) *
                       (two_stages() ? node_copies() : copies());
  return std::move(out_);
}

}  // namespace

EpRoundTrip ep_round_trip(const EpWays& ways, const ExpertKernels& kernels, const ExpertCall& call,
                          EpMode mode) {
  const TokenCounts counts = count_tokens(call, ways.ranks(), ways.gpus());
  std::int64_t most = 0, all = 0;
  for (int to = 0; to < counts.ranks(); ++to) {
    std::int64_t pairs = 0;
    for (int from = 0; from < counts.ranks(); ++from) pairs += counts.pairs(from, to);
    most = std::max(most, pairs);
    all += pairs;
  }
  const auto lasts = [&](EpPhase phase) {
    return run_ep_kernels(ways, kernels, call, mode, phase, counts).time;
  };
  return {lasts(EpPhase::dispatch), lasts(EpPhase::combine),
          all > 0 ? static_cast<double>(most) * counts.ranks() / static_cast<double>(all) : 1};
}

void add_launch(EpResult& result, Duration launch) {
  if (launch.ps == 0) return;
  const auto before = static_cast<double>(result.time.ps);
  result.launch += launch;
  result.time += launch;
  const auto whole = static_cast<double>(result.time.ps);
  for (EpResource& one : result.resources) one.share *= before / whole;
  result.resources.push_back({"launch", "every rank", static_cast<double>(launch.ps) / whole});
  std::ranges::stable_sort(result.resources, std::ranges::greater{}, &EpResource::share);
}

bool reaches(EpMode mode, int nodes, int gpus) {
  return nodes == 1 ||
         (!stays_in_domain(mode) && (mode != EpMode::normal || gpus <= kForwardedGpus));
}

void check_reach(EpMode mode, int nodes, int gpus) {
  if (nodes == 1) return;
  if (stays_in_domain(mode))
    throw Error(fmt::format("{} kernels stay in one NVLink domain, these GPUs lie in {}",
                            kEpModeWords[mode], nodes),
                "normal, low-latency, hybrid, deepep-v2, nccl-alltoall and hierarchical leave the "
                "domain");
  if (!reaches(mode, nodes, gpus))
    throw Error(fmt::format("normal kernels forward to {} GPUs of a node at most, these nodes have "
                            "{}",
                            kForwardedGpus, gpus),
                "hybrid kernels forward to all GPUs of an NVLink domain");
}

int sms_beside_compute(EpMode mode, int sms, int multiprocessors) {
  if (takes_sms(mode)) return std::min(sms, multiprocessors);
  return stays_in_domain(mode) ? multiprocessors : 0;
}

int low_latency_sms(int experts, int multiprocessors) {
  if (multiprocessors <= 0) return experts;
  const int each = (experts + multiprocessors - 1) / multiprocessors;
  return (experts + each - 1) / each;
}

EpResult run_ep_kernels(const EpWays& ways, const ExpertKernels& kernels, const ExpertCall& call,
                        EpMode mode, EpPhase phase, const TokenCounts& counts) {
  check_reach(mode, ways.nodes(), ways.gpus());
  return EpRun(ways, kernels, call, mode, phase, counts).run();
}

}  // namespace fabricast
