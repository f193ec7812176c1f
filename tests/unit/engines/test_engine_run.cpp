// Goal: every kernel of an engine adds each rank's input to each rank's result exactly once, moves
// the bytes that it must, and takes the time that its stages add up to. Method: symbolic payload
// over random sizes, counted bytes, closed forms with round costs.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/engines/engine_run.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

constexpr EngineKernel kKernels[] = {
    EngineKernel::one_shot, EngineKernel::two_shot, EngineKernel::push,
    EngineKernel::pull,     EngineKernel::fused,    EngineKernel::lamport,
    EngineKernel::synced,   EngineKernel::multimem, EngineKernel::symmetric};

/// What a rank has of each part: whose inputs it has read so far, and the sum if it has that.
class Ranks {
 public:
  explicit Ranks(int gpus) : gpus_(gpus), inputs_(cells()), sums_(cells()) {
    for (int rank = 0; rank < gpus; ++rank)
      for (int part = 0; part < gpus; ++part) inputs_[cell(rank, part)] |= bit(rank);
  }

  /// All moves of a stage see what there was before it.
  void apply(const KernelStage& stage) {
    const std::vector<unsigned> inputs = inputs_, sums = sums_;
    for (const KernelMove& move : stage.moves) {
      for (int i = 0; i < move.parts; ++i) {
        const int part = move.first_part + i;
        if (move.payload == Payload::input) {
          unsigned& has = inputs_[cell(move.to, part)];
          CHECK((has & bit(move.from)) == 0);  // once
          has |= bit(move.from);
        } else if (move.payload == Payload::sum) {
          // Its own sum: all inputs, each once.
          CHECK(inputs[cell(move.from, part)] == all());
          CHECK(sums[cell(move.to, part)] == 0);
          sums_[cell(move.to, part)] = all();
        }
      }
    }
  }

  bool have_all() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i] != all() && sums_[i] != all()) return false;
    return true;
  }

 private:
  std::size_t cells() const { return static_cast<std::size_t>(gpus_ * gpus_); }
  std::size_t cell(int rank, int part) const {
    return static_cast<std::size_t>(rank * gpus_ + part);
  }
  static unsigned bit(int rank) { return 1u << rank; }
  unsigned all() const { return (1u << gpus_) - 1; }

  int gpus_;
  std::vector<unsigned> inputs_, sums_;  ///< by rank and part
};

Cluster dgx(const std::string& name = "dgx-h100") {
  TopologyRequest request;
  request.topology = name;
  request.nodes = 1;
  return load_cluster(request, load_catalogue());
}

/// Round figures: a link reaches all that it has.
EngineCosts round_costs() {
  EngineCosts out;
  out.gpus[90] = {microseconds(1), microseconds(2), {1'000'000'000'000}, 1};
  out.node = microseconds(1);
  out.copy = microseconds(3);
  out.loads = out.stores = out.multimem = 1;
  out.window = {8 << 10};
  out.pull_window = 1;
  out.lamport_body = nanoseconds(500);
  out.sglang_body = nanoseconds(250);
  out.host_call.fill(microseconds(20));
  return out;
}

SimulationResult run(EngineKernel kernel, int gpus, std::int64_t bytes, const EngineCosts& costs,
                     bool graph = true) {
  static const Cluster cluster = dgx();
  return simulate_engine(cluster, Members::first(1, gpus), costs,
                         {newest(Engine::vllm), kernel, {bytes}, graph});
}

double us(EngineKernel kernel, int gpus, std::int64_t bytes, const EngineCosts& costs,
          bool graph = true) {
  return microseconds_of(run(kernel, gpus, bytes, costs, graph).time);
}

}  // namespace

TEST_CASE("engine kernels: each input is added to each result once") {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const int gpus = 2 + static_cast<int>(random.below(7));
    // Below a vector for each rank some parts are empty: then nobody moves them.
    const std::int64_t vectors = gpus + static_cast<std::int64_t>(random.below(1 << 16));
    for (const EngineKernel kernel : kKernels) {
      CAPTURE(gpus);
      CAPTURE(vectors);
      CAPTURE(kEngineKernelWords[kernel]);
      Ranks ranks(gpus);
      for (const KernelStage& stage : plan_kernel(kernel, gpus, {16 * vectors})) ranks.apply(stage);
      CHECK(ranks.have_all());
    }
  }
}

TEST_CASE("engine kernels: parts add up to the message") {
  for (const int gpus : {2, 3, 5, 8}) {
    for (const std::int64_t bytes : {16, 32, 48, 1024, 1040, 99984}) {
      std::int64_t all = 0;
      for (int part = 0; part < gpus; ++part) all += part_bytes({bytes}, gpus, part).count;
      CHECK(all == bytes);
    }
  }
}

