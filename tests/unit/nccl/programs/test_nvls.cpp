// Goal: NVLS and NVLSTree move the right bytes over the right links and end with everybody's data.
// Method: symbolic data through the wiring of seeded random shapes; bytes of the switch ports
// against what the algorithm says (egress S + S/H, ingress the same); a closed form to the
// picosecond for one chunk with costless software.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "models/hardware/cluster/nvls_rates.hpp"
#include "models/nccl/programs/head_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/programs/gathered.hpp"
#include "tests/unit/nccl/programs/token_machine.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

CollectiveRun nvls_call(int gpus, int nodes, std::int64_t count, int channels) {
  CollectiveRun run;
  run.version = kNccl2_21_5;
  run.collective = Collective::all_reduce;
  run.algorithm = nodes == 1 ? Algorithm::nvls : Algorithm::nvls_tree;
  run.protocol = Protocol::simple;
  run.count = count;
  run.threads = 640;
  run.channels = run.communicator_channels = channels;
  run.members = Members::first(nodes, gpus);
  run.heads.heads = gpus;
  run.graph.pattern = GraphPattern::nvls;
  for (int g = 0; g < gpus; ++g) {
    GraphChannel channel;
    channel.gpu_order = {g};
    channel.net_in = channel.net_out = g;
    run.graph.channels.push_back(channel);
  }
  return run;
}

}  // namespace

TEST_CASE("heads share out every element of the message once") {
  Dice random(11);
  for (int i = 0; i < cases(300); ++i) {
    const int gpus = static_cast<int>(random.pick(2, 8));
    CollectiveRun run = nvls_call(gpus, static_cast<int>(random.pick(1, 2)),
                                  random.pick(1, 20'000'000), static_cast<int>(random.pick(1, 16)));
    run.version = random.of(kModelledVersions);
    const Partition parts = partition_of(run, run.members);
    const auto heads = static_cast<std::uint32_t>(gpus);
    const HeadProgram program({run.collective, HeadShare::one_chunk, heads, 1, 1}, parts);
    std::int64_t bytes = 0;
    for (std::uint32_t lane = 0; lane < parts.parts.size(); ++lane) {
      for (std::uint32_t head = 0; head < heads; ++head) {
        Cursor cursor;
        Primitive primitive;
        std::uint64_t slices = 0;
        while (program.next({lane, head}, cursor, primitive)) {
          bytes += primitive.chunk.count;
          ++slices;
        }
        CHECK(slices == program.slices(lane));
      }
    }
    CHECK(bytes == run.count * run.element_bytes);
  }
}

TEST_CASE("everybody ends with everybody's data once, and ports carry S + S/H each way") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(12);
  for (int i = 0; i < cases(60); ++i) {
    const int gpus = static_cast<int>(random.pick(2, 8)),
              nodes = static_cast<int>(random.pick(1, 9));
    CollectiveRun run =
        nvls_call(gpus, nodes, random.pick(1, 3'000'000), static_cast<int>(random.pick(1, 4)));
    CAPTURE(gpus);
    CAPTURE(nodes);
    CAPTURE(run.count);
    const Cluster cluster = load_cluster({"dgx-h100", nodes + 1, ""}, parts);
    run.members = {random_subset(random, nodes, nodes + 1), random_subset(random, gpus, 8)};
    for (GraphChannel& channel : run.graph.channels) {
      const auto local = static_cast<std::size_t>(channel.gpu_order.front());
      channel.net_in = channel.net_out = run.members.gpus()[local];
    }
    const Partition split = partition_of(run, run.members);
    TokenMachine machine;
    const SimulatedLinks all(machine, cluster);
    Assembly assembly(machine, cluster, parts.software, run, split);
    add_nvls(assembly);

    check_all_gathered(machine, assembly, static_cast<std::uint32_t>(gpus));

    // Every port of the switch: S read by heads plus this head's share stored, and the other way.
    const std::int64_t size = run.count * run.element_bytes;
    const NodeGraph& node = cluster.node();
    std::int64_t out_sum = 0, in_sum = 0;
    const int first = run.members.nodes().front();
    for (const int gpu : run.members.gpus()) {
      const VertexId a = node.gpus()[static_cast<std::size_t>(gpu)].vertex;
      const VertexId b = node.gpus()[static_cast<std::size_t>(gpu == 0 ? 1 : 0)].vertex;
      const auto out =
          machine.crossed().at(index_of(cluster.global(first, node.nvlink_route(a, b)[0])));
      const auto in =
          machine.crossed().at(index_of(cluster.global(first, node.nvlink_route(b, a)[1])));
      CHECK(out >= size);
      CHECK(in >= size);
      out_sum += out;
      in_sum += in;
    }
    CHECK(out_sum == gpus * size + size);
    CHECK(in_sum == gpus * size + size);
  }
}

TEST_CASE("one chunk of registered buffers: through the switch, to the picosecond") {
  // Buffers are registered, so blocks copy nothing, and software costs nothing: what is left is the
  // way of each head's chunk. Egress: all read each of 8 heads' chunks, then 1 store, in order of
  // arrival.
  PartsCatalogue parts = bare_parts();
  parts.software = in_place(parts.software);
  const Bench node("dgx-h100", 1, parts);
  CollectiveRun run = nvls_call(8, 1, 8 * 4096, 1);
  run.heads.nvls_chunk = Bytes{16 << 10};
  const SimulationResult got = node.run(run);
  REQUIRE(got.partition.parts.size() == 1);
  REQUIRE(got.partition.parts[0].chunk_elements == 4096);
  // Multimem reaches 0.85 of what stores reach: its packets carry so many bytes more.
  const Bytes packed{((16 << 10) * 77101 + 65535) / 65536};  // 77101 = 65536 / 0.85
  const Duration one = transfer_time(packed, Bandwidth{370'800'000'000});
  // Ports are busy 9 x one each way; nobody can be done before, and the two crossings follow.
  const Duration least = one * 9 + nanoseconds(240);
  CHECK(got.time >= least);
  CHECK(got.time <= least + one * 8);
  CHECK(got.links.front().carried.count == 9 * packed.count);
}

TEST_CASE("NVLS on 8 H100 moves large messages at 16 channels x 17.1 GB/s") {
  const Bench node("dgx-h100", 1, load_catalogue());
  const SimulationResult got = node.run(nvls_call(8, 1, std::int64_t{1} << 28, 16));
  const double algbw = algbw_GBps(Bytes{std::int64_t{1} << 30}, got.time);
  CHECK(algbw > 255);
  CHECK(algbw < 275);
}
