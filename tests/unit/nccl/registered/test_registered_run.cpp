// Goal: what NCCL runs on registered buffers brings every input to where it belongs exactly once,
// and loads every link with the bytes that it must. Method: symbolic payload over random shapes,
// closed forms with round costs. Times that NVIDIA measured: test_validate_registered.cpp.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/hardware/cluster/nvls_rates.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/registered/registered_run.hpp"
#include "sim/base/random.hpp"

using namespace fabricast;

namespace {

constexpr SymmetricKernel kKernels[] = {
    SymmetricKernel::reduce_ll,  SymmetricKernel::reduce_llmc, SymmetricKernel::reduce_ld_st,
    SymmetricKernel::reduce_mc,  SymmetricKernel::gather_ll,   SymmetricKernel::gather_llmc,
    SymmetricKernel::gather_st,  SymmetricKernel::gather_stmc, SymmetricKernel::scatter_ll,
    SymmetricKernel::scatter_ld, SymmetricKernel::scatter_ldmc};

/// By rank and part: how often each rank's input has come, and the sum of all.
struct Delivered {
  explicit Delivered(int gpus)
      : n(static_cast<std::size_t>(gpus)), inputs(n * n * n), sums(n * n) {}
  int& input(int at, int part, int from) {
    return inputs[(static_cast<std::size_t>(at) * n + static_cast<std::size_t>(part)) * n +
                  static_cast<std::size_t>(from)];
  }
  int& sum(int at, int part) {
    return sums[static_cast<std::size_t>(at) * n + static_cast<std::size_t>(part)];
  }
  std::size_t n;
  std::vector<int> inputs, sums;
};

Delivered deliver(const std::vector<KernelStage>& stages, int gpus) {
  Delivered out(gpus);
  for (const KernelStage& stage : stages) {
    for (const KernelMove& move : stage.moves) {
      for (int part = move.first_part; part < move.first_part + move.parts; ++part) {
        if (move.payload == Payload::input) ++out.input(move.to, part, move.from);
        if (move.payload == Payload::sum) ++out.sum(move.to, part);
      }
    }
  }
  return out;
}

RegisteredChoice symmetric(SymmetricKernel kernel, int blocks = 8) {
  return {RegisteredPath::symmetric, kernel, blocks, 0, {}, {}};
}

/// Each input once, from all other ranks.
bool has_inputs(Delivered& got, int gpus, int at, int part) {
  for (int from = 0; from < gpus; ++from)
    if (got.input(at, part, from) != (from == at ? 0 : 1)) return false;
  return true;
}

bool has_gathered(Delivered& got, int gpus, int rank, int part) {
  for (int from = 0; from < gpus; ++from)
    if (got.input(rank, part, from) != (from == part && from != rank ? 1 : 0)) return false;
  return true;
}

/// What the collective leaves on the rank, each input once.
bool is_complete(Delivered& got, Collective collective, int gpus, int rank) {
  for (int part = 0; part < gpus; ++part) {
    if (collective == Collective::all_gather) {
      if (!has_gathered(got, gpus, rank, part)) return false;
    } else if (collective == Collective::reduce_scatter) {
      if (part == rank && !has_inputs(got, gpus, rank, part)) return false;
    } else if (got.sum(rank, part) > 0) {  // of who has summed it
      if (got.sum(rank, part) != 1 || !has_inputs(got, gpus, part, part)) return false;
    } else if (!has_inputs(got, gpus, rank, part)) {
      return false;
    }
  }
  return true;
}

Cluster cluster_of(const std::string& topology, int gpus) {
  TopologyRequest request;
  request.topology = topology;
  request.nodes = topology == "gb200-nvl72" ? std::max(1, gpus / 4) : 1;
  request.joins_domains = true;
  if (topology == "gb200-nvl72") request.gpus_per_node = std::min(gpus, 4);
  return load_cluster(request, load_catalogue());
}

/// Links reach all that they have, nothing else takes long.
PeerCosts round_costs() {
  PeerCosts out;
  out.gpus[90] = {microseconds(1), microseconds(2), {1'000'000'000'000}, 1, microseconds(3)};
  out.node = microseconds(1);
  out.copy = microseconds(2);
  out.loads = out.stores = out.multimem = 1;
  out.unrolled = 1;
  return out;
}

SimulationResult run(const RegisteredChoice& choice, Collective collective, int gpus,
                     std::int64_t bytes, const PeerCosts& costs, int launches = 0) {
  static const Cluster cluster = cluster_of("dgx-h100", 8);
  static const PartsCatalogue parts = load_catalogue();
  return simulate_registered(cluster, Members::first(1, gpus), costs, parts.software,
                             {choice, collective, {bytes}, 0, launches});
}

double us(const RegisteredChoice& choice, Collective collective, int gpus, std::int64_t bytes,
          const PeerCosts& costs, int launches = 0) {
  return microseconds_of(run(choice, collective, gpus, bytes, costs, launches).time);
}

}  // namespace

