// Goal: groups of sends and receives move every byte once, over the ways NCCL picks, and end.
// Method: seeded random clusters, environments and matrices of messages against a ledger that walks
// pairs, not blocks; closed forms for two ranks; PXN's rails.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/nccl/communicator/p2p_call.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/nccl/schedules/p2p_schedule.hpp"
#include "models/nccl/schedules/p2p_shares.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

Communicator communicator_on(const Cluster& cluster, NcclVersion version,
                             const std::vector<std::string>& environment,
                             const Members& members = {}) {
  CommunicatorConfig config;
  config.version = version;
  config.members = members;
  for (const std::string& assignment : environment) config.environment.set(assignment);
  return make_communicator(cluster, config);
}

using Pair = std::pair<std::uint32_t, std::uint32_t>;  ///< of blocks

/// What should happen, pair by pair.
struct P2pLedger {
  std::map<std::uint32_t, std::int64_t> links;  ///< wire bytes
  std::set<Pair> messages;
  std::uint64_t chunks = 0;

  P2pLedger(const P2pSchedule::Config& config) : config_(config) {
    const P2pRules& rules = config.plan.rules;
    const P2pRounds rounds(rules.version, config.members.node_count(),
                           config.members.gpus_per_node(), config.plan.group_size);
    for (int round = 0; round < rounds.count(); ++round) {
      for (int from = 0; from < config.traffic.ranks(); ++from) {
        const int to = rounds.send_peer(from, round);
        if (to == kNoPeer || to == from || config.traffic.bytes(from, to) < 0) continue;
        add(from, to, rounds.base(round, from, to));
      }
    }
    std::erase_if(links, [](const auto& entry) { return entry.second == 0; });
  }

 private:
  void add(int from, int to, int base) {
    const P2pRules& rules = config_.plan.rules;
    const Bytes message{config_.traffic.bytes(from, to)};
    // Two GPUs of a node may have no better way than their NICs.
    const bool remote =
        from / config_.members.gpus_per_node() != to / config_.members.gpus_per_node() ||
        !transport(from, to, 0, Protocol::simple).network.empty();
    const P2pSplit split = p2p_split(rules, message, remote);
    for (int i = 0; i < split.parts; ++i) {
      const P2pPart part = p2p_part(rules, message, split, i, remote);
      const int channels = rules.channels.channels;
      const int channel = p2p_channel(rules.version, channels, base, i);
      messages.insert({static_cast<std::uint32_t>(from * channels + channel),
                       static_cast<std::uint32_t>(to * channels + channel)});
      std::int64_t wire = 0;
      for (std::int64_t at = 0; at == 0 || at < part.size.count; at += part.chunk.count) {
        const Bytes chunk{std::min(part.chunk.count, part.size.count - at)};
        wire += wire_format(part.protocol).on_wire(chunk).count;
        ++chunks;
      }
      const Transport way = transport(from, to, channel, part.protocol);
      for (const LinkId link : way.into_slots) links[index_of(link)] += wire;
      for (const LinkId link : way.network) links[index_of(link)] += wire;
    }
  }

  Transport transport(int from, int to, int channel, Protocol protocol) const {
    const int gpus = config_.members.gpus_per_node();
    const Members& members = config_.members;
    Endpoint a{members.node(from), members.gpu(from), 0}, b{members.node(to), members.gpu(to), 0};
    int proxy = from % gpus;
    if (a.node != b.node) {
      const P2pExit exit = config_.plan.nics.exit(from % gpus, to % gpus, channel);
      proxy = exit.proxy_gpu;
      a.nic = exit.nic;
      b.nic = config_.plan.nics.entry(to % gpus, channel);
    }
    return plan_transport(config_.cluster, config_.members.gpus(), protocol, a, b,
                          config_.transport, members.gpu(proxy));
  }

  const P2pSchedule::Config& config_;
};