TEST_CASE("engine kernels: bytes that each GPU receives") {
  const std::int64_t size = 1 << 20;
  const auto received = [&](EngineKernel kernel, int gpus) {
    std::int64_t out = 0;
    for (const KernelStage& stage : plan_kernel(kernel, gpus, {size}))
      for (const KernelMove& move : stage.moves)
        if (move.to == 0 && move.payload != Payload::none) out += move.bytes.count;
    return out;
  };
  for (const int gpus : {2, 4, 8}) {
    for (const EngineKernel one :
         {EngineKernel::one_shot, EngineKernel::push, EngineKernel::pull, EngineKernel::lamport})
      CHECK(received(one, gpus) == (gpus - 1) * size);
    for (const EngineKernel two : {EngineKernel::two_shot, EngineKernel::fused,
                                   EngineKernel::synced, EngineKernel::symmetric})
      CHECK(received(two, gpus) == 2 * (gpus - 1) * size / gpus);
    // The switch sums: the message and a part of it, but for what does not divide.
    CHECK(std::abs(received(EngineKernel::multimem, gpus) - (size + size / gpus)) < gpus);
  }
}

TEST_CASE("engine kernels: small messages take their hops") {
  const EngineCosts costs = round_costs();
  // A node of the graph, a barrier, a load there and back, a barrier.
  CHECK(us(EngineKernel::one_shot, 2, 256, costs) == doctest::Approx(1 + 1 + 2 + 1).epsilon(0.005));
  CHECK(us(EngineKernel::one_shot, 8, 256, costs) == doctest::Approx(5).epsilon(0.01));
  // ... and then the sums of seven peers, one after another.
  CHECK(us(EngineKernel::two_shot, 8, 256, costs) ==
        doctest::Approx(1 + 1 + 2 + 1 + 7 * 2).epsilon(0.005));
  // The data is the flag: a hop.
  CHECK(us(EngineKernel::lamport, 8, 256, costs) == doctest::Approx(1 + 0.5 + 1).epsilon(0.01));
  CHECK(us(EngineKernel::push, 8, 256, costs) == doctest::Approx(1 + 0.25 + 1).epsilon(0.01));
  // A barrier, a load, a store, a barrier.
  CHECK(us(EngineKernel::fused, 8, 256, costs) ==
        doctest::Approx(1 + 0.25 + 1 + 2 + 1 + 1).epsilon(0.01));
  // A copy kernel on either side.
  CHECK(us(EngineKernel::multimem, 8, 256, costs) ==
        doctest::Approx(1 + 6 + 1 + 2 + 1).epsilon(0.01));
}

TEST_CASE("engine kernels: a grid that copies in turns waits for a load in each") {
  EngineCosts costs = round_costs();
  // A body, a barrier, a load, a store, a barrier: memory has no latency.
  const double fast = 1 + 0.5 + 1 + 2 + 1 + 1;
  CHECK(us(EngineKernel::synced, 8, 64 << 10, costs) == doctest::Approx(fast).epsilon(0.1));
  costs.turn = microseconds(1);
  // Before and after, a row of 8 KiB for each of eight shares.
  const double with = us(EngineKernel::synced, 8, 64 << 10, costs);
  costs.turn = {};
  CHECK(with - us(EngineKernel::synced, 8, 64 << 10, costs) == doctest::Approx(16).epsilon(0.001));
  costs.turn = microseconds(1);
  // Two rows: six shares have none. 2 x 132 x 8 rows: two for each multiprocessor and share.
  const auto turns = [](std::int64_t bytes) {
    return plan_kernel(EngineKernel::synced, 8, {bytes}).front().turns;
  };
  CHECK(turns(16 << 10) == 2);
  CHECK(turns(std::int64_t{132 * 8} << 13) == 8);
  CHECK(turns((std::int64_t{132 * 8} << 13) + 1) == 16);
  CHECK(turns(std::int64_t{2 * 132 * 8} << 13) == 16);
}

TEST_CASE("engine kernels: a barrier takes longer for each further peer, a clock less") {
  EngineCosts costs = round_costs();
  costs.peer = nanoseconds(100);
  CHECK(us(EngineKernel::one_shot, 2, 256, costs) == doctest::Approx(5).epsilon(0.005));
  CHECK(us(EngineKernel::one_shot, 8, 256, costs) ==
        doctest::Approx(5 + 2 * 6 * 0.1).epsilon(0.005));
  costs.gpus[90].clock_GHz = 2;
  CHECK(us(EngineKernel::lamport, 2, 256, costs) == doctest::Approx(1 + 0.25 + 1).epsilon(0.005));
}

