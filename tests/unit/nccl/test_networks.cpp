// Goal: each kind of network costs what its figures say, each once: copies of sockets, rendezvous,
// pieces on queue pairs, flushes, host bounces; and NCCL takes the network its environment names.
// Method: one chain of messages on two DGX H100 with software that costs nothing but the mechanism
// in question, closed forms to the picosecond worked out from the links by hand; choices as a
// table; figures and node files with mistakes.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/node/network.hpp"
#include "models/nccl/schedules/post_costs.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/nccl_communicators.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr Bytes kChunk{4096};
// GPU to GPU on one rail: switch, NIC and cable, leaf and cable, NIC, switch. Flag: GPU to its CPU.
constexpr Duration kRail = nanoseconds(115 + 475 + 245 + 450 + 115);
constexpr Duration kFlag = nanoseconds(115);
constexpr Duration kWire = transfer_time(kChunk, Bandwidth{48'000'000'000});

/// Broadcast of so many chunks from one GPU to another node's, in slices of 4 KiB.
CollectiveRun chain(NetKind kind, std::int64_t chunks = 1) {
  CollectiveRun run = ring_call(Collective::broadcast, Protocol::simple, 1, chunks * 1024);
  run.version = kNccl2_27_7;
  run.buffers.simple = Bytes{32'768};
  run.transport.network.kind = kind;
  return run;
}

NetworkCosts& costs_of(PartsCatalogue& parts, NetKind kind) {
  return parts.software.network[static_cast<std::size_t>(kind)];
}

/// A message of 4 KiB takes a thread 500 ns and 4 KiB at 2 GB/s.
constexpr Duration kSocketCopy = nanoseconds(500 + 2048);
PartsCatalogue parts_with_sockets() {
  PartsCatalogue parts = bare_parts();
  NetworkCosts& costs = costs_of(parts, NetKind::sockets);
  costs.post = nanoseconds(500);
  costs.copy_rate = {2'000'000'000};
  costs.task_min = Bytes{65'536};
  costs.sync[index_of(Protocol::simple)] = microseconds(19);
  return parts;
}

Duration time_of(const PartsCatalogue& parts, const CollectiveRun& run) {
  return Bench("dgx-h100", 2, parts).run(run).time;
}

}  // namespace

TEST_CASE("proxies: a call is sent when the receiver has used the one before") {
  const auto in_a_row = [](const PartsCatalogue& parts, NetKind kind, int calls) {
    const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
    Stream stream{{}, {}};
    stream.runs.assign(static_cast<std::size_t>(calls), chain(kind));
    return simulate(cluster, parts.software, {{stream}}).streams[0].time;
  };
  // The root has filled the slots of all its calls at once. A clear-to-send takes the way back.
  const PartsCatalogue bare = bare_parts();
  const Duration alone = kFlag + kRail + kWire;
  CHECK(in_a_row(bare, NetKind::ib, 1) == alone);
  CHECK(in_a_row(bare, NetKind::ib, 3) == alone + (kFlag + kRail + kRail + kWire) * 2);
  // What is sent over sockets leaves unasked: a copy more per call, as each proxy has one.
  const PartsCatalogue copying = parts_with_sockets();
  CHECK(in_a_row(copying, NetKind::sockets, 3) ==
        in_a_row(copying, NetKind::sockets, 1) + kSocketCopy * 2);
}

TEST_CASE("sockets: copies by both proxies, host memory at both ends, the library's latency") {
  const PartsCatalogue parts = parts_with_sockets();
  // The GPU writes at gen5 x16 to its CPU. 4 KiB at 2 GB/s. CPU, switch, NIC, leaf, NIC, switch,
  // CPU; its loads are the slowest part of the way, 0.67 of gen5 x16; CPU, switch, GPU.
  const Duration write = kFlag + transfer_time(kChunk, Bandwidth{55'400'000'000});
  const Duration copy = kSocketCopy;
  const Duration way = nanoseconds(200 + 115 + 475 + 245 + 450 + 115 + 200 + 115);
  const Duration load = transfer_time(kChunk, Bandwidth{37'118'000'000});
  // Received bytes pass the buffer of the operating system before NCCL's own.
  const Duration system = transfer_time(kChunk, Bandwidth{123'000'000'000});
  // Half of the receiver's 500 ns passes before the bytes are there: the size came ahead.
  CHECK(time_of(parts, chain(NetKind::sockets)) ==
        write + copy + way + system + load + microseconds(19) + copy - nanoseconds(250));
  // The threads are the narrow place: one copy more per chunk, as each of the two has one.
  CHECK(time_of(parts, chain(NetKind::sockets, 8)) - time_of(parts, chain(NetKind::sockets)) ==
        copy * 7);
}

TEST_CASE("sockets: a rank that receives and sends copies twice on one thread") {
  PartsCatalogue parts = parts_with_sockets();
  // The GPU of the second of three nodes hands on what it got. While it does (less than a copy),
  // its thread has other chunks to copy.
  const auto time = [&](int helpers, std::int64_t chunks) {
    CollectiveRun run = chain(NetKind::sockets, chunks);
    run.transport.network.sockets.threads = helpers;
    return Bench("dgx-h100", 3, parts).run(run).time;
  };
  const auto more_for_seven = [&](int helpers) { return time(helpers, 8) - time(helpers, 1); };
  CHECK(more_for_seven(0) > kSocketCopy * 13);
  CHECK(more_for_seven(0) < kSocketCopy * 15);
  CHECK(more_for_seven(1) == kSocketCopy * 7);  // each connection has helpers of its own

  // These sleep, at both ends of both hops; while one wakes, the next chunks are on their way.
  const Duration awake = time(1, 1), proxies = time(0, 1);
  costs_of(parts, NetKind::sockets).helper_wake = microseconds(3);
  CHECK(time(1, 1) == awake + microseconds(4 * 3));
  CHECK(more_for_seven(1) == kSocketCopy * 7);
  CHECK(time(0, 1) == proxies);  // proxies poll
}

TEST_CASE("rendezvous: larger messages leave later, and their proxy is busy with it") {
  PartsCatalogue parts = bare_parts();
  NetworkCosts& costs = costs_of(parts, NetKind::cxi);
  costs.rendezvous_latency = nanoseconds(8500);
  costs.rendezvous_post = microseconds(5);
  const Duration plain = kFlag + kRail + kWire;
  costs.rendezvous_threshold = kChunk;
  CHECK(time_of(parts, chain(NetKind::cxi)) == plain);
  costs.rendezvous_threshold = Bytes{kChunk.count - 1};
  for (const int chunks : {1, 2, 8}) {
    CHECK(time_of(parts, chain(NetKind::cxi, chunks)) ==
          plain + nanoseconds(8500) + microseconds(5) * chunks);
  }
}

TEST_CASE("spread: a hop takes so much longer for each doubling of the channels") {
  PartsCatalogue parts = bare_parts();
  costs_of(parts, NetKind::cxi).channel_spread = nanoseconds(1500);
  for (const int channels : {1, 2, 4, 8}) {
    const auto time = [&](NetKind kind) {
      CollectiveRun run = chain(kind, 4 * channels);  // 16 KiB for each
      run.channels = run.communicator_channels = channels;
      return time_of(parts, run);
    };
    const int doublings = channels == 1 ? 0 : channels == 2 ? 1 : channels == 4 ? 2 : 3;
    CHECK(time(NetKind::roce) == time(NetKind::ib));
    CHECK(time(NetKind::cxi) == time(NetKind::ib) + nanoseconds(1500) * doublings);
  }
}

TEST_CASE("matching in software: the host copies what arrives, small messages by GDRCopy") {
  PartsCatalogue parts = bare_parts();
  NetworkCosts& costs = costs_of(parts, NetKind::cxi);
  costs.safe_copy = kChunk;
  costs.driver_copy = microseconds(9);
  costs.sent_ll = microseconds(5);
  const Duration plain = kFlag + kRail + kWire;
  CollectiveRun run = chain(NetKind::cxi);
  NetworkSettings& network = run.transport.network;
  network.matches_in_software = true;
  CHECK(time_of(parts, run) == plain);
  network.copies_by_driver = true;
  CHECK(time_of(parts, run) == plain + microseconds(9));
  network.copies_by_driver = false;
  network.safe_copy = Bytes{kChunk.count - 1};
  CHECK(time_of(parts, run) == plain + microseconds(9));

  SUBCASE("what arrives in host memory needs neither driver nor GDRCopy, whatever the protocol") {
    for (const Protocol protocol : kAllProtocols) {
      const PostCost into_gpu = post_cost(costs, network, protocol);
      // LL keeps both proxies busy: the sender's once the message has gone.
      const bool is_ll = protocol == Protocol::ll;
      CHECK(into_gpu.busy(kChunk) == costs.post + microseconds(is_ll ? 0 : 9));
      CHECK(into_gpu.copied_receipt == microseconds(is_ll ? 5 : 0));
      CHECK(post_cost(costs, network, protocol, false).busy(kChunk) == costs.post);
    }
    CHECK(receipt_cost(costs, network, Protocol::ll).busy(kChunk) == costs.post + microseconds(9));
    run.transport.gdr_level = PathType::loc;
    const Duration into_host = time_of(parts, run);
    network.matches_in_software = false;
    CHECK(time_of(parts, run) == into_host);
  }
  SUBCASE("above the rendezvous it is a part that the driver copies, or GDRCopy") {
    costs.rendezvous_latency = nanoseconds(8500);
    costs.rendezvous_post = microseconds(5);
    costs.rendezvous_threshold = kChunk;
    CHECK(time_of(parts, run) == plain + microseconds(9));
    network.rendezvous_threshold = Bytes{kChunk.count - 1};
    CHECK(time_of(parts, run) == plain + nanoseconds(8500) + microseconds(5));
    network.copies_by_driver = true;
    CHECK(time_of(parts, run) == plain + nanoseconds(8500) + microseconds(5 + 9));
  }
}

TEST_CASE("matching in software: LL keeps the proxies of both ends busy") {
  PartsCatalogue parts = bare_parts();
  NetworkCosts& costs = costs_of(parts, NetKind::cxi);
  costs.driver_copy = microseconds(9);
  costs.sent_ll = microseconds(5);
  // Chunks of 4 KiB, 8 KiB on the wire.
  CollectiveRun run = ring_call(Collective::broadcast, Protocol::ll, 1, 1024);
  run.version = kNccl2_27_7;
  run.buffers.ll = Bytes{65'536};
  run.transport.network.kind = NetKind::cxi;
  const auto time = [&](int nodes, std::int64_t chunks, bool in_software) {
    run.count = chunks * 1024;
    run.transport.network.matches_in_software = in_software;
    return Bench("dgx-h100", nodes, parts).run(run).time;
  };
  const auto more = [&](int nodes, std::int64_t chunks) {
    return time(nodes, chunks, true) - time(nodes, chunks, false);
  };
  // The receiver's copy is on the way of a lone message, the sender's work is not.
  CHECK(more(2, 1) == microseconds(9));
  CHECK(more(3, 1) == microseconds(2 * 9));
  // The proxy that receives is busy for 9 us with each chunk, the one that sends for 5. The second
  // of three nodes does both: at least the sum, at most as if all sends waited for the last
  // receive.
  const auto more_for_seven = [&](int nodes) {
    return time(nodes, 8, true) - time(nodes, 1, true);
  };
  CHECK(more_for_seven(2) == microseconds(7 * 9));
  CHECK(more_for_seven(3) >= microseconds(7 * (9 + 5)));
  CHECK(more_for_seven(3) <= microseconds(7 * (9 + 9)));

  // GDRCopy takes them as they come; above the rendezvous the NIC reads them.
  costs.safe_copy = Bytes{8192};
  CHECK(more(2, 8) == Duration{});
  costs.safe_copy = {};
  costs.rendezvous_threshold = Bytes{8191};
  CHECK(more(2, 8) == Duration{});
}

TEST_CASE("Slingshot: variables of libfabric") {
  Bench bench("gh200-4", 2, load_catalogue());
  const auto with = [&](const std::vector<const char*>& assignments) {
    CommunicatorConfig config;
    for (const char* assignment : assignments) config.environment.set(assignment);
    return make_communicator(bench.cluster, config).network;
  };
  const NetworkSettings plain = with({});
  CHECK(plain.copies_by_driver);
  CHECK(plain.injects);
  CHECK_FALSE(plain.matches_in_software);
  CHECK_FALSE(plain.rendezvous_threshold.has_value());
  CHECK_FALSE(plain.rendezvous_get_min.has_value());
  CHECK_FALSE(with({"FI_HMEM_CUDA_USE_GDRCOPY=1"}).copies_by_driver);
  CHECK_FALSE(with({"FI_CXI_DISABLE_NON_INJECT_MSG_IDC=1"}).injects);
  CHECK(with({"FI_CXI_RX_MATCH_MODE=software"}).matches_in_software);
  CHECK(with({"FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD=0"}).safe_copy == Bytes{0});
  const NetworkSettings most = with({"FI_CXI_RDZV_THRESHOLD=0", "FI_CXI_RDZV_GET_MIN=0"});
  const NetworkCosts& costs = costs_of(bench.parts, NetKind::cxi);
  // The threshold, 192 B at least, and what a Get fetches at least, 2049 B by default.
  const auto above = [&](const NetworkSettings& set) {
    return post_cost(costs, set, Protocol::simple).large;
  };
  CHECK(above(plain) == Bytes{16'384 + 2049});
  CHECK(above(with({"FI_CXI_RDZV_THRESHOLD=65536"})) == Bytes{67'585});
  CHECK(above(with({"FI_CXI_RDZV_GET_MIN=0"})) == Bytes{16'384});
  CHECK_FALSE(post_cost(costs, most, Protocol::simple).is_large(Bytes{192}));
  CHECK(post_cost(costs, most, Protocol::simple).is_large(Bytes{193}));
  constexpr Bytes slice_of_ll128{16'384 / 15 * 16};
  CHECK_FALSE(post_cost(costs, plain, Protocol::simple).is_large(slice_of_ll128));
  CHECK_FALSE(post_cost(costs, plain, Protocol::simple).is_large(Bytes{18'433}));
  CHECK(post_cost(costs, plain, Protocol::simple).is_large(Bytes{18'434}));
}

TEST_CASE("flush: a message that arrives keeps its proxy as long as one that is sent") {
  PartsCatalogue parts = bare_parts();
  NetworkCosts& costs = costs_of(parts, NetKind::cxi);
  costs.post = microseconds(1);
  costs.rendezvous_post = microseconds(4);
  costs.rendezvous_threshold = Bytes{16'384};
  const NetworkSettings plain;
  const PostCost simple = post_cost(costs, plain, Protocol::simple);
  CHECK(simple.receiving(Bytes{16'384}) == microseconds(1));
  CHECK(simple.receiving(Bytes{16'385}) == microseconds(5));
  // Verbs have no rendezvous: a flush is one more work request, whatever has come.
  NetworkCosts& verbs = costs_of(parts, NetKind::ib);
  verbs.post = microseconds(2);
  CHECK(post_cost(verbs, plain, Protocol::simple).receiving(Bytes{1 << 20}) == microseconds(2));
  // Only Simple is flushed.
  CHECK(post_cost(costs, plain, Protocol::ll128).receiving(Bytes{16'385}) == Duration{});
}

TEST_CASE(
    "immediate data: the host reads the GPU's memory itself, but for what LL has in its own") {
  PartsCatalogue parts = bare_parts();
  NetworkCosts& costs = costs_of(parts, NetKind::cxi);
  costs.inject_max = kChunk;
  costs.inject_copy = microseconds(12);
  const Duration plain = kFlag + kRail + kWire;
  CollectiveRun run = chain(NetKind::cxi);
  CHECK(time_of(parts, run) == plain);
  run.transport.network.copies_by_driver = true;
  CHECK(time_of(parts, run) == plain + microseconds(12));
  costs.inject_max = Bytes{kChunk.count - 1};
  CHECK(time_of(parts, run) == plain);
  costs.inject_max = kChunk;
  NetworkSettings& network = run.transport.network;
  CHECK(post_cost(costs, network, Protocol::ll).busy(kChunk) == costs.post);
  CHECK(post_cost(costs, network, Protocol::ll128).busy(kChunk) == costs.post + microseconds(12));
  network.injects = false;
  CHECK(post_cost(costs, network, Protocol::ll128).busy(kChunk) == costs.post);
}

TEST_CASE("LL: proxies read flags at the network's rate, or at that of the node's slowest CPU") {
  PartsCatalogue parts = bare_parts();
  costs_of(parts, NetKind::ib).ll_check_rate = {8'000'000'000};
  CollectiveRun run = ring_call(Collective::broadcast, Protocol::ll, 1, 512);  // 4 KiB on the wire
  run.version = kNccl2_27_7;
  run.transport.network.kind = NetKind::ib;
  const Duration by_network = time_of(parts, run);
  parts.cpus.at("Intel_8480C").ll_check_rate = {2'000'000'000};
  CHECK(time_of(parts, run) - by_network == nanoseconds(2048 - 512));
  run.protocol = Protocol::simple;
  const Duration simple = time_of(parts, run);
  parts.cpus.at("Intel_8480C").ll_check_rate = {};
  CHECK(time_of(parts, run) == simple);
}

TEST_CASE(
    "queue pairs: a further piece is a further work request; without splitting there is one") {
  PartsCatalogue parts = bare_parts();
  costs_of(parts, NetKind::ib).piece_post = nanoseconds(100);
  CollectiveRun run = chain(NetKind::ib);
  CHECK(time_of(parts, run) == kFlag + kRail + kWire);
  run.transport.network.pieces = 4;
  CHECK(time_of(parts, run) == kFlag + kRail + kWire + nanoseconds(300));
}

TEST_CASE(
    "a flush after GPUDirect: one way there and back, below compute capability 9.0 or forced") {
  const PartsCatalogue parts = bare_parts();
  CollectiveRun run = chain(NetKind::ib);
  CHECK(time_of(parts, run) == kFlag + kRail + kWire);
  run.transport.network.flush_always = true;
  // NIC, switch, GPU: 450 + 115; back only the switch.
  const Duration flush = nanoseconds(450 + 115 + 115);
  CHECK(time_of(parts, run) == kFlag + kRail + kWire + flush);
  run.transport.network.flush_never = true;
  CHECK(time_of(parts, run) == kFlag + kRail + kWire);
  const std::vector<int> gpus = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto flush_of = [&](const char* topology, Protocol protocol) {
    const Cluster cluster = load_cluster({topology, 2, ""}, parts);
    return plan_transport(cluster, gpus, protocol, {0, 0, 0}, {1, 0, 0}).flush;
  };
  CHECK(flush_of("dgx-a100", Protocol::simple) > Duration{});
  CHECK(flush_of("dgx-a100", Protocol::ll) == Duration{});  // flags come with the data
  CHECK(flush_of("dgx-a100", Protocol::ll128) == Duration{});
  CHECK(flush_of("dgx-h100", Protocol::simple) == Duration{});
}

TEST_CASE("without GPUDirect every byte crosses the memory of both CPUs once, written and read") {
  const PartsCatalogue parts = bare_parts();
  const Bench pair("dgx-h100", 2, parts);
  CollectiveRun run = chain(NetKind::ib, 100);
  const auto memory = [&](const SimulationResult& got) {
    std::vector<std::int64_t> out;
    for (const LinkLoad& load : got.links) {
      if (pair.cluster.link_name(load.link).ends_with("(memory)"))
        out.push_back(load.carried.count);
    }
    return out;
  };
  CHECK(memory(pair.run(run)).empty());
  run.transport.gdr_level = PathType::loc;
  CHECK(memory(pair.run(run)) == std::vector<std::int64_t>{409'600, 409'600});
  // Half of the DRAM's rate, as it is written and read.
  const NodeGraph& node = pair.cluster.node();
  const VertexId cpu = node.cpus()[0].vertex;
  CHECK(node.link(node.memory_route(cpu).front()).rate.bytes_per_s ==
        parts.cpus.at("Intel_8480C").memory_rate.bytes_per_s / 2);
}

TEST_CASE("neither P2P nor shared memory: through the NICs next to both, inside one node, too") {
  const PartsCatalogue parts = bare_parts();
  const Bench node("dgx-h100", 1, parts);
  const std::vector<int> gpus = {0, 1, 2, 3, 4, 5, 6, 7};
  TransportRules rules;
  rules.domain_of = {0, 1, 2, 3, 4, 5, 6, 7};
  const Transport way =
      plan_transport(node.cluster, gpus, Protocol::simple, {0, 0, 0}, {0, 1, 0}, rules);
  CHECK(way.kind == HopKind::net);
  CHECK(way.proxy_gpu == 0);
  CHECK(node.cluster.link_name(way.network[1]).find("mlx5_0") != std::string::npos);
  CHECK(node.cluster.link_name(way.network.back()).find("pcisw1 -> gpu1") != std::string::npos);
  rules.domain_of = {0, 0, 1, 1, 2, 2, 3, 3};
  CHECK(plan_transport(node.cluster, gpus, Protocol::simple, {0, 0, 0}, {0, 1, 0}, rules).kind ==
        HopKind::nvlink);
  // Two GPUs beside one NIC: it turns round there.
  const Bench near("hgx-h200-2nic", 1, parts);
  rules.domain_of = {0, 1, 2, 3, 4, 5, 6, 7};
  const Transport turn =
      plan_transport(near.cluster, gpus, Protocol::simple, {0, 0, 0}, {0, 2, 0}, rules);
  for (const LinkId link : turn.network) CHECK_FALSE(near.cluster.is_fabric_link(link));

  CollectiveRun run = ring_call(Collective::all_reduce, Protocol::simple, 8, 1 << 16);
  const Duration nvlink = node.run(run).time;
  run.transport.domain_of = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(node.run(run).time > nvlink);
}

TEST_CASE("ACS sends peers over the root complex, and a VF without ATS has no GPUDirect") {
  const PartsCatalogue parts = load_catalogue();
  NodeType type = load_node_type("dgx-h100");
  NodeGraph node = NodeGraph::build(type, parts);
  const auto links = [&] {
    return node.pcie_route(node.gpus()[0].vertex, node.nics()[0].vertex).size();
  };
  CHECK(links() == 2);
  type.acs = true;
  node = NodeGraph::build(type, parts);
  CHECK(links() == 5);  // GPU, switch, CPU, root port, switch, NIC
  CHECK(node.smi_path(node.gpus()[0].vertex, node.nics()[0].vertex) == SmiPath::pix);
  PciConfig& nic = type.pci[0].children[0];
  REQUIRE(nic.kind == PciConfig::Kind::nic);
  nic.vf = true;
  CHECK_FALSE(NodeGraph::build(type, parts).nics()[0].gdr);
  nic.ats = true;
  CHECK(NodeGraph::build(type, parts).nics()[0].gdr);
}

namespace {

struct Chosen {
  NetworkChoice choice;
  std::vector<std::string> warnings;
};

Chosen chosen(const NodeDescription& node, const std::vector<const char*>& variables,
              int nodes = 2) {
  Environment environment;
  for (const char* variable : variables) environment.set(variable);
  Chosen out;
  const NcclSettings settings = read_settings(environment, kNccl2_21_5);
  out.choice = choose_network(node, environment, kNccl2_21_5, settings.ib_hca, nodes, out.warnings);
  return out;
}

/// A DGX H100 with other NICs.
NodeDescription with_nics(const char* part) {
  NodeType type = load_node_type("dgx-h100");
  for (PciConfig& root : type.pci) {
    for (PciConfig& child : root.children) {
      if (child.kind == PciConfig::Kind::nic) child.part = part;
    }
  }
  return describe(NodeGraph::build(type, load_catalogue()));
}

}  // namespace

TEST_CASE("which network: a plugin, then verbs, then sockets; NCCL_NET names one") {
  const NodeDescription& ib = node_described("dgx-h100");
  const auto kind = [](const NodeDescription& node, const std::vector<const char*>& variables) {
    return chosen(node, variables).choice.settings.kind;
  };
  CHECK(kind(ib, {}) == NetKind::ib);
  CHECK(kind(ib, {"NCCL_IB_DISABLE=1"}) == NetKind::sockets);
  CHECK(kind(ib, {"NCCL_IB_DISABLE=true"}) == NetKind::ib);  // NCCL reads 0
  CHECK(kind(ib, {"NCCL_NET=socket"}) == NetKind::sockets);
  CHECK(kind(ib, {"NCCL_IB_HCA=none"}) == NetKind::sockets);
  const NodeDescription efa = with_nics("EFA_v2"), plain = with_nics("Ethernet_100G");
  CHECK(kind(efa, {}) == NetKind::efa);
  CHECK(kind(efa, {"NCCL_NET_PLUGIN=none"}) == NetKind::sockets);
  CHECK(kind(efa, {"NCCL_NET=AWS Libfabric"}) == NetKind::efa);
  CHECK(kind(plain, {}) == NetKind::sockets);
  const std::string refused = error_text([&] { chosen(ib, {"NCCL_NET=FasTrak"}); });
  CHECK(refused.starts_with("NCCL_NET=FasTrak: NCCL finds no network of that name\nhint: "));
  CHECK(refused.ends_with("dgx-h100.xml has: IB, Socket"));
}

TEST_CASE("NCCL's own file does not name the network: the NIC's maker does") {
  const auto kind = [](const char* vendor) {
    const std::string text = std::string(R"(<system version="1">
      <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
        <pci busid="0000:0f:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="" link_width="0">
          <gpu dev="0" sm="90" rank="0" gdr="1"/></pci>
        <pci busid="0000:18:00.0" class="0x020000" vendor=")") +
                             vendor + R"(">
          <nic><net name="a" dev="0" speed="100000"/></nic></pci>
      </cpu></system>)";
    return nets_of(parse_nccl_xml(text, "t.xml")).front().network;
  };
  CHECK(kind("0x15b3") == NetKind::ib);
  CHECK(kind("0x1d0f") == NetKind::efa);
  CHECK(kind("0x17db") == NetKind::cxi);
}

TEST_CASE("over sockets NCCL sees interfaces without GPUDirect, and the maker sets the threads") {
  const NodeDescription& ib = node_described("dgx-h100");
  const Chosen all = chosen(ib, {"NCCL_IB_DISABLE=1"});
  const std::vector<NodeDescription::Net> nets = nets_of(all.choice.node);
  REQUIRE(nets.size() == 8);
  CHECK(nets[3].name == "ib3");
  CHECK_FALSE(nets[3].gdr);
  CHECK(nets[3].speed_mbps == 400'000);
  CHECK(all.choice.nics.size() == 8);
  CHECK(all.choice.settings.sockets == SocketSettings{0, 1});
  CHECK(chosen(ib, {"NCCL_NET=Socket", "NCCL_SOCKET_IFNAME==ib2,ib5"}).choice.nics ==
        std::vector<int>{2, 5});
  CHECK(chosen(ib, {"NCCL_NET=Socket", "NCCL_SOCKET_IFNAME=^ib0"}).choice.nics.size() == 7);
  CHECK(error_text([&] {
          chosen(ib, {"NCCL_NET=Socket", "NCCL_SOCKET_IFNAME=eth0"});
        }) ==
        "NCCL_SOCKET_IFNAME=eth0: none of the node's interfaces\nhint: they are called ib0, ib1, "
        "ib2, ib3, ib4, ib5, ib6, ib7 here");
  const auto sockets = [&](const std::vector<const char*>& variables) {
    return chosen(ib, variables).choice.settings.sockets;
  };
  CHECK(sockets({"NCCL_NET=Socket", "NCCL_SOCKET_NTHREADS=4", "NCCL_NSOCKS_PERTHREAD=4"}) ==
        SocketSettings{4, 4});
  CHECK(sockets({"NCCL_NET=Socket", "NCCL_SOCKET_NTHREADS=99"}) == SocketSettings{16, 1});
  CHECK(sockets({"NCCL_NET=Socket", "NCCL_NSOCKS_PERTHREAD=4"}) == SocketSettings{0, 1});
  CHECK(chosen(with_nics("EFA_v1"), {"NCCL_NET=Socket"}).choice.settings.sockets ==
        SocketSettings{2, 8});
  CHECK(chosen(with_nics("gVNIC_TCPX"), {"NCCL_NET=Socket"}).choice.settings.sockets ==
        SocketSettings{4, 1});
  CHECK(nets_of(with_nics("EFA_v2")).front().latency_us == 75);
}

TEST_CASE("effects: sockets are far slower than verbs, helper threads and more NICs help") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const auto time = [&](const std::vector<const char*>& variables) {
    CommunicatorConfig config;
    for (const char* variable : variables) config.environment.set(variable);
    config.environment.set("NCCL_ALGO=Ring");
    const Communicator made = make_communicator(cluster, config);
    const DecidedCall call = decide_call(made, {Collective::all_reduce, 1 << 22});
    return simulate(cluster, parts.software, call.run).time;
  };
  const Duration verbs = time({}), sockets = time({"NCCL_NET=Socket"});
  CHECK(sockets > verbs * 4);
  CHECK(time({"NCCL_NET=Socket", "NCCL_SOCKET_NTHREADS=4"}) < sockets);
  CHECK(time({"NCCL_NET=Socket", "NCCL_SOCKET_IFNAME==ib0"}) > sockets);
  CHECK(time({"NCCL_NET_GDR_LEVEL=LOC"}) > verbs);
  CHECK(time({"NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1"}) > verbs);
}

TEST_CASE("mistakes in networks and NICs are named") {
  const PartsCatalogue base = load_catalogue();
  const std::string head = "kind: parts\nsources: {a: {what: x, url: \"https://x\"}}\n";
  const auto error = [&](const std::string& text) {
    return error_text([&] { parse_parts(head + text, "p.yaml", &base); });
  };
  CHECK(error("networks:\n  cix: {}\n") ==
        "p.yaml:4: networks.cix: no kind of network\nhint: did you mean \"cxi\"?");
  const std::string f = "{value: 1 us, source: a, status: measured}";
  const std::string start = "networks:\n  cxi:\n    sync: {ll: " + f + ", ll128: " + f +
                            ", simple: " + f + "}\n    post: " + f + "\n    poll: " + f +
                            "\n    ll_check_rate: {value: 1 GB/s, source: a, status: measured}\n";
  CHECK(error(start + "    rendezvous: {threshold: {value: 0 B, source: a, status: measured}}\n") ==
        "p.yaml:9: networks.cxi.rendezvous.threshold: must be at least 1 B");
  PartsCatalogue changed = parse_parts(head + start, "p.yaml", &base);
  CHECK(changed.software.network[static_cast<std::size_t>(NetKind::cxi)].rendezvous_threshold ==
        Bytes{0});
  CHECK(changed.software.network[static_cast<std::size_t>(NetKind::ib)].post ==
        base.software.network[static_cast<std::size_t>(NetKind::ib)].post);
  const auto node_error = [&](const std::string& nic) {
    return error_text([&] {
      parse_node_type(
          "kind: node\nname: n\ncpus:\n  - cpu: Intel_8480C\n    numa: 0\n    affinity: "
          "\"1\"\n    pci:\n      - {nic: ConnectX-7, name: mlx5_0, " +
              nic + "}\n",
          "n.yaml");
    });
  };
  CHECK(node_error("ats: true") ==
        "n.yaml:8: cpus[0].pci[0].ats: it matters for a virtual function only\nhint: add vf: true");
  CHECK(node_error("network: ibb").starts_with("n.yaml:8: cpus[0].pci[0].network: "));
}