std::vector<std::string> random_environment(Dice& random) {
  std::vector<std::string> out;
  for (const char* assignment :
       {"NCCL_PXN_DISABLE=1", "NCCL_P2P_PXN_LEVEL=1", "NCCL_P2P_PXN_LEVEL=0", "NCCL_CROSS_NIC=0",
        "NCCL_ALLOC_P2P_NET_LL_BUFFERS=1", "NCCL_NET_SHARED_BUFFERS=0", "NCCL_NET_GDR_LEVEL=LOC",
        "NCCL_NCHANNELS_PER_NET_PEER=4", "NCCL_P2P_NET_CHUNKSIZE=65536",
        "NCCL_P2P_LL_THRESHOLD=100000", "NCCL_MAX_P2P_NCHANNELS=4"}) {
    if (random.pick(0, 5) == 0) out.emplace_back(assignment);
  }
  return out;
}

/// Some pairs without a message, some with an empty one, most uneven.
P2pTraffic random_traffic(Dice& random, int ranks) {
  const Bytes each{random.pick(1, 300'000)};
  if (random.pick(0, 2) == 0) {
    constexpr std::array kinds = {Collective::alltoall, Collective::sendrecv, Collective::gather,
                                  Collective::scatter};
    return {random.of(kinds), ranks, each, static_cast<int>(random.pick(0, ranks - 1))};
  }
  std::vector<std::int64_t> matrix;
  const std::int64_t most = std::int64_t{1} << random.pick(4, 21);
  for (int i = 0; i < ranks * ranks; ++i) {
    const std::int64_t kind = random.pick(0, 9);
    matrix.push_back(kind == 0 ? P2pTraffic::kNone : kind == 1 ? 0 : random.pick(1, most));
  }
  return {ranks, matrix};
}

CollectiveRun run_of(const P2pSchedule::Config& config) {
  CollectiveRun out;
  out.version = config.plan.rules.version;
  out.collective = Collective::alltoall;
  out.protocol = Protocol::simple;
  out.count = 1;
  out.element_bytes = 1;
  out.in_place = config.in_place;
  out.channels = out.communicator_channels = config.plan.rules.channels.channels;
  out.members = config.members;
  out.transport = config.transport;
  out.p2p = config.plan;
  out.traffic = &config.traffic;
  return out;
}

/// Parts of ways: whether a relay is behind, or before, and links.
using WayParts = std::set<std::pair<bool, std::vector<std::uint32_t>>>;

/// What the schedule tells of its ways without asking for batches is what all batches say.
void check_ways(const P2pSchedule& schedule) {
  std::array<WayParts, 2> told, asked;  // to the slots, and from there on
  const auto into = [](std::array<WayParts, 2>& parts) {
    return [&parts](const ExchangeWay& way) {
      if (!way.near.empty()) parts[0].insert({way.relayed, way.near});
      if (!way.far.empty()) parts[1].insert({way.relayed, way.far});
    };
  };
  const std::uint64_t chunks = schedule.each_way(schedule.blocks(), into(told));
  CHECK(chunks == schedule.ExchangeSchedule::each_way(schedule.blocks(), into(asked)));
  CHECK(chunks == schedule.chunks());
  CHECK(told == asked);
}

/// visit(block, batch) for each batch of each block.
template <class Visit>
void each_batch(const P2pSchedule& schedule, const Visit& visit) {
  ExchangeBatch batch;
  for (std::uint32_t block = 0; block < schedule.blocks(); ++block)
    for (std::uint32_t cursor = 0; schedule.next(block, cursor, batch);) visit(block, batch);
}

void check_schedule(const P2pSchedule& schedule, const P2pLedger& ledger) {
  check_ways(schedule);
  std::set<Pair> sent, received;
  std::size_t sends = 0, receives = 0;
  each_batch(schedule, [&](std::uint32_t block, const ExchangeBatch& batch) {
    REQUIRE(std::max(batch.sends.size(), batch.receives.size()) <= 8);
    const auto place = [&](std::uint32_t number) { return schedule.places().place(number); };
    for (const ExchangeLane& lane : batch.sends) sent.insert({place(block), place(lane.peer)});
    for (const ExchangeLane& lane : batch.receives)
      received.insert({place(lane.peer), place(block)});
    sends += batch.sends.size();
    receives += batch.receives.size();
  });
  CHECK(sent == ledger.messages);
  CHECK(received == ledger.messages);
  CHECK(sends == ledger.messages.size());  // none twice
  CHECK(receives == ledger.messages.size());
}

/// A preset with one GPU and NIC per node, or two GPUs of one node, that costs nothing but links.
struct TwoRanks {
  PartsCatalogue parts = bare_parts();
  Cluster cluster;
  Communicator communicator;

  TwoRanks(const std::string& preset, int nodes)
      : cluster(load_cluster({preset, nodes, ""}, parts)),
        communicator(communicator_on(cluster, kNccl2_21_5, {}, Members::first(nodes, 2 / nodes))) {}

  DecidedCall decide(std::int64_t bytes) const {
    return decide_p2p_call(communicator, {Collective::sendrecv, bytes / 4, 4, 0});
  }
  std::int64_t run_ps(std::int64_t bytes) const {
    return simulate(cluster, parts.software, decide(bytes).run).time.ps;
  }
  Duration latency(const std::vector<LinkId>& links) const {
    Duration sum;
    for (const LinkId link : links) sum += cluster.link(link).latency;
    return sum;
  }
  Bandwidth slowest(const std::vector<LinkId>& links) const {
    Bandwidth rate{INT64_MAX};
    for (const LinkId link : links) rate = std::min(rate, cluster.link(link).rate);
    return rate;
  }
};

}  // namespace

TEST_CASE("any exchange: every message once, bytes conserved on every link, it ends and repeats") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(11);
  for (int i = 0; i < cases(60); ++i) {
    const std::string name = random.of(preset_names());
    const int nodes = static_cast<int>(random.pick(1, 9));
    const int nodes_all = nodes + static_cast<int>(random.pick(0, 1));
    const Cluster cluster = load_cluster({name, nodes_all, ""}, parts);
    const auto gpus_max = std::min<std::int64_t>(
        static_cast<std::int64_t>(cluster.node().gpus().size()), nodes > 4 ? 4 : 8);
    const int gpus = static_cast<int>(
        random.pick(nodes == 1 ? std::min<std::int64_t>(2, gpus_max) : 1, gpus_max));
    if (nodes * gpus < 2) continue;
    const Members members(
        random_subset(random, nodes, nodes_all),
        random_subset(random, gpus, static_cast<int>(cluster.node().gpus().size())));
    const std::vector<std::string> environment = random_environment(random);
    const NcclVersion version =
        random.of(releases_with_kernels(cluster.node().gpus().front().part.sm));
    CAPTURE(i);
    CAPTURE(name);
    CAPTURE(nodes);
    CAPTURE(gpus);
    CAPTURE(to_text(version));
    for (const std::string& assignment : environment) CAPTURE(assignment);
    const Communicator communicator = communicator_on(cluster, version, environment, members);
    const P2pPlan plan = p2p_plan(communicator);
    const TransportRules rules = transport_rules(communicator);
    if (!rules.domain_nics.empty()) continue;  // the ledger knows no groups of a host
    const P2pTraffic traffic = random_traffic(random, nodes * gpus);
    const P2pSchedule::Config config{cluster, parts.software,        members, plan, traffic,
                                     rules,   random.pick(0, 1) == 0};
    const P2pLedger ledger(config);
    check_schedule(P2pSchedule(config), ledger);

    const CollectiveRun run = run_of(config);
    const SimulationResult got = simulate(cluster, parts.software, run);
    std::map<std::uint32_t, std::int64_t> carried;
    for (const LinkLoad& load : got.links) carried[index_of(load.link)] = load.carried.count;
    CHECK(carried == ledger.links);
    CHECK(got.slices == ledger.chunks);
    for (const LinkLoad& load : got.links) CHECK(load.utilisation <= 1);
    CHECK(*std::ranges::max_element(got.rank_finish) == got.time - got.launch);

    SimulationOptions explain;
    explain.explain = true;
    const SimulationResult explained = simulate(cluster, parts.software, run, explain);
    CHECK(explained.digest == got.digest);
    CHECK(explained.time == got.time);
    CHECK(explained.rank_finish == got.rank_finish);
    Duration sum;
    for (const Duration part : explained.causes) sum += part;
    CHECK(sum == got.time - got.launch);
  }
}

