// Goal: simulate() charges every byte and every cost once and in its place.
// Method: closed forms to the picosecond where nothing queues, with software that costs nothing and
// blocks that copy infinitely fast.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "models/nccl/call/launch.hpp"
#include "models/nccl/call/transport.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

// One DGX H100: GPU to NVSwitch and on to a GPU, 18 links x 25 GB/s x 0.824, in 120 ns.
constexpr Bandwidth kNvlink{370'800'000'000};
constexpr Duration kHop = nanoseconds(330);
// A full LL chunk: 8192 float32 are 32 KiB of data and 64 KiB on the wire.
constexpr std::int64_t kLlChunk = 8192;
constexpr Duration kLlTime = transfer_time(Bytes{65'536}, kNvlink);

}  // namespace

TEST_CASE("ring on one NVSwitch node: 2(n-1)(latency + chunk/rate), to the picosecond") {
  // LL, one channel, one loop of n equal chunks: a step is one slice over two links, cut through.
  static_assert(kLlTime.ps == 176'743);  // 65536 / 370.8e9 = 176,742.2 ps, rounded up
  const Bench node("dgx-h100", 1, bare_parts());
  for (const NcclVersion version : kModelledVersions) {
    for (int n = 2; n <= 8; ++n) {
      // 2.21 rounds chunks to 1024 elements (8 B x 512 threads), later ones to 4.
      for (const std::int64_t chunk : {std::int64_t{1024}, kLlChunk}) {
        CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll, n, n * chunk);
        run.version = version;
        const Duration step = kHop + transfer_time(Bytes{2 * 4 * chunk}, kNvlink);
        const SimulationResult all_reduce = node.run(run);
        CHECK(all_reduce.time == step * (2 * (n - 1)));
        CHECK(all_reduce.launch == Duration{});
        CHECK(all_reduce.slices == static_cast<std::uint64_t>(n * (2 * n - 1)));
        CHECK(all_reduce.events == all_reduce.slices);
        // Every rank ends with the last receive, all at once.
        for (const Duration finish : all_reduce.rank_finish) CHECK(finish == all_reduce.time);

        run.count = chunk;  // per rank: the share is one chunk
        run.collective = Collective::all_gather;
        CHECK(node.run(run).time == step * (n - 1));
        run.collective = Collective::reduce_scatter;
        CHECK(node.run(run).time == step * (n - 1));
      }
    }
  }
}

TEST_CASE("ring, Simple: the second slice of a chunk follows one slice time behind") {
  // Full chunks of 2 MiB in two slices of 1 MiB, t = 1 MiB / 370.8 GB/s > 120 ns. A rank hands the
  // first slice on while the second arrives: steps start 2t apart, and the last slice arrives a
  // latency after the link is done. The next loop begins when this rank's last receive has ended.
  const Duration t = transfer_time(Bytes{1 << 20}, kNvlink);
  const Bench node("dgx-h100", 1, bare_parts());
  for (const int loops : {1, 2, 5}) {
    for (const int n : {2, 3, 8}) {
      const std::int64_t chunk = 2 << 18;
      const CollectiveRun run =
          ring_call(Collective::all_reduce, Protocol::simple, n, loops * n * chunk);
      CHECK(node.run(run).time == (t * (2 * 2 * (n - 1)) + kHop) * loops);
    }
  }
}

TEST_CASE("broadcast and reduce: a chain from or to the root, one chunk behind the other") {
  // n - 1 hops for the first chunk, then one chunk per link time. The root's place does not matter.
  const Bench node("dgx-h100", 1, bare_parts());
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    for (const int chunks : {1, 2, 7, 40}) {
      for (const int root : {0, 3, 7}) {
        CollectiveRun run = ring_call(collective, Protocol::ll, 8, chunks * kLlChunk);
        run.root = root;
        run.graph.channels[0].gpu_order = {3, 1, 4, 0, 5, 2, 6, 7};
        CHECK(node.run(run).time == (kHop + kLlTime) * 7 + kLlTime * (chunks - 1));
      }
    }
  }
}

TEST_CASE("tree on one node is a chain: up to its head and down again") {
  const Bench node("dgx-h100", 1, bare_parts());
  const Duration step = kHop + kLlTime;
  SUBCASE("one chunk: 2(n-1) steps") {
    for (int n = 2; n <= 8; ++n)
      CHECK(node.run(tree_call(Protocol::ll, n, kLlChunk)).time == step * (2 * (n - 1)));
  }
  SUBCASE("two GPUs: up and down use different links, so chunks follow each other") {
    for (const int chunks : {2, 8, 50})
      CHECK(node.run(tree_call(Protocol::ll, 2, chunks * kLlChunk)).time ==
            step * 2 + kLlTime * (chunks - 1));
  }
  SUBCASE(
      "three GPUs, two chunks: the middle one's link is free again before the first comes down") {
    // Chunk 1 leaves GPU 1 upwards until 3t + l; chunk 0 comes down to it at 3(t + l).
    CHECK(node.run(tree_call(Protocol::ll, 3, 2 * kLlChunk)).time == step * 4 + kLlTime);
  }
  SUBCASE("three GPUs, many chunks: the middle one's port carries each chunk up and down") {
    // It is first used after one step, has 2k slices of t to carry, and the last of them still
    // needs a latency. Once chunks come down it is never idle: at most the four hops come on top.
    const std::int64_t k = 500;
    const Duration time = node.run(tree_call(Protocol::ll, 3, k * kLlChunk)).time;
    CHECK(time >= step + kLlTime * (2 * k) + kHop);
    CHECK(time <= step * 4 + kLlTime * (2 * k));
  }
}

TEST_CASE("eight slots: with tiny chunks a tree waits for its credits") {
  // NCCL_LL_BUFFSIZE = 32 KiB: chunks of 2 KiB are 4 KiB on the wire, t = 4096 / 370.8 GB/s. With a
  // latency l and a flag that is polled s after it came, a slot is seen full t + l + s after its
  // chunk started and seen free another l + s later; eight chunks take 8t, less. So every eight
  // chunks start t + 2(l + s) after the eight before. The root hands a chunk on at once: its own
  // slots free in the same rhythm.
  PartsCatalogue parts = bare_parts();
  for (const Duration poll : {Duration{}, nanoseconds(300)}) {
    parts.software.protocol[index_of(Protocol::ll)].sync[static_cast<int>(HopKind::nvlink)] = poll;
    const Bench node("dgx-h100", 1, parts);
    const Duration t = transfer_time(Bytes{4096}, kNvlink);
    const Duration cycle = t + (kHop + poll) * 2;
    REQUIRE(t * 8 < cycle);
    for (const std::int64_t chunks : {8, 9, 16, 61}) {
      CollectiveRun run = tree_call(Protocol::ll, 2, chunks * 512);
      run.buffers.ll = Bytes{32'768};
      const std::int64_t rounds = (chunks - 1) / 8, rest = (chunks - 1) % 8;
      CHECK(node.run(run).time == cycle * rounds + t * rest + (t + kHop + poll) * 2);
    }
  }
}

TEST_CASE("tree: half a block copies up, the other half down; the root has a whole one") {
  // 32 KiB at 8 GB/s take 4,096 ns, at half of it 8,192; the link needs less. The leaf sends up.
  // The root reduces and sends down line by line, from 4,096 ns on, so that it ends with the leaf's
  // last line. The leaf receives from the root's first line on.
  PartsCatalogue parts = bare_parts();
  parts.gpus.at("H100_SXM5").copy_rate[index_of(Protocol::ll)] = Bandwidth{8'000'000'000};
  parts.software.tree_copy_share = 0.5;
  const Bench node("dgx-h100", 1, parts);
  CHECK(node.run(tree_call(Protocol::ll, 2, kLlChunk)).time ==
        nanoseconds(4'096) + kHop + kHop + nanoseconds(8'192));
}

TEST_CASE("between two nodes: flag to the proxy, path, slowest link; twice for two ranks") {
  const Bench pair("dgx-h100", 2, bare_parts());
  SUBCASE("LL128 with GPUDirect: the NIC is the slowest link") {
    // Chunk of 100 x 1920 B, 204,800 B on the wire, 48 GB/s. Flag to the proxy's host memory 115
    // ns. Path: GPU, 0; PCIe switch 115; NIC 450 + 25 of cable; leaf 220 + 25; NIC 450; switch 115.
    CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll128, 1, 2 * 48'000);
    run.version = kNccl2_27_7;
    const Duration path = nanoseconds(115 + 475 + 245 + 450 + 115);
    const Duration hop =
        nanoseconds(115) + path + transfer_time(Bytes{204'800}, Bandwidth{48'000'000'000});
    const SimulationResult got = pair.run(run);
    CHECK(got.time == hop * 2);
    CHECK(got.slices == 6);   // send, receive-reduce-copy-send, receive; on each rank
    CHECK(got.events == 10);  // and two slices through each proxy
  }
  SUBCASE("a tree of two single-GPU nodes takes the same way up and down") {
    CollectiveRun run = tree_call(Protocol::ll128, 1, 4'320);
    run.version = kNccl2_27_7;  // 17,280 B: one chunk, 18,432 B on the wire
    const Duration hop = nanoseconds(115 + 115 + 475 + 245 + 450 + 115) +
                         transfer_time(Bytes{18'432}, Bandwidth{48'000'000'000});
    const SimulationResult got = pair.run(run);
    CHECK(got.time == hop * 2);
    CHECK(got.events == 5);  // leaf up, proxy, root, proxy, leaf down
  }
}

TEST_CASE("own copy: an AllGather between nodes takes it, in place it does not") {
  // Links and latencies cost nothing beside a block that copies 1 GB/s: two ranks send 1 MiB of
  // their own, then copy what came. Out of place they write their own, too: a third MiB. Inside a
  // node it is even with the copy that nobody makes there.
  PartsCatalogue parts = bare_parts();
  for (auto& [name, gpu] : parts.gpus) gpu.copy_rate.fill({1'000'000'000});
  const Bench two("dgx-a100", 2, parts), one("dgx-a100", 1, parts);
  const auto us = [](const Bench& bench, int gpus, bool in_place) {
    CollectiveRun run = ring_call(Collective::all_gather, Protocol::simple, gpus, 1 << 20);
    run.version = kNccl2_27_7;
    run.element_bytes = 1;
    run.in_place = in_place;
    return static_cast<double>(bench.run(run).time.ps) / 1e6;
  };
  const double mib_us = 1'048.576;
  const double apart = us(two, 1, false) - us(two, 1, true);
  CHECK(apart > 0.9 * mib_us);
  CHECK(apart < 1.1 * mib_us);
  CHECK(us(one, 2, false) == us(one, 2, true));
}

TEST_CASE("LL128 from a NIC: its block copies at a share of the rate, others do not") {
  // Blocks that copy 1 GB/s are all that takes time. In a ring and a tree of two GPUs of two nodes
  // each block receives over the network, in one node none does.
  PartsCatalogue whole = bare_parts();
  for (auto& [name, gpu] : whole.gpus) gpu.copy_rate.fill({1'000'000'000});
  PartsCatalogue half = whole;
  whole.software.ll128_net_share = 1;
  half.software.ll128_net_share = 0.5;
  const auto slower = [&](int nodes, Protocol protocol, auto call) {
    CollectiveRun run = call(protocol, nodes == 1 ? 2 : 1);
    run.version = kNccl2_27_7;
    const auto ps = [&](const PartsCatalogue& parts) {
      return static_cast<double>(Bench("dgx-h100", nodes, parts).run(run).time.ps);
    };
    return ps(half) / ps(whole);
  };
  const auto ring = [](Protocol protocol, int gpus) {
    return ring_call(Collective::all_reduce, protocol, gpus, 1 << 20);
  };
  const auto tree = [](Protocol protocol, int gpus) { return tree_call(protocol, gpus, 1 << 20); };
  CHECK(slower(2, Protocol::ll128, ring) == doctest::Approx(2).epsilon(0.01));
  CHECK(slower(2, Protocol::ll128, tree) > 1.2);
  CHECK(slower(1, Protocol::ll128, ring) == 1);
  CHECK(slower(1, Protocol::ll128, tree) == 1);
  CHECK(slower(2, Protocol::ll, ring) == 1);
  CHECK(slower(2, Protocol::ll, tree) == 1);
}

namespace {

/// Two nodes of two GPUs in one ring, LL: 0 -> 1 over NVLink, 1 -> 2 over the network, 2 -> 3, 3 ->
/// 0. GPU 1 sends by NIC 1, GPU 0 receives by NIC 0: no link carries two ways, and the rail
/// changes.
CollectiveRun two_by_two(std::int64_t count) {
  CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll, 2, count);
  run.version = kNccl2_27_7;
  run.graph.channels[0].net_out = 1;
  return run;
}

// Host memory of the sender to the GPU of the receiver: root complex 200, PCIe switch 115, NIC 450
// and 25 of cable, three fabric switches at 220 with two optical cables of 270 and one of 25
// between them and the NIC, NIC 450, switch 115, root complex 200, switch 115.
constexpr Duration kLlPath = nanoseconds(200 + 115 + 475 + 490 + 490 + 245 + 450 + 115 + 200 + 115);

}  // namespace

TEST_CASE("LL between nodes: stored into host memory by the GPU, then forwarded by the proxy") {
  // Every chunk takes six hops, NVLink and network in turn, so the ring takes three of each. Chunks
  // of 64 B, 128 B on the wire: short enough to be gone before the next one comes. Into host memory
  // over PCIe, 55.4 GB/s and 115 ns, where the flags come with the data; then to the far GPU, the
  // NIC (48 GB/s) slowest.
  const Bench pair("dgx-h100", 2, bare_parts());
  const Bytes wire{128};
  const Duration nvlink = transfer_time(wire, kNvlink) + kHop;
  const Duration network = transfer_time(wire, Bandwidth{55'400'000'000}) + nanoseconds(115) +
                           transfer_time(wire, Bandwidth{48'000'000'000}) + kLlPath;
  CHECK(pair.run(two_by_two(4 * 16)).time == (nvlink + network) * 3);
}

TEST_CASE("software: every cost once") {
  // As above, with LL's costs. A block is busy for 480 ns and then copies 64 B at 6.5 GB/s, 9,847
  // ps, longer than either link it writes to needs. The proxy posts in 500 ns and reads 128 B of
  // data and flags at 10 GB/s, 12.8 ns. The flags are seen 1.2 us after the NIC sends the first of
  // them. A receiver takes lines as they come: a copy is waited for where a proxy takes the slice
  // as a whole, and at the end, as the last receive costs a block's time once more. Launch 5 us
  // first.
  PartsCatalogue parts = load_catalogue();
  parts.software.protocol[index_of(Protocol::ll)].first_pass = {};
  const Bench pair("dgx-h100", 2, parts);
  const Duration block = nanoseconds(480) + Duration{9'847};
  const Duration nvlink = nanoseconds(480) + kHop;
  const Duration network =
      block + nanoseconds(115) + nanoseconds(500) + Duration{12'800} + kLlPath + nanoseconds(1'200);
  const SimulationResult got = pair.run(two_by_two(4 * 16));
  CHECK(got.launch == microseconds(5));
  CHECK(got.time == microseconds(5) + (nvlink + network) * 3 + block);
}

// All links of a path are booked when a slice starts: what comes in is booked on the switch's way
// down 1.6 us ahead, and what goes out by it must not wait for that.
TEST_CASE("LL between single-GPU nodes: PCIe carries what goes out before what comes in later") {
  // 64 KiB on the wire. The proxy's data leave the CPU for the switch at once and take 1.2 us; the
  // other node's come by the same link 200 + 115 + 475 + 245 + 450 + 115 = 1,600 ns later.
  const Bench pair("dgx-h100", 2, bare_parts());
  const Duration into = transfer_time(Bytes{65'536}, Bandwidth{55'400'000'000});
  const Duration out = transfer_time(Bytes{65'536}, Bandwidth{48'000'000'000});
  const Duration path = nanoseconds(200 + 115 + 475 + 245 + 450 + 115 + 200 + 115);
  const CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll, 1, 2 * kLlChunk);
  CHECK(pair.run(run).time == (into + nanoseconds(115) + path + out) * 2);
}

namespace {

/// Simple in chunks of one 4 KiB slice, eight in flight (NCCL_BUFFSIZE = 32 KiB).
CollectiveRun small_chunks(Collective collective, int gpus, std::int64_t chunks) {
  CollectiveRun run = ring_call(collective, Protocol::simple, gpus, chunks * 1024);
  run.version = kNccl2_27_7;
  run.buffers.simple = Bytes{32'768};
  return run;
}

constexpr Duration kSmallTime = transfer_time(Bytes{4096}, Bandwidth{48'000'000'000});
// GPU to GPU with GPUDirect on one rail, and from a GPU to the host memory of its socket.
constexpr Duration kRail = nanoseconds(115 + 475 + 245 + 450 + 115);
constexpr Duration kFlag = nanoseconds(115);

}  // namespace

TEST_CASE("credits across the network: the sender's eight slots, there and back") {
  // Broadcast from node 0 to node 1, blocks infinitely fast: eight chunks are handed to the proxy
  // at once and leave the NIC one behind the other. Chunk j arrives at a; the sender's proxy knows
  // one way later, the sender a flag later; chunk j + 8 takes a flag and the way again. The
  // receiver's slots come back a flag sooner.
  const Bench pair("dgx-h100", 2, bare_parts());
  const Duration cycle = kRail + kFlag + kFlag + kRail + kSmallTime;
  for (const std::int64_t chunks : {1, 8, 9, 17, 100}) {
    const std::int64_t rounds = (chunks - 1) / 8, rest = (chunks - 1) % 8;
    CHECK(pair.run(small_chunks(Collective::broadcast, 1, chunks)).time ==
          kFlag + kRail + kSmallTime * (rest + 1) + cycle * rounds);
  }
}

TEST_CASE("credits across the network: the receiver's eight slots") {
  // The receiver sees a chunk 1 us after its arrival: then its slots are the last to come back. Its
  // flag to its own proxy, and a clear-to-send one way.
  PartsCatalogue parts = bare_parts();
  parts.software.network[static_cast<int>(NetKind::ib)].sync[index_of(Protocol::simple)] =
      microseconds(1);
  const Bench pair("dgx-h100", 2, parts);
  const Duration cycle = kRail + kSmallTime + microseconds(1) + kFlag + kRail;
  for (const std::int64_t chunks : {1, 8, 9, 17, 100}) {
    const std::int64_t rounds = (chunks - 1) / 8, rest = (chunks - 1) % 8;
    CHECK(pair.run(small_chunks(Collective::broadcast, 1, chunks)).time ==
          kFlag + kRail + kSmallTime * (rest + 1) + microseconds(1) + cycle * rounds);
  }
}

TEST_CASE("credits across the network with PXN: the receiver's flag is its own, not the sender's") {
  // GPU 4 sends through GPU 3, whose proxy is on the other socket: its flags take 435 ns, those of
  // the receiving GPU 3 take 115. Polls of 5 us make the receiver's slots decide, in both network
  // hops.
  PartsCatalogue parts = bare_parts();
  parts.software.network[static_cast<int>(NetKind::ib)].sync[index_of(Protocol::simple)] =
      microseconds(5);
  const Bench pair("hgx-h200-2nic", 2, parts);
  const auto time = [&](std::int64_t chunks) {
    CollectiveRun run = small_chunks(Collective::broadcast, 8, chunks);
    run.graph.channels[0].gpu_order = {3, 2, 1, 0, 7, 6, 5, 4};
    run.root = 4;
    return pair.run(run).time;
  };
  const Duration cycle = kRail + kSmallTime + microseconds(5) + kFlag + kRail;
  CHECK(time(9) - time(1) == cycle);
  CHECK(time(81) - time(1) == cycle * 10);
}

TEST_CASE("one proxy thread per GPU: channels post one after the other") {
  // Two channels of one GPU and a post of 1 us: in each of the two steps the second channel's slice
  // is posted 1 us after the first one's; no link is busy so long.
  PartsCatalogue parts = bare_parts();
  parts.software.network[static_cast<int>(NetKind::ib)].post = microseconds(1);
  const Bench pair("dgx-h100", 2, parts);
  CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll128, 1, 2 * 2 * 480 * 20);
  run.channels = run.communicator_channels = 2;
  const SimulationResult got = pair.run(run);
  REQUIRE(got.partition.parts.size() == 2);
  // A chunk of 480 x 20 elements: 20 lines' groups of 1920 B.
  const Duration step =
      kFlag + microseconds(1) + kRail + transfer_time(Bytes{20 * 2048}, Bandwidth{48'000'000'000});
  CHECK(got.time == step * 2 + microseconds(1));
}

TEST_CASE("PXN: the thread of the GPU beside the NIC posts for all who send through it") {
  // Chains that end with GPU 4 and with GPU 5, both through GPU 3. An all_gather over 16 ranks
  // sends 15 chunks over each hop: with a post of 1 ms, 30 ms on one thread, 15 ms were there two.
  PartsCatalogue parts = bare_parts();
  parts.software.network[static_cast<int>(NetKind::ib)].post = microseconds(1'000);
  const Bench pair("hgx-h200-2nic", 2, parts);
  CollectiveRun run = ring_call(Collective::all_gather, Protocol::ll128, 8, 2 * 480 * 20);
  run.channels = run.communicator_channels = 2;
  run.graph.channels.push_back(run.graph.channels[0]);
  run.graph.channels[0].gpu_order = {3, 2, 1, 0, 7, 6, 5, 4};
  run.graph.channels[1].gpu_order = {3, 2, 1, 0, 7, 6, 4, 5};
  const SimulationResult got = pair.run(run);
  REQUIRE(got.partition.parts.size() == 2);
  CHECK(got.time > microseconds(30'000));
  CHECK(got.time < microseconds(32'000));
}

TEST_CASE("launch: once per call, and at least one launch after the other in a process") {
  const Bench node("dgx-h100", 1, load_catalogue());
  CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll, 8, 8 * 64);
  const SimulationResult alone = node.run(run);
  CHECK(alone.launch == microseconds(5));
  for (const int gpus : {1, 2, 8}) {
    // 8 x 4.4 us = 35.2 us is longer than this call takes; fewer are not.
    run.launches_in_a_row = gpus;
    const SimulationResult got = node.run(run);
    CHECK(got.time == std::max(alone.time, nanoseconds(4'400) * gpus));
    CHECK(got.time - got.launch == alone.time - alone.launch);
  }
  CHECK(node.run(run).time == nanoseconds(35'200));
}

TEST_CASE("progress is the share of all events, those of proxies included") {
  // Two single-GPU nodes: per loop two ranks run three slices each, and two proxies forward two.
  // With tiny buffers, 512 B of data per rank and loop, 130,000 loops are 1,300,000 events; the
  // executor reports after the first 2^20.
  const Bench pair("dgx-h100", 2, load_catalogue());
  CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll, 1, 130'000 * 2 * 128);
  run.version = kNccl2_27_7;
  run.buffers.ll = Bytes{8 * 1024};
  std::vector<double> shares;
  SimulationOptions options;
  options.progress = [&](double share) { shares.push_back(share); };
  const SimulationResult got = simulate(pair.cluster, pair.parts.software, run, options);
  CHECK(got.events == 1'300'000);
  REQUIRE(shares.size() == 1);
  CHECK(shares[0] == doctest::Approx(1'048'576.0 / 1'300'000));
}

TEST_CASE("one rank: the launch, nothing else") {
  for (const char* name : {"dgx-h100", "pcie-2gpu"}) {
    const Bench node(name, 1, load_catalogue());
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
      CollectiveRun run = ring_call(Collective::all_reduce, Protocol::simple, 1, 1'000'000);
      run.algorithm = algorithm;
      if (algorithm == Algorithm::tree) run.graph.pattern = GraphPattern::tree;
      const SimulationResult got = node.run(run);
      CHECK(got.time == launch_of(run, node.cluster, node.parts.software));
      CHECK(got.rank_finish == std::vector{Duration{}});
      CHECK(got.links.empty());
    }
  }
}

TEST_CASE("more channels than work: those without a part cost nothing") {
  // 1000 float32 with 96 threads: 2.21 gives everything to the first of 16 channels.
  const Bench node("dgx-h100", 1, load_catalogue());
  CollectiveRun run = ring_call(Collective::all_reduce, Protocol::ll, 4, 1'000);
  run.threads = 512;
  run.channels = run.communicator_channels = 1;
  const SimulationResult one = node.run(run);
  run.channels = run.communicator_channels = 16;
  const SimulationResult sixteen = node.run(run);
  CHECK(sixteen.partition.parts.size() == 1);
  CHECK(sixteen.time == one.time);
  CHECK(sixteen.digest == one.digest);
}
