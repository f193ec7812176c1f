// Goal: the clock of nccl-tests (models/nccl/run/period.hpp). Method: a broadcast, whose ranks end
// one after another; an all-reduce, whose ranks end together; runs without a period.

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "models/io/topologies/load.hpp"
#include "models/nccl/call/launch.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/period.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "tests/unit/nccl/fold_cases.hpp"

using namespace fabricast;
using fabricast::testing::Dice;

namespace {

struct Machines {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster;
  Communicator communicator;

  Machines(const char* topology, int nodes, bool joins = false)
      : cluster(load_cluster({topology, nodes, "", joins}, parts)),
        communicator(make_communicator(cluster, {})) {}

  CollectiveRun run(Collective collective, std::int64_t count) const {
    return decide_call(communicator, {collective, count, 4, 0}).run;
  }
  SimulationResult alone(const CollectiveRun& run) const {
    return simulate(cluster, parts.software, run);
  }
  Duration period(const CollectiveRun& run, const SimulationOptions& options = {}) const {
    return period_of(cluster, parts.software, run, find_symmetry(cluster, run),
                     simulate(cluster, parts.software, run, options), options);
  }
};

}  // namespace

TEST_CASE("period: a small broadcast costs its root a launch and a slice, on however many nodes") {
  // Nobody answers the root: it goes on as soon as it has sent. Every other rank launches while the
  // slice before is still on its way.
  Duration on_two;
  for (const int nodes : {2, 8}) {
    const Machines machines("dgx-a100", nodes);
    const CollectiveRun run = machines.run(Collective::broadcast, 256);
    const Duration period = machines.period(run);
    const Duration launch =
        machines.parts.software.launch(run.protocol, machines.cluster.node().gpus().front().part);
    CHECK(period > launch);
    CHECK(period < launch + microseconds(1));
    CHECK(machines.alone(run).time > period * 3);
    if (nodes == 2) on_two = period;
    CHECK(period == on_two);
  }
}

TEST_CASE("period: of ranks that end together it is the time alone") {
  const Machines machines("dgx-h100", 1);
  const CollectiveRun run = machines.run(Collective::all_reduce, 1 << 26);
  CHECK(machines.period(run) == machines.alone(run).time);
}

TEST_CASE("period: never longer than a call alone, never shorter than its busiest rank") {
  for (const int nodes : {1, 2, 3}) {
    const Machines machines("dgx-h100", nodes);
    for (const Collective collective : kAllCollectives) {
      for (const std::int64_t count : {64, 1 << 14, 1 << 20}) {
        const CollectiveRun run = machines.run(collective, count);
        const SimulationResult alone = machines.alone(run);
        CAPTURE(to_text(collective));
        CAPTURE(nodes);
        CAPTURE(count);
        const Duration period = machines.period(run);
        CHECK(period.ps <= alone.time.ps + alone.time.ps / 100);
        CHECK(period >= alone.launch);
        // Folded or not, the same.
        SimulationOptions folded;
        folded.fold = true;
        CHECK(machines.period(run, folded) == period);
        // And by one draft for the call alone and the calls in a row.
        CHECK(time_in_a_row(machines.cluster, machines.parts.software, run) == period);
      }
    }
  }
}

TEST_CASE(
    "period: calls of many sizes, one after another, take what each of them takes by itself") {
  // Sizes at random, so that what was built for the call before is used again, and is not: other
  // channels, protocols, a fold less. Calls of 1 GiB jump ahead.
  Dice random(7);
  for (const char* topology : {"dgx-h100", "dgx-a100"}) {
    const Machines machines(topology, 4);
    const SoftwareCosts& software = machines.parts.software;
    SizesInARow sizes(machines.cluster, software, true);
    CollectiveRun before;
    int again = 0;
    for (int tried = 0; tried < 256; ++tried) {
      const std::int64_t count = (std::int64_t{1} << random.pick(0, 27)) + random.pick(0, 2);
      CollectiveRun run = machines.run(Collective::all_reduce, count);
      CAPTURE(count);
      again += SizesInARow::gains(before, run) ? 1 : 0;
      CHECK(sizes.of(run, find_symmetry(machines.cluster, run)) ==
            time_in_a_row(machines.cluster, software, run));
      before = std::move(run);
    }
    CHECK(again > 16);
  }
}

