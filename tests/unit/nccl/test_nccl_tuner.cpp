// Goal: predicted times, the choice, channels, threads, channels with work and chunk are NCCL's for
// every algorithm, to the last digit of its floats. Method: rows of what 14 releases of NCCL
// themselves computed (data/nccl/README.md), on four node types and under 25 environments,
// each from the node's description alone; then the reasons given for what was left out.

#include <doctest/doctest.h>

#include <string>

#include "models/nccl/tuner/call_plan.hpp"
#include "tests/unit/nccl/nccl_communicators.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

/// So that a failure says where.
std::string place(const Row& row) {
  std::string out;
  for (const char* column : {"version", "topology", "nodes", "env", "collective", "size_bytes"}) {
    if (row.contains(column)) out += row.at(column) + " ";
  }
  return out;
}

Collective collective_of(const Row& row) {
  return collective_from_text(row.at("collective")).value();
}

const Candidate& candidate(const TunerDecision& d, Algorithm a, Protocol p) {
  for (const Candidate& c : d.candidates) {
    if (c.algorithm == a && c.protocol == p) return c;
  }
  FAIL("no such candidate");
  return d.candidates.front();
}

}  // namespace

TEST_CASE("tuning model: latency, bandwidth and thread limits of every algorithm") {
  int rows = 0;
  for (const Row& row : read_table("tuner-model.csv")) {
    if (++rows % (kSanitized ? 12 : 1) != 0) continue;
    CAPTURE(place(row));
    CAPTURE(row.at("algorithm"));
    CAPTURE(row.at("protocol"));
    const TuningModel& model = communicator_of(row).model;
    const Algorithm a = algorithm_from_text(row.at("algorithm")).value();
    const Protocol p = protocol_from_text(row.at("protocol")).value();
    const TunedPair& pair = model.pair(collective_of(row), a, p);
    CHECK(pair.latency_us == std::stof(row.at("latency_us")));
    CHECK(pair.bandwidth_GBps == std::stof(row.at("bandwidth_GBps")));
    CHECK(model.threads_max[index_of(a)][index_of(p)] == std::stoi(row.at("threads_max")));
    CHECK(model.bytes_per_thread[index_of(a)][index_of(p)] ==
          std::stoll(row.at("bytes_per_thread")));
  }
  CHECK(rows == 763);
}

TEST_CASE("tuner: every prediction as NCCL makes it") {
  int rows = 0;
  for (const Row& row : read_table("tuner-predictions.csv")) {
    CAPTURE(place(row));
    const TunerDecision got = decide(communicator_of(row).model, collective_of(row),
                                     Bytes{std::stoll(row.at("size_bytes"))});
    CHECK(got.candidates.size() == 11);
    for (const Candidate& c : got.candidates) {
      const std::string column =
          std::string(to_text(c.algorithm)) + "_" + std::string(to_text(c.protocol));
      CAPTURE(column);
      CHECK(c.excluded.empty() == !row.at(column).empty());
      if (!row.at(column).empty()) CHECK(c.time_us == std::stof(row.at(column)));
    }
    ++rows;
  }
  CHECK(rows == 384);
}

constexpr int kDecisionsStride = kSanitized ? 24 : 1;

namespace {

/// Returns the number of rows.
int check_decisions(const std::string& table) {
  int rows = 0;
  for (const Row& row : read_table(table)) {
    if (++rows % kDecisionsStride != 0) continue;
    CAPTURE(place(row));
    const NcclCommunicator& communicator = communicator_of(row);
    const Collective collective = collective_of(row);
    const std::int64_t count =
        std::stoll(row.at("size_bytes")) / message_size(collective, 1, 4, communicator.ranks).count;
    const Bytes size = message_size(collective, count, 4, communicator.ranks);
    const TunerDecision got = decide(communicator.model, collective, size);
    REQUIRE(got.algorithm.has_value() == (row.at("algorithm") != "none"));
    if (!got.algorithm) continue;  // NCCL refuses the call
    CHECK(to_text(*got.algorithm) == row.at("algorithm"));
    CHECK(to_text(got.protocol) == row.at("protocol"));
    CHECK(got.time_us == std::stof(row.at("time_us")));
    CHECK(got.channels == std::stoi(row.at("channels")));
    CHECK(got.threads == std::stoi(row.at("threads")));
    const CallPlan plan = call_plan(split_of(communicator.model, collective, count, 4, got));
    CHECK(plan.channels == std::stoi(row.at("channels_with_work")));
    CHECK(plan.chunk.count == std::stoll(row.at("chunk_bytes")));
    CHECK(plan.step == step_size(got.protocol, communicator.settings.buffers));
  }
  return rows;
}

}  // namespace

