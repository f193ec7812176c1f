// Goal: calls of several communicators at the same time share links, and nothing else.
// Method: a stream alone takes the time of its call alone, to the picosecond, and so do streams
// that share no link; bytes on every link are the sum of those of each; two flows on one NIC, and
// kernels one after another, against closed forms.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/nccl/run/simulation.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

using Carried = std::map<std::uint32_t, std::int64_t>;

void add_carried(Carried& out, const std::vector<LinkLoad>& links) {
  for (const LinkLoad& load : links) out[index_of(load.link)] += load.carried.count;
}

/// A call of some GPUs of some nodes.
CollectiveRun random_call_on(Dice& random, const Cluster& cluster) {
  constexpr std::array kCalls = {Collective::all_reduce,     Collective::all_gather,
                                 Collective::reduce_scatter, Collective::broadcast,
                                 Collective::alltoall,       Collective::sendrecv};
  const auto gpus_all = static_cast<int>(cluster.node().gpus().size());
  CommunicatorConfig config;
  config.version = random.of(releases_with_kernels(cluster.node().gpus().front().part.sm));
  for (const char* assignment : {"NCCL_ALGO=Tree", "NCCL_PROTO=LL", "NCCL_PROTO=Simple",
                                 "NCCL_PXN_DISABLE=1", "NCCL_NVLS_ENABLE=0"}) {
    if (random.pick(0, 5) == 0) config.environment.set(assignment);
  }
  const Collective collective = random.of(kCalls);
  if (collective != Collective::all_reduce) config.environment.set("NCCL_ALGO=Ring,PAT");
  config.members = {
      random_subset(random, static_cast<int>(random.pick(1, cluster.nodes())), cluster.nodes()),
      random_subset(random, static_cast<int>(random.pick(1, gpus_all)), gpus_all)};
  const Communicator made = make_communicator(cluster, config);
  const std::int64_t per_rank = random.pick(1, 60'000);
  return decide_call(made, {collective, per_rank * made.ranks}).run;
}

}  // namespace

TEST_CASE("streams: a stream alone takes the time of its call alone") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(41);
  for (int i = 0; i < cases(20); ++i) {
    const Cluster cluster = load_cluster({random.of(preset_names()), 3, ""}, parts);
    CollectiveRun run = random_call_on(random, cluster);
    run.launches_in_a_row = static_cast<int>(random.pick(1, 8));
    const SimulationResult alone = simulate(cluster, parts.software, run);
    const Instant start{random.pick(0, 3) * 1'234'567};
    const std::vector<Stream> streams = {{{run}, start}};
    const StreamsResult got = simulate(cluster, parts.software, streams);
    CAPTURE(cluster.node().name());
    CAPTURE(to_text(run.collective));
    CAPTURE(to_text(run.algorithm));
    CHECK(got.streams[0].time == alone.time);
    CHECK(got.streams[0].ended == std::vector<Instant>{start + alone.time});
    Carried carried, expected;
    add_carried(carried, got.links);
    add_carried(expected, alone.links);
    CHECK(carried == expected);
    if (is_tuned(run.collective)) CHECK(got.events == alone.events);
  }
}

TEST_CASE("streams: bytes on each link are the sum, few gain, links keep to their rates") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(42);
  int streams_seen = 0, gain = 0;
  for (int i = 0; i < cases(100); ++i) {
    const Cluster cluster = load_cluster({random.of(preset_names()), 3, ""}, parts);
    std::vector<Stream> streams;
    std::vector<Duration> alone;
    Carried expected;
    for (std::int64_t n = random.pick(2, 4); n > 0; --n) {
      Stream& stream = streams.emplace_back();
      stream.start = {random.pick(0, 20'000'000)};
      const auto calls = static_cast<std::size_t>(random.pick(1, 2));  // before the call's draws
      stream.runs.assign(calls, random_call_on(random, cluster));
      alone.emplace_back();
      for (const CollectiveRun& run : stream.runs) {
        const SimulationResult one = simulate(cluster, parts.software, run);
        add_carried(expected, one.links);
        alone.back() = std::max(alone.back(), one.time);
      }
    }
    const StreamsResult got = simulate(cluster, parts.software, streams);
    Carried carried;
    add_carried(carried, got.links);
    CHECK(carried == expected);
    for (const LinkLoad& load : got.links) CHECK(load.utilisation <= 1);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      ++streams_seen;
      gain += got.streams[s].time < alone[s] ? 1 : 0;
      CHECK(got.streams[s].time.ps * 5 >= alone[s].ps * 4);
    }
    if (i % 10 == 0) CHECK(simulate(cluster, parts.software, streams).digest == got.digest);
  }
  // Links serve in order of arrival: a delay can bring an order that ends earlier (R. L. Graham,
  // "Bounds for certain multiprocessing anomalies", 1966). Seen: 6 of 900 streams, by up to 16 %.
  CHECK(gain <= 2 + streams_seen / 100);
}