TEST_CASE("two ranks on NVLink: their bytes, one way each") {
  const TwoRanks two("dgx-h100", 1);
  const Transport way = plan_transport(two.cluster, Members::first(1, 2).gpus(), Protocol::simple,
                                       {0, 0, 0}, {0, 1, 0});
  for (const std::int64_t bytes : {std::int64_t{1} << 20, std::int64_t{64} << 20}) {
    const DecidedCall call = two.decide(bytes);
    const P2pCut cut = *p2p_cut(call.run, 2, false);
    Duration crossing;
    for (int i = 0; i < cut.split.parts; ++i) {
      const std::int64_t size = cut.split.size(i, {bytes}).count;
      for (std::int64_t at = 0; at < size; at += cut.part.chunk.count) {
        const Bytes chunk{std::min(cut.part.chunk.count, size - at)};
        crossing += transfer_time(chunk, two.slowest(way.into_slots));
      }
    }
    CHECK(two.run_ps(bytes) == (crossing + two.latency(way.into_slots)).ps);
  }
}

TEST_CASE("the last of several messages comes later by the spread, for each doubling of them") {
  // Small messages over NVSwitches, one chunk each: of two ranks each gets one and waits for no
  // other; of four each gets three, of eight seven.
  PartsCatalogue parts = bare_parts();
  const auto time = [&](int gpus, Duration spread) {
    parts.software.message_spread = spread;
    const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
    const Communicator communicator =
        communicator_on(cluster, kNccl2_27_7, {}, Members::first(1, gpus));
    const DecidedCall call = decide_p2p_call(communicator, {Collective::alltoall, 64, 4, 0});
    return simulate(cluster, parts.software, call.run).time.ps;
  };
  const Duration spread = nanoseconds(500);
  for (const int gpus : {2, 4, 8}) {
    CAPTURE(gpus);
    const double doublings = std::log2(gpus - 1);
    CHECK(time(gpus, spread) - time(gpus, {}) ==
          static_cast<std::int64_t>(std::llround(500'000 * doublings)));
  }
}

TEST_CASE("two ranks over the network: the clear-to-send crosses while the kernel starts") {
  const TwoRanks two("dgx-h100", 2);
  const P2pNics nics = p2p_plan(two.communicator).nics;
  const Transport way = plan_transport(two.cluster, Members::first(1, 1).gpus(), Protocol::simple,
                                       {0, 0, nics.exit(0, 0, 0).nic}, {1, 0, nics.entry(0, 0)});
  REQUIRE(way.into_slots.empty());
  const Duration there = two.latency(way.network);
  constexpr std::int64_t bytes = 4096;  // one chunk
  // What the receiver posts and the flag of what the GPU wrote are on their way at the same time.
  CHECK(two.run_ps(bytes) ==
        (way.sender_flag + there + transfer_time({bytes}, two.slowest(way.network))).ps);
  // Large: the NIC is never idle, but for the first clear-to-send and the last way.
  constexpr std::int64_t large = std::int64_t{256} << 20;
  const Duration wire = transfer_time({large}, two.slowest(way.network));
  CHECK(two.run_ps(large) >= (wire + there).ps);
  CHECK(two.run_ps(large) <= (wire + there * 2 + microseconds(1)).ps);
}

TEST_CASE("PXN: messages take the receiver's rail") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const auto crosses_spines = [&](const std::vector<std::string>& environment) {
    const Communicator communicator = communicator_on(cluster, kNccl2_21_5, environment);
    const DecidedCall call = decide_p2p_call(communicator, {Collective::alltoall, 1 << 16, 4, 0});
    const SimulationResult got = simulate(cluster, parts.software, call.run);
    return std::ranges::any_of(got.links, [&](const LinkLoad& load) {
      return cluster.link_name(load.link).find("spine") != std::string::npos;
    });
  };
  const auto nics = [&](const std::vector<std::string>& environment) {
    return p2p_plan(communicator_on(cluster, kNccl2_21_5, environment)).nics;
  };
  const P2pNics usual = nics({}), off = nics({"NCCL_PXN_DISABLE=1"}),
                no_cross = nics({"NCCL_PXN_DISABLE=1", "NCCL_CROSS_NIC=0"}),
                level_0 = nics({"NCCL_P2P_PXN_LEVEL=0"});
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      CHECK(usual.exit(from, to, 0) == P2pExit{usual.entry(to, 0), to});
      CHECK(off.exit(from, to, 0) == P2pExit{usual.entry(from, 0), from});
      CHECK(no_cross.exit(from, to, 0) == P2pExit{usual.entry(to, 0), from});
      CHECK(level_0.exit(from, to, 0) == off.exit(from, to, 0));
    }
  }
  CHECK_FALSE(crosses_spines({}));
  CHECK(crosses_spines({"NCCL_PXN_DISABLE=1"}));
}