TEST_CASE("tuner: every decision as NCCL makes it") {
  CHECK(check_decisions("tuner-decisions.csv") == 2114);
}

TEST_CASE("tuner: every decision as the releases 2.18.6 to 2.31.0a7 make it" *
          minutes_under_sanitizers()) {
  CHECK(check_decisions("release-decisions.csv") == 2068);
}

namespace {

TunerInput h100_input(const std::string& version, const std::string& env) {
  return communicator_of(
             {{"version", version}, {"topology", "dgx-h100"}, {"nodes", "2"}, {"env", env}})
      .model.input;
}

NcclSettings settings_of(const std::string& env, NcclVersion version) {
  Environment environment;
  for (const std::string& assignment : split(env, ' ')) environment.set(assignment);
  return read_settings(environment, version);
}

std::string why(const TunerInput& in, Collective c, Algorithm a, Protocol p) {
  return candidate(decide(tuning_model(in), c, Bytes{1 << 20}), a, p).excluded;
}

}  // namespace

TEST_CASE("tuner: a candidate left out says why") {
  const Collective ar = Collective::all_reduce;
  const TunerInput base = h100_input("2.21.5", "");
  CHECK(why(base, ar, Algorithm::ring, Protocol::ll128).empty());
  CHECK(why(base, Collective::broadcast, Algorithm::tree, Protocol::ll) ==
        "Tree exists for all_reduce only");
  CHECK(why(h100_input("2.21.5", "NCCL_ALGO=ring"), ar, Algorithm::tree, Protocol::ll) ==
        "NCCL_ALGO leaves out Tree");
  CHECK(why(h100_input("2.27.7", "NCCL_PROTO=^LL"), ar, Algorithm::ring, Protocol::ll) ==
        "NCCL_PROTO leaves out LL");

  TunerInput far = base;
  far.ring.type_inter = PathType::phb;
  CHECK(why(far, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 needs the NIC at PXN or nearer, it is at PHB");
  CHECK(why(far, ar, Algorithm::tree, Protocol::ll128).empty());  // each by its own graph
  far.settings = settings_of("NCCL_PROTO=LL128", kNccl2_21_5);    // the user's word is enough
  CHECK(why(far, ar, Algorithm::ring, Protocol::ll128).empty());

  TunerInput pcie = base;
  pcie.ring.type_intra = PathType::pix;
  CHECK(why(pcie, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 needs NVLink between GPUs (NVB or nearer), the path is PIX");
  TunerInput mixed = base;
  mixed.compute_capability_max = 100;
  CHECK(why(mixed, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 needs GPUs of one compute capability, here are 90 and 100");
  mixed.version = kNccl2_30_7;  // from 90 on the new rule does not mind
  CHECK(why(mixed, ar, Algorithm::ring, Protocol::ll128).empty());
  TunerInput ada = base;
  ada.compute_capability_min = ada.compute_capability_max = 89;
  CHECK(why(ada, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 is not enabled for compute capability 89 (70, 80 and 90 are)");
}

TEST_CASE("tuner: 2.21 falls back to rings where 2.27 refuses") {
  // NCCL_ALGO=Tree leaves nothing for all_gather.
  const Bytes size{1 << 20};
  const auto decided = [&](const std::string& version, Collective c) {
    return decide(tuning_model(h100_input(version, "NCCL_ALGO=Tree")), c, size);
  };
  CHECK(decided("2.21.5", Collective::all_reduce).algorithm == Algorithm::tree);
  CHECK(decided("2.21.5", Collective::all_gather).algorithm == Algorithm::ring);
  CHECK(decided("2.27.7", Collective::all_reduce).algorithm == Algorithm::tree);
  CHECK_FALSE(decided("2.27.7", Collective::all_gather).algorithm);
  // An unknown name matches nothing, so 2.21 switches both back on.
  const TunerDecision d =
      decide(tuning_model(h100_input("2.21.5", "NCCL_ALGO=Rings")), Collective::all_reduce, size);
  CHECK(d.algorithm == Algorithm::tree);
  CHECK(candidate(d, Algorithm::ring, Protocol::simple).excluded.empty());
  CHECK(candidate(d, Algorithm::nvls_tree, Protocol::simple).excluded ==
        "NCCL_ALGO leaves out NVLSTree");
  // NVLS over several nodes is in the model with CollNet, but 2.21 gathers on one node only: the
  // call falls back to rings, with every protocol.
  const TunerDecision gather =
      decide(tuning_model(h100_input("2.21.5", "NCCL_ALGO=NVLS NCCL_COLLNET_ENABLE=1")),
             Collective::all_gather, size);
  CHECK(gather.algorithm == Algorithm::ring);
  CHECK(candidate(gather, Algorithm::nvls, Protocol::simple).excluded ==
        "NVLS does all_gather on one node only");
}

TEST_CASE("tuner: what the machine lacks is said of NVLS and CollNet, too") {
  const Protocol simple = Protocol::simple;
  const Collective ar = Collective::all_reduce;
  const TunerInput base = h100_input("2.27.7", "");
  CHECK(why(base, ar, Algorithm::nvls_tree, simple).empty());
  CHECK(why(base, ar, Algorithm::nvls, simple) ==
        "NVLS over several nodes needs CollNet; NVLSTree does without");
  CHECK(why(base, ar, Algorithm::collnet_chain, simple) ==
        "CollNet is off: it takes NCCL_COLLNET_ENABLE=1, SHARP and several nodes");
  CHECK(why(h100_input("2.27.7", "NCCL_NVLS_ENABLE=0"), ar, Algorithm::nvls_tree, simple) ==
        "NCCL_NVLS_ENABLE=0 turns NVLS off");
  const TunerInput sharp = h100_input("2.27.7", "NCCL_COLLNET_ENABLE=1");
  CHECK(why(sharp, Collective::all_gather, Algorithm::collnet_direct, simple).empty());
  TunerInput few_heads = sharp;
  few_heads.collnet_heads = 2;
  CHECK(why(few_heads, Collective::all_gather, Algorithm::collnet_direct, simple) ==
        "only 2 of the 8 GPUs of a node have a NIC of their own for CollNet");
  TunerInput no_switch = sharp;
  no_switch.nvswitch = false;
  CHECK(why(no_switch, ar, Algorithm::collnet_direct, simple) == "CollNetDirect needs NVSwitch");
}

TEST_CASE("tuner: the chosen candidate is the first of the fastest, and 2.27 asks per collective") {
  const TuningModel model = tuning_model(h100_input("2.27.7", "NCCL_ALGO=ring;allreduce:tree"));
  for (const std::int64_t size : {8LL, 4096LL, 1LL << 20, 1LL << 30}) {
    const TunerDecision d = decide(model, Collective::all_reduce, Bytes{size});
    CHECK(d.algorithm == Algorithm::tree);
    for (const Candidate& c : d.candidates) {
      if (c.excluded.empty()) CHECK(d.time_us <= c.time_us);
    }
    CHECK(decide(model, Collective::reduce_scatter, Bytes{size}).algorithm == Algorithm::ring);
  }
}

TEST_CASE("tuner: elements of one byte keep NVLS out of sums") {
  const TuningModel model = tuning_model(h100_input("2.27.7", ""));
  const Bytes size{64 << 20};
  CHECK(decide(model, Collective::all_reduce, size).algorithm == Algorithm::nvls_tree);
  const TunerDecision bytes = decide(model, Collective::all_reduce, size, 1);
  CHECK(bytes.algorithm != Algorithm::nvls_tree);
  CHECK(candidate(bytes, Algorithm::nvls_tree, Protocol::simple).excluded ==
        "NVLS does not sum elements of one byte");
}

TEST_CASE("tuner: Blackwell in 2.30, by hand") {
  TunerInput in = h100_input("2.30.7", "");
  in.compute_capability_min = in.compute_capability_max = 100;
  in.nodes = 4;
  in.ranks = 32;
  in.nvls_graph.bw_intra = 90;
  in.nvls_graph.bw_inter = 96;
  REQUIRE(in.nvls_graph.channel_count() == 8);
  const auto nvls_tree = [&](Bytes size) {
    return candidate(decide(tuning_model(in), Collective::all_reduce, size), Algorithm::nvls_tree,
                     Protocol::simple);
  };
  // 90 x 0.74 x 7/8 x 2 = 116.55 inside, 96 between, 80 at most per channel; x 32/62.
  CHECK(nvls_tree(Bytes{1 << 30}).bandwidth_GBps == doctest::Approx(8 * 80.0 * 32 / 62));
  // 25 us inside, four hops of 20.9 us.
  CHECK(nvls_tree(Bytes{1 << 30}).latency_us == doctest::Approx(25 + 4 * 20.9));
  // At 1 MiB half of it, as Tree; not on Arm.
  CHECK(nvls_tree(Bytes{1 << 20}).bandwidth_GBps == doctest::Approx(4 * 80.0 * 32 / 62));
  in.cpu = HostCpu::arm;
  CHECK(nvls_tree(Bytes{1 << 20}).bandwidth_GBps == doctest::Approx(8 * 80.0 * 32 / 62));
  in.nvls_graph.channels.resize(1);
  CHECK(nvls_tree(Bytes{1 << 20}).excluded ==
        "NVLSTree needs two channels or more, the search found one");
}

// Measured of 2.29.2 (ai-dynamo/aiconfigurator): 8 B200 sum 8 MiB with LL, 16 MiB with LL128 and 32
// MiB with Simple.
TEST_CASE("tuner: rings of LL128 inside a node of Blackwell, by hand") {
  TunerInput in = h100_input("2.29.7", "NCCL_ALGO=Ring");
  in.compute_capability_min = in.compute_capability_max = 100;
  in.nodes = 1;
  in.ranks = 8;
  in.ring.bw_intra = 45;
  in.ring.channels.resize(16, in.ring.channels.front());
  const auto decided = [&](NcclVersion version, int mebibytes) {
    in.version = version;
    return decide(tuning_model(in), Collective::all_reduce, Bytes{mebibytes << 20}, 1);
  };
  const auto bandwidth = [&](NcclVersion version) {
    return candidate(decided(version, 8), Algorithm::ring, Protocol::ll128).bandwidth_GBps;
  };
  // 16 channels of 45 GB/s, of which LL128 carries 0.92 in its lines; x 8/14.
  CHECK(bandwidth({28, 9}) == doctest::Approx(16 * 45 * 0.92 * 8 / 14));
  CHECK(bandwidth({29, 2}) == doctest::Approx(16 * 34.6 * 8 / 14));
  CHECK(bandwidth({29, 7}) == doctest::Approx(16 * 40.0 * 8 / 14));
  CHECK(decided({29, 2}, 8).protocol == Protocol::ll);
  CHECK(decided({29, 2}, 16).protocol == Protocol::ll128);
  CHECK(decided({29, 2}, 32).protocol == Protocol::simple);
  CHECK(decided({29, 7}, 8).protocol == Protocol::ll128);
  CHECK(decided({29, 7}, 32).protocol == Protocol::ll128);
}

TEST_CASE("host kinds: from the words of NCCL's topology XML") {
  CHECK(host_cpu("x86_64", "GenuineIntel") == HostCpu::intel);
  CHECK(host_cpu("x86_64", "AuthenticAMD") == HostCpu::amd);
  CHECK(host_cpu("arm64", "") == HostCpu::arm);
  CHECK(host_cpu("ppc64", "") == HostCpu::power);
}
