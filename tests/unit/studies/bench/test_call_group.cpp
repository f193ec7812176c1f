// Goal: calls of one group share the channels as NCCL's scheduler deals them out, are decided
// together, and run one after another on each channel of one kernel.
// Method: splits worked out by hand, and their invariants over seeded random groups; bytes on links
// and times against closed forms; decisions of a group beside those of one call of its size.

#include <doctest/doctest.h>

#include <map>

#include "models/nccl/communicator/communicator.hpp"
#include "models/studies/bench/bench.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

PartitionInput ring_group(NcclVersion version, int calls, std::int64_t count) {
  PartitionInput input;
  input.version = version;
  input.collective = Collective::all_reduce;
  input.algorithm = Algorithm::ring;
  input.protocol = Protocol::simple;
  input.count = count;
  input.calls = calls;
  input.ranks = 4;
  input.channels = input.communicator_channels = 4;
  input.threads = 512;
  return input;
}

using Slot = std::pair<int, int>;  // call, channel
std::vector<Slot> places(const Partition& split) {
  std::vector<Slot> out;
  for (const ChannelPart& part : split.parts) out.emplace_back(part.call, part.channel);
  return out;
}

}  // namespace

TEST_CASE("group: four calls on four channels, one each") {
  for (const NcclVersion version : kModelledVersions) {
    if (version < kNccl2_20) continue;  // each call on all channels
    const Partition split = partition(ring_group(version, 4, 1 << 18));
    CHECK(places(split) == std::vector<Slot>{{0, 0}, {1, 1}, {2, 2}, {3, 3}});
    for (const ChannelPart& part : split.parts) {
      CHECK(part.offset_elements == 0);
      CHECK(part.count_elements == 1 << 18);
    }
  }
}

TEST_CASE("group: a call goes on where the one before it ended") {
  // Three calls of 4 MiB on four channels: 3 MiB each.
  for (const NcclVersion version : kModelledVersions) {
    if (version < kNccl2_20) continue;  // each call on all channels
    const Partition split = partition(ring_group(version, 3, 1 << 20));
    CHECK(places(split) == std::vector<Slot>{{0, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 2}, {2, 3}});
    CHECK(split.parts[0].count_elements == 3 << 18);
    CHECK(split.parts[1].count_elements == 1 << 18);
    CHECK(split.parts[1].offset_elements == 3 << 18);
    CHECK(split.parts[3].count_elements == 1 << 19);
  }
  // Eight of 8 KiB, 16 KiB of traffic each: with 2.27 two on a channel.
  CHECK(places(partition(ring_group(kNccl2_27_7, 8, 2048))) ==
        std::vector<Slot>{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 2}, {5, 2}, {6, 3}, {7, 3}});
}

TEST_CASE("group: every call's elements are split once, and channels share the bytes") {
  Dice random(21);
  for (int i = 0; i < 300; ++i) {
    PartitionInput input =
        ring_group(random.of(kModelledVersions), static_cast<int>(random.pick(2, 40)),
                   random.pick(1, 3'000'000));
    input.collective = random.of(kRingCollectives);
    input.protocol = random.of(kAllProtocols);
    input.communicator_channels = static_cast<int>(random.pick(1, 16));
    input.channels = static_cast<int>(random.pick(1, input.communicator_channels));
    CAPTURE(i);
    const Partition split = partition(input);
    std::vector<std::int64_t> covered(static_cast<std::size_t>(input.calls));
    std::map<Slot, int> parts;
    for (const ChannelPart& part : split.parts) {
      auto& so_far = covered[static_cast<std::size_t>(part.call)];
      CHECK(part.offset_elements == so_far);
      CHECK(part.count_elements > 0);
      CHECK(part.channel < input.communicator_channels);
      so_far += part.count_elements;
      ++parts[{part.call, part.channel}];
    }
    const std::int64_t count = input.count * input.element_bytes / split.element_bytes;
    for (const std::int64_t elements : covered) CHECK(elements == count);
    for (const auto& [place, times] : parts) CHECK(times == 1);
  }
}