TEST_CASE("PXN: what one proxy sends is received together, over verbs") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  // How many receives from the other node are posted together, at least and at most.
  const auto joint = [&](const std::vector<std::string>& environment) {
    const Communicator communicator = communicator_on(cluster, kNccl2_21_5, environment);
    const P2pPlan plan = p2p_plan(communicator);
    const TransportRules rules = transport_rules(communicator);
    const P2pTraffic traffic(Collective::alltoall, 16, {1 << 16});
    const Members members = Members::first(2, 8);
    const P2pSchedule schedule({cluster, parts.software, members, plan, traffic, rules, false});
    std::set<std::uint32_t> out;
    each_batch(schedule, [&](std::uint32_t block, const ExchangeBatch& batch) {
      for (const ExchangeLane& lane : batch.receives) {
        const auto node = [&](std::uint32_t number) {
          return schedule.places().place(number) / (schedule.blocks() / 2);
        };
        const bool is_remote = node(lane.peer) != node(block);
        if (is_remote) out.insert(lane.joint);
        if (!is_remote) CHECK(lane.joint == 1);
      }
    });
    return out;
  };
  CHECK(joint({}) == std::set<std::uint32_t>{8});
  CHECK(joint({"NCCL_PXN_DISABLE=1"}) == std::set<std::uint32_t>{1});
  CHECK(joint({"NCCL_NET=Socket"}) == std::set<std::uint32_t>{1});
}