TEST_CASE("streams: groups that share no link do not feel each other") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 3, ""}, parts);
  for (const Collective collective : {Collective::all_reduce, Collective::alltoall}) {
    // Inside each node; then GPU by GPU across nodes, each with its own NIC and rail.
    std::vector<Members> groups;
    for (int node = 0; node < 3; ++node)
      groups.emplace_back(std::vector<int>{node}, Members::first(1, 8).gpus());
    std::vector<Stream> streams;
    std::vector<Duration> alone;
    const auto add = [&](const Members& members) {
      CommunicatorConfig config;
      config.members = members;
      const Communicator made = make_communicator(cluster, config);
      streams.push_back({{decide_call(made, {collective, 48'000}).run}, {}});
      alone.push_back(simulate(cluster, parts.software, streams.back().runs[0]).time);
    };
    for (const Members& members : groups) add(members);
    for (int gpu = 0; gpu < 8; ++gpu) add({{0, 1, 2}, {gpu}});
    const StreamsResult got = simulate(cluster, parts.software, streams);
    for (std::size_t i = 0; i < streams.size(); ++i) CHECK(got.streams[i].time == alone[i]);
  }
}

namespace {

/// A call of two ranks, GPU `gpu` of two nodes, through NIC 0 and GPUDirect.
CollectiveRun call_over_nic0(Collective collective, int gpu, std::int64_t bytes) {
  CollectiveRun run = ring_call(collective, Protocol::simple, 1, bytes / 4);
  run.members = {{0, 1}, {gpu}};
  run.in_place = true;
  run.transport.gdr_level = PathType::phb;
  return run;
}
/// A broadcast from node 0 in chunks of two slices, one after another: what comes is taken at once.
constexpr Bytes kSlice{1 << 19};
CollectiveRun flow(int gpu, int slices) {
  return call_over_nic0(Collective::broadcast, gpu, slices * kSlice.count);
}

/// Root ports and memory that never limit.
PartsCatalogue parts_without_hosts() {
  PartsCatalogue parts = bare_parts();
  for (auto& [name, cpu] : parts.cpus) {
    cpu.memory_rate = {};
    cpu.root_share = 0;
  }
  return parts;
}

/// hgx-h200-2nic: GPUs 0 to 3 are equally far from NIC 0, each behind a PCIe switch of its own.
struct OneNic {
  PartsCatalogue parts = parts_without_hosts();
  Cluster cluster = load_cluster({"hgx-h200-2nic", 2, ""}, parts);

  std::vector<Duration> times(const std::vector<Stream>& streams) const {
    std::vector<Duration> out;
    for (const StreamResult& one : simulate(cluster, parts.software, streams).streams)
      out.push_back(one.time);
    return out;
  }
  Bandwidth nic_rate() const {
    const VertexId nic = cluster.node().nics()[0].vertex;
    return cluster.link(cluster.nic_to_leaf(0, nic)).rate;
  }
};

}  // namespace

TEST_CASE("streams: two flows on one NIC take turns slice by slice") {
  // T-130's closed form: both at half the rate until the smaller one ends, then the other alone.
  const OneNic two;
  const Duration slice = transfer_time(kSlice, two.nic_rate());
  const Duration latency = two.times({{{flow(0, 2)}, {}}})[0] - slice * 2;
  for (const int a : {2, 4, 8}) {
    for (const int b : {2, 4, 8}) {
      const std::vector<Duration> got = two.times({{{flow(0, a)}, {}}, {{flow(1, b)}, {}}});
      CAPTURE(a);
      CAPTURE(b);
      CHECK(got[0] == latency + slice * (a <= b ? 2 * a - 1 : a + b));
      CHECK(got[1] == latency + slice * (b < a ? 2 * b : b == a ? 2 * b : a + b));
    }
  }
}

TEST_CASE("streams: who comes when the NIC is free again loses nothing") {
  const OneNic two;
  const CollectiveRun first = flow(0, 4), second = flow(1, 4);
  const Duration alone = two.times({{{first}, {}}})[0];
  CHECK(two.times({{{first}, {}}, {{second}, Instant{} + alone}}) ==
        std::vector<Duration>{alone, alone});
  // Half way through: the first has had its slices queued, the second waits for two of them.
  const Duration slice = transfer_time(kSlice, two.nic_rate());
  const std::vector<Duration> late = two.times({{{first}, {}}, {{second}, Instant{} + slice * 2}});
  CHECK(late[0] == alone);
  CHECK(late[1] == alone + slice * 2);
}

TEST_CASE("streams: a stream runs one kernel after another") {
  const OneNic two;
  const CollectiveRun run = call_over_nic0(Collective::all_gather, 0, 3 << 20);
  const Duration alone = two.times({{{run}, {}}})[0];
  // Each call but the first is sent when the other rank has said that it is done: what that takes,
  // less the flag (one PCIe switch) that a sender's proxy waits for meanwhile.
  const Duration flow_of_two = two.times({{{flow(0, 2)}, {}}})[0];
  const Duration latency = flow_of_two - transfer_time(kSlice, two.nic_rate()) * 2;
  const Duration way = latency - nanoseconds(115);
  CHECK(two.times({{{run, run, run}, {}}})[0] == alone * 3 + way * 2);

  // With real software each kernel has its launch, as nccl-tests measures them in a row.
  const PartsCatalogue parts = load_catalogue();
  const std::vector<Stream> streams = {{{run, run}, {}}};
  const StreamsResult got = simulate(two.cluster, parts.software, streams);
  const SimulationResult once = simulate(two.cluster, parts.software, run);
  REQUIRE(got.streams[0].ended.size() == 2);
  CHECK(got.streams[0].ended[0] == Instant{} + once.time);
  CHECK(got.streams[0].time <= once.time * 2);
  CHECK(got.streams[0].time > once.time + once.launch);
}

TEST_CASE(
    "streams: sends and receives beside a collective share the NIC, in one stream they wait") {
  const OneNic two;
  CommunicatorConfig config;
  config.members = {{0, 1}, {1}};
  config.environment.set("NCCL_IB_HCA=mlx5_0");
  const Communicator pair = make_communicator(two.cluster, config);
  const std::int64_t bytes = 8 << 20;
  CollectiveRun send = decide_call(pair, {Collective::sendrecv, bytes / 4}).run;
  const CollectiveRun gather = call_over_nic0(Collective::all_gather, 0, bytes);
  const Duration send_alone = two.times({{{send}, {}}})[0];
  const Duration gather_alone = two.times({{{gather}, {}}})[0];
  const std::vector<Duration> both = two.times({{{send}, {}}, {{gather}, {}}});
  // The NIC has both messages to carry, one after the other at best.
  const Duration least = transfer_time(Bytes{2 * bytes}, two.nic_rate());
  CHECK(std::max(both[0], both[1]) > least);
  CHECK(std::max(both[0], both[1]) <= send_alone + gather_alone);
  CHECK(std::min(both[0], both[1]) > std::min(send_alone, gather_alone));

  send.members = {{0, 1}, {0}};  // the same communicator: one kernel after the other
  const std::vector<Duration> row = two.times({{{send, gather, send}, {}}});
  CHECK(row[0] <= send_alone * 2 + gather_alone);
  CHECK(row[0] > send_alone + gather_alone);
}

namespace {

/// An all-gather of 8 GPUs.
CollectiveRun gather_on(const Cluster& cluster, std::int64_t count,
                        Collective collective = Collective::all_gather) {
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  return decide_call(make_communicator(cluster, config), {collective, count}).run;
}

}  // namespace

TEST_CASE(
    "streams: launches ahead hide behind a kernel that is longer, else the CPU sets the pace") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  // All ranks of a ring end within the time of a hop: calls hardly overlap.
  const CollectiveRun run = gather_on(cluster, 4 << 20);
  const SimulationResult alone = simulate(cluster, parts.software, run);
  const Duration busy = alone.time - alone.launch;
  constexpr int kCalls = 5;
  const auto time = [&](Duration interval, Duration gap) {
    const std::vector<Stream> streams = {{{run}, {}, LaunchesAhead{interval, gap}, kCalls}};
    return simulate(cluster, parts.software, streams).streams[0];
  };
  const StreamResult hidden = time(microseconds(1), {});
  CHECK(hidden.ended.size() == kCalls);
  CHECK(hidden.time <= alone.launch + busy * kCalls);
  CHECK(hidden.time > alone.launch + busy * kCalls - busy);
  // A gap is paid between calls.
  const Duration gap = microseconds(3);
  CHECK(time(microseconds(1), gap).time >= hidden.time + gap * (kCalls - 1));
  CHECK(time(microseconds(1), gap).time <= hidden.time + gap * kCalls);
  // Longer than a call: each runs alone.
  const Duration slow = busy * 2;
  const StreamResult paced = time(slow, {});
  for (int i = 0; i < kCalls; ++i)
    CHECK(paced.ended[static_cast<std::size_t>(i)] == Instant{} + alone.time + slow * i);
  // Without: each waits for the end of the one before, rank by rank.
  const std::vector<Stream> waits = {{{run}, {}, {}, kCalls}};
  const StreamResult after = simulate(cluster, parts.software, waits).streams[0];
  CHECK(after.time > hidden.time + alone.launch * (kCalls - 2));
}

TEST_CASE("streams: an explained one says what launches took, and where the rest went") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const CollectiveRun run = gather_on(cluster, 1 << 18),
                      other = gather_on(cluster, 1 << 16, Collective::alltoall);
  SimulationOptions explain;
  explain.explain = true;
  const SimulationResult alone = simulate(cluster, parts.software, run, explain);
  for (const std::vector<CollectiveRun>& runs :
       {std::vector{run}, std::vector{run, other}, std::vector{other, run, run}}) {
    const std::vector<Stream> streams = {{runs, {}}};
    const StreamsResult plain = simulate(cluster, parts.software, streams),
                        told = simulate(cluster, parts.software, streams, explain);
    CHECK(told.digest == plain.digest);
    CHECK(told.streams[0].time == plain.streams[0].time);
    Duration sum = told.streams[0].launch;
    for (const Duration part : told.streams[0].causes) sum += part;
    CHECK(sum == told.streams[0].time);
    // Every kernel is launched once on the way to the end.
    Duration launches;
    for (const CollectiveRun& one : runs) launches += simulate(cluster, parts.software, one).launch;
    CHECK(told.streams[0].launch == launches);
    if (runs.size() == 1) CHECK(told.streams[0].causes == alone.causes);
  }
}

TEST_CASE("streams: a job that begins later shares the fabric from then on") {
  const PartsCatalogue parts = load_catalogue();
  // Two jobs of two nodes each over one spine: what crosses it is shared.
  const Cluster cluster = load_cluster({"dgx-h100", 4, ""}, parts);
  const auto job = [&](std::vector<int> nodes) {
    CommunicatorConfig config;
    config.version = kNccl2_27_7;
    config.members = {std::move(nodes), {0, 1, 2, 3, 4, 5, 6, 7}};
    return decide_call(make_communicator(cluster, config), {Collective::alltoall, 1 << 18}).run;
  };
  const CollectiveRun a = job({0, 2}), b = job({1, 2});  // node 2 is in both
  const Duration alone = simulate(cluster, parts.software, b).time;
  const Duration of_a = simulate(cluster, parts.software, a).time;
  const auto beside = [&](Instant start) {
    const std::vector<Stream> streams = {{{a}, {}}, {{b}, start}};
    return simulate(cluster, parts.software, streams).streams[1].time;
  };
  CHECK(beside({}).ps > alone.ps * 5 / 4);
  CHECK(beside(Instant{} + of_a) == alone);
  CHECK(beside(Instant{of_a.ps / 2}) < beside({}));
}

TEST_CASE("streams: on every rung a stream of one call takes the time of that call") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  for (const Rung rung : {Rung::flow, Rung::packet}) {
    SimulationOptions options;
    options.network.rung = rung;
    for (const Collective collective : {Collective::all_gather, Collective::alltoall}) {
      const CollectiveRun run = gather_on(cluster, 1 << 16, collective);
      const SimulationResult alone = simulate(cluster, parts.software, run, options);
      const std::vector<Stream> one = {{{run}, {}}}, two = {{{run, run}, {}}};
      CHECK(simulate(cluster, parts.software, one, options).streams[0].time == alone.time);
      const StreamsResult both = simulate(cluster, parts.software, two, options);
      CHECK(both.streams[0].time * 2 > alone.time * 3);
      CHECK(both.streams[0].time <= alone.time * 2);
    }
  }
}

TEST_CASE("streams: what a link loses in one stream, the others do not wait for") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 4, ""}, parts);
  const auto pair = [&](int from, int to) {
    CommunicatorConfig config;
    config.version = kNccl2_27_7;
    config.members = {{from, to}, {0}};
    return decide_call(make_communicator(cluster, config), {Collective::sendrecv, 1 << 10}).run;
  };
  CollectiveRun hit = pair(0, 1);
  const CollectiveRun spared = pair(2, 3);
  const Duration alone = simulate(cluster, parts.software, spared).time;
  const VertexId nic = cluster.node().nics()[0].vertex;
  const LinkId out = cluster.fabric_route(0, nic, 1, nic).front();
  hit.faults.outages = {{out, {}}};
  hit.faults.retry = {microseconds(100), 2};
  const std::vector<Stream> streams = {{{hit, hit}, {}}, {{spared}, {}}};
  const StreamsResult got = simulate(cluster, parts.software, streams);
  CHECK(got.losses.gave_up);
  CHECK(got.losses.link == index_of(out));
  CHECK(got.time == got.losses.given_up - Instant{});
  CHECK(got.streams[0].ended[1] == got.losses.given_up);
  CHECK(got.streams[1].time == alone);
}