TEST_CASE("engine kernels: large messages are bound by windows, by links, by memory") {
  EngineCosts costs = round_costs();
  // 8 KiB under way, a load takes 2 us: 64 MiB take 8192 loads one after another.
  CHECK(us(EngineKernel::one_shot, 2, 64 << 20, costs) ==
        doctest::Approx(8192 * 2 + 3).epsilon(0.01));
  // With a wide window the link of a GPU is all that counts: 7 messages come in over it.
  costs.window = {1 << 30};
  const double rate = microseconds_of(transfer_time({1'000'000}, dgx().link(LinkId{0}).rate));
  CHECK(rate > 0);
  const SimulationResult result = run(EngineKernel::push, 8, 64 << 20, costs);
  const LinkLoad& busiest = result.links.front();
  CHECK(busiest.carried.count == doctest::Approx(7.0 * (64 << 20)).epsilon(0.001));
  const double link_us =
      microseconds_of(transfer_time(busiest.carried, dgx().link(busiest.link).rate));
  // 8 x 64 MiB at 1 TB/s: 537 us to poll and clear them.
  CHECK(microseconds_of(result.time) ==
        doctest::Approx(2.25 + link_us + 8 * 67.108864).epsilon(0.05));
  // A share of the link.
  costs.stores = 0.5;
  CHECK(us(EngineKernel::push, 8, 64 << 20, costs) ==
        doctest::Approx(2.25 + 2 * link_us + 8 * 67.108864).epsilon(0.05));
}

TEST_CASE("engine kernels: Python's calls wait for Python") {
  const EngineCosts costs = round_costs();
  CHECK(us(EngineKernel::one_shot, 2, 256, costs, false) == doctest::Approx(20));
  // A copy of the input comes before: a kernel more, and its bytes read and written.
  const double graph = us(EngineKernel::one_shot, 2, 4 << 20, costs);
  CHECK(us(EngineKernel::one_shot, 2, 4 << 20, costs, false) ==
        doctest::Approx(graph + 1 + 8.388608).epsilon(0.001));
}

TEST_CASE("engine kernels: Python's calls take as long as the CPU and the release have them") {
  EngineCosts costs = round_costs();
  costs.sglang_host_call = microseconds(30);
  CHECK(host_call_of(costs, parse_engine("sglang:0.5.10")) == microseconds(20));
  CHECK(host_call_of(costs, parse_engine("sglang:0.5.11")) == microseconds(30));
  CHECK(host_call_of(costs, parse_engine("vllm:0.24.0")) == microseconds(20));
  const auto python = [](const char* topology) {
    return load_cluster({topology, 1, ""}, load_catalogue()).node().python_time(microseconds(100));
  };
  CHECK(python("dgx-h100") == microseconds(100));  // an Intel Xeon 8480C
  CHECK(python("dgx-a100") == microseconds(210));  // AMD Rome
  CHECK(python("gb200-nvl72") == microseconds(225));
}

TEST_CASE("engine kernels: equal runs have equal digests, causes add up") {
  static const Cluster cluster = dgx();
  const EngineCosts costs = load_engines();
  for (const EngineKernel kernel : kKernels) {
    const EngineCall call{newest(Engine::vllm), kernel, {1 << 18}, true};
    const Members members = Members::first(1, 8);
    const SimulationResult one = simulate_engine(cluster, members, costs, call);
    CHECK(one.digest == simulate_engine(cluster, members, costs, call).digest);
    const SimulationResult explained = simulate_engine(cluster, members, costs, call, true);
    CHECK(explained.time == one.time);
    Duration all = explained.launch;
    for (const Duration cause : explained.causes) all += cause;
    CHECK(all == explained.time);
    CHECK(one.rank_finish.size() == 8);
  }
}

TEST_CASE("engine costs: generations that nobody measured") {
  const EngineCosts costs = load_engines();
  CHECK(&costs_of(costs, 103) == &costs.gpus.at(100));
  CHECK(&costs_of(costs, 89) == &costs.gpus.at(80));
  CHECK(&costs_of(costs, 70) == &costs.gpus.at(80));
  const PeerGpu twice = derived({microseconds(1), microseconds(2), {1}, 1.0}, 2.0, {5});
  CHECK(twice.hop == nanoseconds(500));
  CHECK(twice.load == microseconds(1));
  CHECK(twice.local.bytes_per_s == 5);
}

TEST_CASE("engine costs: mistakes in the file are said with their place") {
  const auto reads = [](const std::string& text) {
    return error_text([&] { parse_engines({text, {}}, "e.yaml"); });
  };
  CHECK(reads("kind: engine\n").find("e.yaml:1: kind: ") == 0);
  CHECK(reads("kind: engines\n").find("no generation of GPUs is named") != std::string::npos);
  CHECK(reads("kind: engines\ngpus: {hopper: {}}\n").find("is no compute capability") !=
        std::string::npos);
}