TEST_CASE("GPUs of a node that only the network joins send by Simple, each by its own proxy") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const Communicator communicator =
      communicator_on(cluster, kNccl2_27_7,
                      {"NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1", "NCCL_P2P_NET_CHUNKSIZE=65536"});
  const CollectiveRun run = decide_call(communicator, {Collective::alltoall, 1 << 8}).run;
  const P2pTraffic traffic(Collective::alltoall, 16, {1 << 10});
  const P2pSchedule schedule(
      {cluster, parts.software, run.members, run.p2p, traffic, run.transport, false});
  const P2pRules& rules = run.p2p.rules;
  const auto chunk = [&](bool over_net) {
    const P2pSplit split = p2p_split(rules, {1 << 10}, over_net);
    return p2p_part(rules, {1 << 10}, split, 0, over_net).chunk;
  };
  REQUIRE(chunk(true) != chunk(false));
  const std::uint32_t per_rank = schedule.blocks() / 16;
  ExchangeWay way;
  int messages = 0;
  each_batch(schedule, [&](std::uint32_t block, const ExchangeBatch& batch) {
    for (const ExchangeLane& lane : batch.sends) {
      schedule.way(block, lane, way);
      CHECK(way.relayed);
      CHECK(way.send_thread == schedule.places().place(block) / per_rank);
      CHECK(lane.chunk == chunk(true));
      ++messages;
    }
  });
  CHECK(messages == 16 * 15);
}

