// Goal: what a call costs before its first slice (models/nccl/call/launch.hpp). Method: figures of
// the catalogue by hand: an A100's launch, and a work item for each block where it is read.

#include <doctest/doctest.h>

#include "models/io/topologies/load.hpp"
#include "models/nccl/call/launch.hpp"
#include "models/nccl/communicator/communicator.hpp"

using namespace fabricast;

namespace {

struct Calls {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster;
  Communicator communicator;

  Calls(const char* topology, NcclVersion version)
      : cluster(load_cluster({topology, 1, ""}, parts)),
        communicator(make_communicator(cluster, config_of(version))) {}

  static CommunicatorConfig config_of(NcclVersion version) {
    CommunicatorConfig out;
    out.version = version;
    return out;
  }
  CollectiveRun run(Collective collective, std::int64_t count) const {
    return decide_call(communicator, {collective, count, 4, 0}).run;
  }
  /// Work items that are read before the first slice.
  double items(const CollectiveRun& run) const {
    const Duration plain = parts.software.launch(run.protocol, cluster.node().gpus().front().part);
    return static_cast<double>((launch_of(run, cluster, parts.software) - plain).ps) /
           static_cast<double>(parts.software.work_read.ps);
  }
};

}  // namespace

TEST_CASE("launch: before 2.22 each block reads its work item") {
  const Calls calls("dgx-a100", kNccl2_21_5);
  // 1 KiB goes over one channel, 64 MiB over all 24.
  const CollectiveRun small = calls.run(Collective::all_reduce, 256);
  const CollectiveRun large = calls.run(Collective::all_reduce, 16 << 20);
  CHECK(working_channels(small) == 1);
  CHECK(calls.items(small) == 1);
  CHECK(working_channels(large) == 24);
  CHECK(calls.items(large) == 24);
  // A pair of messages is one item, those to eight peers are eight or more.
  CHECK(calls.items(calls.run(Collective::sendrecv, 256)) == 1);
  CHECK(calls.items(calls.run(Collective::alltoall, 256)) >= 8);
  CHECK(calls.items(calls.run(Collective::alltoall, 1 << 24)) ==
        calls.run(Collective::alltoall, 1 << 24).channels);
}

TEST_CASE("launch: nothing is read of a CUDA graph, from 2.22 on, and on Hopper") {
  const Calls calls("dgx-a100", kNccl2_21_5);
  CollectiveRun graph = calls.run(Collective::all_reduce, 16 << 20);
  graph.launches_in_a_row = 0;
  CHECK(calls.items(graph) == 0);
  const Calls newer("dgx-a100", kNccl2_22);
  CHECK(newer.items(newer.run(Collective::all_reduce, 16 << 20)) == 0);
  const Calls hopper("dgx-h100", kNccl2_21_5);
  CHECK(hopper.items(hopper.run(Collective::all_reduce, 16 << 20)) == 0);
}
