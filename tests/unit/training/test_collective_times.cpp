// Collectives of a step: what is remembered and interpolated against what is simulated.
#include <doctest/doctest.h>

#include "models/io/topologies/load.hpp"
#include "models/nccl/run/simulation.hpp"
#include "models/training/calls/collective_times.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

/// Simulated as asked, on so many nodes with so many GPUs each.
Duration exactly(const PartsCatalogue& parts, Collective collective, int nodes, int gpus,
                 std::int64_t bytes) {
  const Cluster cluster = load_cluster({"dgx-h100", nodes, ""}, parts);
  CommunicatorConfig config;
  config.gpus_per_node = gpus;
  const Communicator communicator = make_communicator(cluster, config);
  const std::int64_t per = counts_per_rank(collective) ? communicator.ranks : 1;
  const DecidedCall call = decide_call(communicator, {collective, bytes / 2 / per, 2, 0});
  return simulate(cluster, parts.software, call.run).time;
}

}  // namespace

TEST_CASE("collective times: between powers of two a line is close enough" *
          minutes_under_sanitizers()) {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  CollectiveTimes times(cluster, parts.software, {});
  struct Row {
    Collective collective;
    int nodes, gpus;
  };
  const Row rows[] = {{Collective::all_gather, 1, 8},     {Collective::reduce_scatter, 1, 4},
                      {Collective::all_reduce, 1, 8},     {Collective::all_gather, 4, 8},
                      {Collective::reduce_scatter, 2, 8}, {Collective::alltoall, 2, 8}};
  for (const Row& row : rows) {
    for (const std::int64_t size : {3'000'000LL, 50'331'648LL, 117'440'512LL, 400'000'000LL}) {
      const std::int64_t bytes = size / 256 * 256;
      const RankGroup group{row.nodes * row.gpus, row.nodes > 1 ? 1 : 1};
      const auto asked = times.cost(row.collective, group, static_cast<double>(bytes)).time;
      const auto exact = exactly(parts, row.collective, row.nodes, row.gpus, bytes);
      CAPTURE(to_text(row.collective));
      CAPTURE(bytes);
      const double ratio = static_cast<double>(asked.ps) / static_cast<double>(exact.ps);
      CHECK(ratio > (bytes < 10'000'000 ? 0.8 : 0.85));
      CHECK(ratio < (bytes < 10'000'000 ? 1.2 : 1.12));
    }
  }
}

TEST_CASE("collective times: many nodes as few") {
  // 40 nodes of 8 GPUs from 32 and 16; a group of 64 nodes with one GPU each is simulated as it is.
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  CollectiveTimes times(cluster, parts.software, {});
  const std::int64_t bytes = std::int64_t{1} << 26;
  const auto asked = times.cost(Collective::all_gather, {320, 1}, static_cast<double>(bytes)).time;
  const auto exact = exactly(parts, Collective::all_gather, 40, 8, bytes / 640 * 640);
  CHECK(static_cast<double>(asked.ps) ==
        doctest::Approx(static_cast<double>(exact.ps)).epsilon(0.1));
  const auto few = times.cost(Collective::all_gather, {64, 8}, static_cast<double>(bytes)).time;
  CHECK(few >= exactly(parts, Collective::all_gather, 64, 1, bytes));
}

TEST_CASE("collective times: simulated up to as many slices as somebody says") {
  // 40 nodes of 8 GPUs do not fold below leaves of 32: more than 250,000 slices, fewer than 10^9.
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  const std::int64_t bytes = std::int64_t{1} << 26;
  const auto asked = [&](std::uint64_t slices) {
    CollectiveTimes times(cluster, parts.software, {});
    times.simulate_up_to(slices);
    return times.cost(Collective::all_gather, {320, 1}, static_cast<double>(bytes)).time;
  };
  CHECK(asked(1'000'000'000) == exactly(parts, Collective::all_gather, 40, 8, bytes));
  CHECK(asked(CollectiveTimes::kSlicesMost) ==
        CollectiveTimes(cluster, parts.software, {})
            .cost(Collective::all_gather, {320, 1}, static_cast<double>(bytes))
            .time);
  CHECK(asked(CollectiveTimes::kSlicesMost) != asked(1'000'000'000));
}

TEST_CASE("collective times: a group alone, none, and groups that share NICs") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  CollectiveTimes times(cluster, parts.software, {});
  CHECK(times.cost(Collective::all_reduce, {1, 1}, 1e6).time.ps == 0);
  CHECK(times.cost(Collective::all_reduce, {8, 1}, 0).time.ps == 0);
  // Eight pairs side by side, one GPU of each node: 256 MiB each way through a NIC of 48 GB/s.
  const double bytes = 256.0 * 1024 * 1024;
  const double time =
      static_cast<double>(times.cost(Collective::sendrecv, {2, 8}, bytes).time.ps) * 1e-12;
  CHECK(time >= bytes / 48.5e9);
  CHECK(time < 2.2 * bytes / 48.5e9);  // few channels for one peer
  CHECK(times.nodes_of({2, 8}) == 2);
  CHECK(times.nodes_of({8, 1}) == 1);
  CHECK(times.nodes_of({4, 4}) == 2);
}