TEST_CASE("alike groups of a host: sends and receives have the channels that they find") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"rtx-pro-6000-8:nics=8", 2, ""}, parts);
  const Communicator made =
      communicator_on(cluster, kNccl2_30_7,
                      {"NCCL_P2P_LEVEL=PHB", "NCCL_SHM_DISABLE=1", "NCCL_NETDEVS_POLICY=MAX:1"});
  REQUIRE(made.joined.size() == 1);
  REQUIRE(!made.domain_nics.empty());
  CHECK(p2p_plan(made).rules.channels.channels == 4);
}

TEST_CASE("messages that begin beside multiples of 16 bytes are copied byte by byte") {
  const P2pTraffic odd(Collective::alltoall, 4, {(1 << 20) + 8});
  CHECK(P2pTraffic(Collective::alltoall, 4, {1 << 20}).is_aligned(1, 16));
  CHECK(!odd.is_aligned(1, 16));
  CHECK(odd.is_aligned(1, 8));
  // One message begins where its buffer does; of a matrix nothing is known.
  CHECK(P2pTraffic(Collective::sendrecv, 4, {1001}).is_aligned(1, 16));
  CHECK(P2pTraffic(2, {1001, 1001, 1001, 1001}).is_aligned(1, 16));
  const P2pTraffic scattered(Collective::scatter, 4, {1001}, 2);
  CHECK(!scattered.is_aligned(2, 16));
  CHECK(scattered.is_aligned(1, 16));

  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  const Communicator communicator = communicator_on(cluster, kNccl2_21_5, {});
  const P2pPlan plan = p2p_plan(communicator);
  const TransportRules rules = transport_rules(communicator);
  const Members members = Members::first(1, 8);
  struct Rates {
    double send = 0, receive = 0, copy = 0;
  };
  const auto rates = [&](std::int64_t each) {
    const P2pTraffic traffic(Collective::alltoall, 8, {each});
    const P2pSchedule schedule({cluster, parts.software, members, plan, traffic, rules, false});
    Rates out;
    each_batch(schedule, [&](std::uint32_t /*block*/, const ExchangeBatch& batch) {
      const auto add = [](double& sum, Bandwidth rate) {
        sum += static_cast<double>(rate.bytes_per_s);
      };
      for (const ExchangeLane& lane : batch.sends) add(out.send, lane.rate);
      for (const ExchangeLane& lane : batch.receives) add(out.receive, lane.rate);
      for (const ExchangeBatch::Copy& copy : batch.copies) add(out.copy, copy.rate);
    });
    return out;
  };
  const Rates whole = rates(1 << 20), bytes = rates((1 << 20) + 8);
  CHECK(whole.send == doctest::Approx(16 * bytes.send).epsilon(1e-3));
  CHECK(whole.receive == doctest::Approx(16 * bytes.receive).epsilon(1e-3));
  CHECK(whole.copy == doctest::Approx(16 * bytes.copy).epsilon(1e-3));
  // LL does not copy so: what a rank keeps is copied by Simple, though.
  const Rates small = rates(1 << 10), odd_small = rates((1 << 10) + 8);
  CHECK(small.send == doctest::Approx(odd_small.send).epsilon(1e-3));
  CHECK(small.copy == doctest::Approx(16 * odd_small.copy).epsilon(1e-3));
}

TEST_CASE("chunks of next to nothing are refused") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const auto error = [&](const char* chunk) {
    return error_text([&] { p2p_plan(communicator_on(cluster, kNccl2_21_5, {chunk})); });
  };
  CHECK(error("NCCL_P2P_NET_CHUNKSIZE=0").starts_with("sends and receives in chunks of 0 bytes"));
  CHECK(error("NCCL_P2P_NET_CHUNKSIZE=511").starts_with("sends and receives in chunks of 511"));
  CHECK(p2p_plan(communicator_on(cluster, kNccl2_21_5, {"NCCL_P2P_NET_CHUNKSIZE=512"}))
            .rules.channels.chunk.count == 512);
}