TEST_CASE("symmetric kernels: each input comes to each result once") {
  Random random(11);
  for (int i = 0; i < 40; ++i) {
    const int gpus = 2 + static_cast<int>(random.below(i < 30 ? 7 : 71));
    const std::int64_t vectors = gpus + static_cast<std::int64_t>(random.below(1 << 16));
    for (const SymmetricKernel kernel : kKernels) {
      CAPTURE(gpus);
      CAPTURE(kSymmetricKernelWords[kernel]);
      const Collective collective = traits_of(kernel).collective;
      Delivered got =
          deliver(plan_registered(symmetric(kernel), collective, gpus, {16 * vectors}), gpus);
      for (int rank = 0; rank < gpus; ++rank) CHECK(is_complete(got, collective, gpus, rank));
    }
  }
}

TEST_CASE("copy engines: each part goes once to whom it is for") {
  const RegisteredChoice copies{RegisteredPath::copy_engine, {}, 0, 0, {}, {}};
  for (const int gpus : {2, 5, 8, 72}) {
    const auto planned = [&](Collective collective) {
      return deliver(plan_registered(copies, collective, gpus, {16 * 999}, gpus - 1), gpus);
    };
    Delivered gather = planned(Collective::all_gather), all = planned(Collective::alltoall);
    Delivered to_root = planned(Collective::gather), from_root = planned(Collective::scatter);
    for (int a = 0; a < gpus; ++a) {
      CHECK(is_complete(gather, Collective::all_gather, gpus, a));
      for (int b = 0; b < gpus; ++b) {
        CHECK(all.input(a, a, b) == (a == b ? 0 : 1));
        CHECK(to_root.input(a, b, b) == (a == gpus - 1 && b != a ? 1 : 0));
        CHECK(from_root.input(a, a, b) == (b == gpus - 1 && b != a ? 1 : 0));
      }
    }
  }
}

TEST_CASE("symmetric kernels: small messages take their hops") {
  const PeerCosts costs = round_costs();
  const Collective reduce = Collective::all_reduce;
  // The start; LL: the data is the flag, a hop.
  CHECK(us(symmetric(SymmetricKernel::reduce_ll), reduce, 8, 256, costs) ==
        doctest::Approx(3 + 1).epsilon(0.02));
  // A barrier, a load there and back, a store, a barrier.
  CHECK(us(symmetric(SymmetricKernel::reduce_ld_st), reduce, 8, 256, costs) ==
        doctest::Approx(3 + 1 + 2 + 1 + 1).epsilon(0.02));
  CHECK(us(symmetric(SymmetricKernel::gather_st), Collective::all_gather, 8, 256, costs) ==
        doctest::Approx(3 + 1 + 1 + 1).epsilon(0.02));
  // Copies: a node, three batches, three hops.
  const RegisteredChoice copies{RegisteredPath::copy_engine, {}, 0, 0, {}, {}};
  CHECK(us(copies, Collective::alltoall, 8, 256, costs) ==
        doctest::Approx(1 + 3 * 2 + 3).epsilon(0.02));
  // One thread of the host launches eight GPUs: 4.4 us each.
  CHECK(us(symmetric(SymmetricKernel::reduce_ll), reduce, 8, 256, costs, 8) ==
        doctest::Approx(8 * 4.4).epsilon(0.01));
}

TEST_CASE("symmetric kernels: LL takes a turn for each window") {
  const PeerCosts costs = round_costs();
  // Two blocks of 512 threads of 8 B: 8 KiB a turn, so 128 turns of a hop for 1 MiB.
  const double time =
      us(symmetric(SymmetricKernel::reduce_ll, 2), Collective::all_reduce, 2, 1 << 20, costs);
  CHECK(time > 3 + 128 * 1.0);
  CHECK(time < 3 + 128 * 1.2 + 4 * 1.05);  // wire, and 4 MiB of its own memory at the end
}