TEST_CASE("period: launches of one thread follow one another") {
  const Machines machines("dgx-a100", 1);
  CollectiveRun run = machines.run(Collective::broadcast, 256);
  run.launches_in_a_row = 8;
  CHECK(machines.period(run) == machines.parts.software.launch_per_gpu * 8);
  run.launches_in_a_row = 0;  // of a CUDA graph
  const Duration graph = machines.period(run);
  run.launches_in_a_row = 1;
  CHECK(graph <= machines.period(run));
  CHECK(graph < machines.parts.software.launch_per_gpu * 8);
}

TEST_CASE("period: a thread enqueues each send and receive of its GPUs") {
  const Machines machines("dgx-a100", 1);
  const SoftwareCosts& software = machines.parts.software;
  CollectiveRun run = machines.run(Collective::alltoall, 256);
  run.launches_in_a_row = 8;  // to and from each of eight
  CHECK(machines.period(run) == software.launch_per_gpu * 8 + software.launch_per_message * 128);
  run = machines.run(Collective::sendrecv, 256);
  run.launches_in_a_row = 8;
  CHECK(machines.period(run) == software.launch_per_gpu * 8 + software.launch_per_message * 16);
  run = machines.run(Collective::gather, 256);
  run.launches_in_a_row = 8;  // eight to the root, which takes eight
  CHECK(machines.period(run) == software.launch_per_gpu * 8 + software.launch_per_message * 16);
}

TEST_CASE("period: of a call too large to be simulated in a row, as of a smaller one") {
  // A chain of 72 ranks: a lone call takes the way along the chain longer, however large it is.
  const Machines machines("gb200-nvl72", 18, true);
  const CollectiveRun run = machines.run(Collective::broadcast, 1 << 26);
  const auto slices = [&](const CollectiveRun& one) {
    return job_size(machines.cluster, machines.parts.software, one,
                    find_symmetry(machines.cluster, one))
        .simulated;
  };
  REQUIRE(slices(run) > kSlicesInARow);
  // What four calls of it take in a row, after the second.
  Stream stream{
      {run}, {}, LaunchesAhead{{}, launch_of(run, machines.cluster, machines.parts.software)}, 4};
  const std::vector<Instant> ended =
      simulate(machines.cluster, machines.parts.software, std::span<const Stream>(&stream, 1))
          .streams.front()
          .ended;
  const auto whole = static_cast<double>((ended[3] - ended[2]).ps);
  CHECK(static_cast<double>(machines.period(run).ps) == doctest::Approx(whole).epsilon(0.001));
  CHECK(static_cast<double>(machines.alone(run).time.ps) > 1.005 * whole);
}

TEST_CASE("period: of a group of all ranks it is that of the call") {
  const Machines machines("dgx-h100", 2);
  for (const std::int64_t count : {256, 1 << 20, 1 << 24}) {
    const CollectiveRun run = machines.run(Collective::broadcast, count);
    const std::span<const CollectiveRun> runs(&run, 1);
    const StreamsResult alone =
        simulate(machines.cluster, machines.parts.software, streams_of(runs));
    CHECK(periods_of(machines.cluster, machines.parts.software, runs, alone, {}).front() ==
          machines.period(run));
  }
}

TEST_CASE("period: with a link that goes down, the call alone") {
  const Machines machines("dgx-h100", 2);
  CollectiveRun run = machines.run(Collective::broadcast, 1 << 20);
  REQUIRE(machines.period(run) < machines.alone(run).time);
  const SimulationResult alone = machines.alone(run);
  run.faults.outages.push_back({LinkId{0}, {}});
  const Symmetry symmetry = find_symmetry(machines.cluster, run);
  CHECK(period_of(machines.cluster, machines.parts.software, run, symmetry, alone, {}) ==
        alone.time);
}

TEST_CASE("period: what it takes besides the call alone, four calls and eight of 100,000 slices") {
  CHECK(slices_in_a_row(1'000) == 1'000 + 4'000 + 8'000);
  CHECK(slices_in_a_row(12'500) == 12'500 + 50'000 + 100'000);
  CHECK(slices_in_a_row(12'501) == 12'501 + 50'004);
  CHECK(slices_in_a_row(kSlicesInARow) == 25'000 + 100'000);
  CHECK(slices_in_a_row(kSlicesInARow + 1) == 25'001);
}