TEST_CASE("gather fills the root's ports, scatter empties them; sendrecv loads all alike") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  const Communicator communicator = communicator_on(cluster, kNccl2_21_5, {});
  const auto carried = [&](Collective collective, int root) {
    const std::int64_t count = 1 << 20;
    const DecidedCall call = decide_p2p_call(communicator, {collective, count, 4, root});
    std::map<std::string, std::int64_t> out;
    for (const LinkLoad& load : simulate(cluster, parts.software, call.run).links)
      out[cluster.link_name(load.link)] = load.carried.count / (count * 4);
    return out;
  };
  const auto gathered = carried(Collective::gather, 3);
  const auto scattered = carried(Collective::scatter, 5);
  const auto shifted = carried(Collective::sendrecv, 0);
  const auto of = [](const std::map<std::string, std::int64_t>& links, const std::string& part) {
    for (const auto& [name, messages] : links)
      if (name.find(part) != std::string::npos) return messages;
    return std::int64_t{0};
  };
  CHECK(of(gathered, "-> gpu3") == 7);
  CHECK(of(gathered, "gpu0 ->") == 1);
  CHECK(of(scattered, "gpu5 ->") == 7);
  CHECK(of(scattered, "-> gpu0") == 1);
  CHECK(shifted.size() == 16);
  for (const auto& [name, messages] : shifted) CHECK(messages == 1);
}

TEST_CASE("a round without the other direction has the warps of both") {
  struct Case {
    int rounds;
    P2pWarps warps;
  };
  // 20 warps: 20, 10, 5, 4 and 2 for each round, 19, 9, 5, 4 and 2 of them used.
  for (const Case& one : {Case{1, {9, 18, 19, 19}}, Case{2, {4, 8, 9, 9}}, Case{4, {2, 4, 5, 5}},
                          Case{5, {2, 3, 4, 4}}, Case{8, {1, 2, 2, 2}}}) {
    CAPTURE(one.rounds);
    const P2pWarps got = p2p_warps(kNccl2_27_7, one.rounds, 1, 1);
    CHECK(got.shared == one.warps.shared);
    CHECK(got.lone_send == one.warps.lone_send);
    CHECK(got.lone_receive == one.warps.lone_receive);
    CHECK(got.copy == one.warps.copy);
  }
}

TEST_CASE("gather and scatter are as fast as the root's ports, with few GPUs and over nodes") {
  // Measured, NCCL 2.29.3, 8 x B200 (mghpcc/aicr-benchmarks): 704 to 717 GB/s of bus bandwidth of
  // gathers on two to eight GPUs, 709 to 747 of scatters, where half a block's warps would reach
  // 370 of two and three; on two nodes, eight NICs of 400 Gb/s each, a scatter 293.
  const PartsCatalogue parts = load_catalogue();
  const auto bus_bandwidth = [&](Collective collective, int nodes, int gpus) {
    const Cluster cluster = load_cluster({"hgx-b200", nodes, ""}, parts);
    const Communicator communicator =
        communicator_on(cluster, kNccl2_29, {}, Members::first(nodes, gpus));
    const std::int64_t count = std::int64_t{256} << 20, others = nodes * gpus - 1;
    const DecidedCall call = decide_p2p_call(communicator, {collective, count, 4, 0});
    const double us =
        static_cast<double>(simulate(cluster, parts.software, call.run).time.ps) / 1e6;
    return static_cast<double>(count * 4 * others) / us / 1e3;
  };
  for (const int gpus : {2, 3, 8}) {
    CAPTURE(gpus);
    CHECK(bus_bandwidth(Collective::gather, 1, gpus) > 660);
    CHECK(bus_bandwidth(Collective::scatter, 1, gpus) > 660);
  }
  CHECK(bus_bandwidth(Collective::scatter, 2, 8) > 220);
}