TEST_CASE("symmetric kernels: loops over peers wait for loads, reads and stores") {
  PeerCosts costs = round_costs();
  const Collective reduce = Collective::all_reduce;
  const auto more = [&](SymmetricKernel kernel, Collective collective, std::int64_t bytes,
                        const PeerCosts& with) {
    return us(symmetric(kernel, 1), collective, 8, bytes, with) -
           us(symmetric(kernel, 1), collective, 8, bytes, costs);
  };
  // 16 KiB on 8 GPUs, one block each: three rounds of loads in place of one, of half a load each.
  PeerCosts rounds = costs;
  costs.round = 0;
  rounds.round = 0.5;
  CHECK(more(SymmetricKernel::reduce_ld_st, reduce, 16 << 10, rounds) ==
        doctest::Approx(2 * 0.5 * 2).epsilon(0.02));
  // LL of 4 KiB: a turn. Eight reads are one round; seven peers wait for six bursts.
  PeerCosts reads = costs, bursts = costs;
  reads.ll_read = microseconds(1);
  bursts.burst = microseconds(1);
  CHECK(more(SymmetricKernel::reduce_ll, reduce, 4 << 10, reads) ==
        doctest::Approx(1).epsilon(0.02));
  CHECK(more(SymmetricKernel::reduce_ll, reduce, 4 << 10, bursts) ==
        doctest::Approx(6).epsilon(0.02));
  CHECK(more(SymmetricKernel::reduce_llmc, reduce, 4 << 10, bursts) == 0);
  // Stores: 16 KiB to a peer are a full burst, 4 KiB a quarter.
  // (in part beside what the link has to carry).
  CHECK(more(SymmetricKernel::gather_st, Collective::all_gather, 8 * (16 << 10), bursts) ==
        doctest::Approx(6).epsilon(0.06));
  CHECK(more(SymmetricKernel::gather_st, Collective::all_gather, 8 * (4 << 10), bursts) ==
        doctest::Approx(1.5).epsilon(0.05));
}

TEST_CASE("symmetric kernels: links carry what they must, of more than eight GPUs too") {
  const Cluster domain = cluster_of("gb200-nvl72", 16);
  const PartsCatalogue parts = load_catalogue();
  PeerCosts costs = round_costs();
  const std::int64_t size = 16 << 20;
  const SimulationResult result = simulate_registered(
      domain, Members::first(1, 16), costs, parts.software,
      {symmetric(SymmetricKernel::gather_st), Collective::all_gather, {size}, 0, 0});
  CHECK(result.rank_finish.size() == 16);
  CHECK(result.links.front().carried.count == doctest::Approx(15.0 / 16 * size).epsilon(0.001));
  CHECK(result.links[31].carried == result.links.front().carried);  // there and back, all GPUs
}

TEST_CASE("registered NVLS of several nodes: nothing is copied, on fewer channels") {
  const PartsCatalogue parts = load_catalogue();
  TopologyRequest request;
  request.topology = "dgx-h100";
  request.nodes = 2;
  const Cluster cluster = load_cluster(request, parts);
  CommunicatorConfig config;
  config.version = kNccl2_27_7;
  config.environment.set("NCCL_ALGO=NVLSTree");
  const Communicator communicator = make_communicator(cluster, config);
  const CollectiveRun plain =
      decide_call(communicator, {Collective::all_reduce, 64 << 20, 4, 0, 1}).run;
  REQUIRE(plain.algorithm == Algorithm::nvls_tree);
  const RegisteredChoice choice{RegisteredPath::nvls, {}, 6, 0, {}, {}};
  const CollectiveRun run = in_place_run(plain, choice);
  CHECK(run.channels == 6);
  const SimulationResult copied = simulate(cluster, parts.software, plain);
  const SimulationResult users = simulate(cluster, in_place(parts.software), run);
  // Links carry the same, in less time; six channels that copy take longer than both.
  const auto carried = [](const SimulationResult& one) {
    return static_cast<double>(one.links.front().carried.count);
  };
  CHECK(carried(users) == doctest::Approx(carried(copied)).epsilon(0.01));
  CHECK(users.time < copied.time);
  CHECK(copied.time < simulate(cluster, parts.software, run).time);
  CHECK(in_place_run(run, {RegisteredPath::nvls, {}, 9, 0, {}, {}}).channels == 6);
}

TEST_CASE("symmetric kernels: equal runs have equal digests, causes add up") {
  static const Cluster cluster = cluster_of("dgx-h100", 8);
  const PartsCatalogue parts = load_catalogue();
  const EngineCosts costs = load_engines();
  for (const SymmetricKernel kernel : kKernels) {
    const RegisteredCall call{symmetric(kernel), traits_of(kernel).collective, {1 << 18}, 0, 0};
    const Members members = Members::first(1, 8);
    const SimulationResult one = simulate_registered(cluster, members, costs, parts.software, call);
    const SimulationResult explained =
        simulate_registered(cluster, members, costs, parts.software, call, true);
    CHECK(explained.time == one.time);
    Duration all = explained.launch;
    for (const Duration cause : explained.causes) all += cause;
    CHECK(all == explained.time);
  }
}