TEST_CASE("group: a channel's works follow each other, and carry each call's bytes") {
  const PartsCatalogue parts = bare_parts();
  // A chain of two GPUs; calls of one chunk are as one call of so many chunks.
  CollectiveRun run = ring_call(Collective::broadcast, Protocol::simple, 1, 1024);
  run.version = kNccl2_27_7;
  run.buffers.simple = Bytes{32'768};
  const Bench bench("dgx-h100", 2, parts);
  CollectiveRun one = run;
  one.count = 4 * 1024;
  run.calls = 4;
  CHECK(bench.run(run).time == bench.run(one).time);
  // Ring of eight: every hop crosses two links and carries 2 (n - 1) / n of each call.
  CollectiveRun ring = ring_call(Collective::all_reduce, Protocol::simple, 8, 1 << 20);
  ring.version = kNccl2_27_7;
  ring.channels = ring.communicator_channels = 4;
  ring.calls = 3;
  const Bench node("dgx-h100", 1, load_catalogue());
  const SimulationResult together = node.run(ring);
  std::int64_t carried = 0;
  for (const LinkLoad& load : together.links) carried += load.carried.count;
  CHECK(carried == std::int64_t{3} * 2 * 2 * 7 * (4 << 20));
  CHECK(node.run(ring, true).time == together.time);
  // No longer than one after another, no shorter than the bytes of all in one call but for its end.
  CollectiveRun single = ring;
  single.calls = 1;
  CHECK(together.time < node.run(single).time * 3);
  single.count = 3 << 20;
  CHECK(together.time.ps > node.run(single).time.ps * 9 / 10);
}

TEST_CASE("group: decided by the size of all calls") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  for (const NcclVersion version : kModelledVersions) {
    CommunicatorConfig config;
    config.version = version;
    const Communicator made = make_communicator(cluster, config);
    for (std::int64_t count = 256; count <= 1 << 24; count *= 4) {
      const DecidedCall group = decide_call(made, {Collective::all_reduce, count, 4, 0, 8});
      const DecidedCall one = decide_call(made, {Collective::all_reduce, 8 * count, 4, 0});
      CHECK(group.run.algorithm == one.run.algorithm);
      CHECK(group.run.protocol == one.run.protocol);
      CHECK(group.run.count == count);
      // 2.21 gives each call the channels of its own size.
      const DecidedCall own = decide_call(made, {Collective::all_reduce, count, 4, 0});
      if (version >= kNccl2_22) CHECK(group.run.channels == one.run.channels);
      if (version < kNccl2_22 && own.run.algorithm == one.run.algorithm &&
          own.run.protocol == one.run.protocol)
        CHECK(group.run.channels == own.run.channels);
    }
  }
  // More calls than channels: 2.22+ counts the latency of Ring for each in turn.
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  config.environment.set("NCCL_MAX_NCHANNELS=2");
  config.environment.set("NCCL_ALGO=Ring");
  const Communicator two = make_communicator(cluster, config);
  const auto time = [&](int calls) {
    return decide(two.model, Collective::all_reduce, Bytes{64}, 4, calls).time_us;
  };
  const int channels = two.model.input.channels.communicator;
  CHECK(time(channels) < 1.1 * time(1));
  CHECK(time(2 * channels) > 1.9 * time(1));
}

TEST_CASE("group: bench says one call's share") {
  const PartsCatalogue parts = load_catalogue();
  BenchConfig config;
  config.topology = "dgx-h100";
  config.version = kNccl2_27_7;
  config.sizes = {Bytes{1 << 20}};
  config.calls = 8;
  const BenchResult result = run_bench(config, parts);
  const BenchRow& row = result.blocks.front().rows.front();
  CHECK(row.call_time().ps == row.result.time.ps / 8);
  CHECK(row.algbw() == doctest::Approx(algbw_GBps(row.size, row.call_time())));
  config.calls = 1;
  const BenchResult alone = run_bench(config, parts);
  CHECK(row.call_time() < alone.blocks.front().rows.front().call_time());
}
