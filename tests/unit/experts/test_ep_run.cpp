// Goal: times follow from the costs of kernels and the rates of links. Method: costs of one's own,
// so that one of them is all there is, and closed forms.

#include <doctest/doctest.h>

#include "models/experts/ep_run.hpp"
#include "models/io/topologies/load.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/starting_kernels.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

/// No cost but 10 us of start, on every kind of GPU.
ExpertKernels free_kernels() { return starting_kernels(microseconds(10)); }

/// Every token to both ranks: two experts, one each.
ExpertCall both(int tokens) {
  ExpertCall out;
  out.choice.experts = 2;
  out.choice.top_k = 2;
  out.tokens = tokens;
  out.hidden = 500;  // 1000 bytes
  out.dispatched = EpDatatype::bf16;
  out.sms = 2;
  return out;
}

Cluster two_gpus(const PartsCatalogue& parts, int nodes = 1) {
  return load_cluster({"dgx-h100", nodes, {}, false, nodes == 1 ? 2 : 1}, parts);
}

}  // namespace

// One SM sends 1000-byte copies at 1 GB/s, half of its warps for each of two ranks: 100 of them in
// 100 * 1000 / (1 GB/s / 2) = 200 us. The receiving SM is as fast, and takes a chunk of 6 when it
// is there: the last full one from 192 to 204 us, then the last 4 tokens, to 212 us.
TEST_CASE("experts: SMs that copy slowly set the time") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = two_gpus(parts);
  ExpertKernels kernels = free_kernels();
  kernels.chunk_tokens = 6;
  PhaseCosts& costs = kernels.modes[0].front().phases[0];
  costs.send.rate = {1'000'000'000};
  costs.receive.rate = {1'000'000'000};
  const ExpertCall call = both(100);
  const EpWays ways(cluster, 2);
  const TokenCounts counts = count_tokens(call, 2, 2);
  CHECK(counts.to_rank(0, 1) == 100);
  const EpResult result =
      run_ep_kernels(ways, kernels, call, EpMode::normal, EpPhase::dispatch, counts);
  const double us = microseconds_of(result.time);
  CHECK(us > 10 + 212);
  CHECK(us < 10 + 212 + 1);  // latency of NVLink
  CHECK(microseconds_of(result.fixed) == 10);
  CHECK(result.resources.front().name == "SMs that send");
  CHECK(result.counted_bytes == 200'000);
}

// Kernels without costs: 10,000 tokens of 1000 bytes cross one NIC: 10 MB at its goodput.
TEST_CASE("experts: the NIC sets the time of tokens that leave the node") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = two_gpus(parts, 2);
  const EpWays ways(cluster, 1);
  const ExpertCall call = both(10'000);
  const TokenCounts counts = count_tokens(call, 2, 1);
  const NicPart& nic = cluster.node().nics()[static_cast<std::size_t>(ways.nic(0))].part;
  const double us = 10e6 / (static_cast<double>(nic.port_rate.bytes_per_s) * nic.goodput) * 1e6;
  for (const EpPhase phase : {EpPhase::dispatch, EpPhase::combine}) {
    const EpResult low =
        run_ep_kernels(ways, free_kernels(), call, EpMode::low_latency, phase, counts);
    CHECK(microseconds_of(low.time) > us + 10);
    CHECK(microseconds_of(low.time) < us * 1.03 + 10);
    CHECK(low.resources.front().name == "NIC");
    // Two stages: net_start, which is 0, in place of start.
    const EpResult normal =
        run_ep_kernels(ways, free_kernels(), call, EpMode::normal, phase, counts);
    CHECK(microseconds_of(normal.time) > us);
    CHECK(microseconds_of(normal.time) < us * 1.06);
  }
}

TEST_CASE("experts: the rank of a popular expert is waited for") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 1, {}, false, 0}, parts);
  const EpWays ways(cluster, 8);
  ExpertCall call;
  call.choice.experts = 8;
  call.choice.top_k = 1;
  call.tokens = 4096;
  const auto time = [&] {
    const TokenCounts counts = count_tokens(call, 8, 8);
    return microseconds_of(run_ep_kernels(ways, free_kernels(), call, EpMode::low_latency,
                                          EpPhase::dispatch, counts)
                               .time) -
           10;
  };
  const double even = time();
  call.choice.weights = {7, 1, 1, 1, 1, 1, 1, 1};            // half of all tokens to rank 0
  CHECK(time() / even == doctest::Approx(4).epsilon(0.15));  // an eighth before
}

// Two SMs load 100 tokens once, 2 us each, and store them to both ranks: 100 us. Nobody receives.
TEST_CASE("experts: one-sided kernels load a token once") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = two_gpus(parts);
  ExpertKernels kernels = free_kernels();
  const auto hybrid = static_cast<std::size_t>(EpMode::hybrid);
  kernels.modes[hybrid].front().phases[0].send.token = microseconds(2);
  kernels.modes[hybrid].front().phases[1].receive.token = microseconds(2);
  ExpertCall call = both(100);
  const EpWays ways(cluster, 2);
  const TokenCounts counts = count_tokens(call, 2, 2);
  const auto time = [&](EpPhase phase) {
    return microseconds_of(run_ep_kernels(ways, kernels, call, EpMode::hybrid, phase, counts).time);
  };
  // The map of experts, 200 B over NVLink, takes next to nothing.
  CHECK(time(EpPhase::dispatch) == doctest::Approx(10 + 100).epsilon(0.03));
  CHECK(time(EpPhase::combine) == doctest::Approx(10 + 100).epsilon(0.03));
  call.sms = 4;
  CHECK(time(EpPhase::dispatch) == doctest::Approx(10 + 50).epsilon(0.05));
  // 8-bit tokens have scales of their own: 3 us a token and GPU more.
  kernels.modes[hybrid].front().phases[0].scan = microseconds(3);
  call.dispatched = EpDatatype::fp8;
  CHECK(time(EpPhase::dispatch) == doctest::Approx(10 + 100 * (2 + 2 * 3) / 4.0).epsilon(0.03));
}

// Between two nodes of a GPU each every token is forwarded to itself and to the other one, by two
// SMs at 4 us a token and node: 2 * 100 * 4 / 2 = 400 us.
TEST_CASE("experts: one-sided kernels forward what comes to their domain") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = two_gpus(parts, 2);
  ExpertKernels kernels = free_kernels();
  const auto v2 = static_cast<std::size_t>(EpMode::v2);
  kernels.modes[v2].front().phases[0].send.token = microseconds(4);
  const ExpertCall call = both(100);
  const EpWays ways(cluster, 1);
  const TokenCounts counts = count_tokens(call, 2, 1);
  const EpResult result =
      run_ep_kernels(ways, kernels, call, EpMode::v2, EpPhase::dispatch, counts);
  CHECK(microseconds_of(result.time) == doctest::Approx(400).epsilon(0.05));
  CHECK(result.resources.front().name == "SMs that forward");
}

// Four hops of 2 us on two GPUs, one more for each doubling.
TEST_CASE("experts: low-latency kernels start by hops over NVLink") {
  const PartsCatalogue parts = load_catalogue();
  ExpertKernels kernels = free_kernels();
  kernels.hops[80] = microseconds(2);
  kernels.modes[static_cast<std::size_t>(EpMode::low_latency)].front().phases[0].start_hops = 4;
  for (const int gpus : {2, 8}) {
    const Cluster cluster = load_cluster({"dgx-h100", 1, {}, false, gpus}, parts);
    const EpWays ways(cluster, gpus);
    ExpertCall call = both(1);
    call.choice.experts = gpus;
    const TokenCounts counts = count_tokens(call, gpus, gpus);
    const EpResult result =
        run_ep_kernels(ways, kernels, call, EpMode::low_latency, EpPhase::dispatch, counts);
    CHECK(microseconds_of(result.fixed) == 10 + 2 * (gpus == 2 ? 4 : 6));
  }
}

TEST_CASE("experts: SMs that kernels take from compute beside them") {
  CHECK(sms_beside_compute(EpMode::normal, 24, 132) == 24);
  CHECK(sms_beside_compute(EpMode::hybrid, 200, 132) == 132);
  CHECK(sms_beside_compute(EpMode::low_latency, 24, 132) == 0);
  CHECK(sms_beside_compute(EpMode::nvlink, 24, 152) == 152);
}

TEST_CASE("experts: SMs of low-latency kernels serve whole experts") {
  CHECK(low_latency_sms(256, 132) == 128);  // two each
  CHECK(low_latency_sms(288, 132) == 96);   // three each
  CHECK(low_latency_sms(8, 132) == 8);
  CHECK(low_latency_sms(64, 0) == 64);  // not known how many there are
}

TEST_CASE("experts: costs are those of the newest generation that a GPU has") {
  ExpertKernels kernels;
  for (const int sm : {80, 100}) {
    ModeCosts costs;
    costs.since_sm = sm;
    kernels.modes[0].push_back(costs);
  }
  CHECK(kernels.of(EpMode::normal, 90).since_sm == 80);
  CHECK(kernels.of(EpMode::normal, 103).since_sm == 100);
  CHECK(kernels.of(EpMode::normal, 70).since_sm == 80);  // nothing older is known
}

TEST_CASE("experts: what the kernels cannot do is refused") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster pcie = load_cluster({"pcie-8", 1, {}, false, 0}, parts);
  CHECK(error_text([&] { EpWays(pcie, 8); }) ==
        "gpu0 and gpu1 have no NVLink to each other: these kernels write into the memory of every "
        "GPU of the node\nhint: nccl-alltoall runs over PCIe, too");
}

TEST_CASE("experts: bytes of a token") {
  ExpertCall call;
  CHECK(token_bytes(call, EpPhase::dispatch) == 7168 + 56 * 4);
  CHECK(token_bytes(call, EpPhase::combine) == 14336);
  call.dispatched = EpDatatype::nvfp4;
  CHECK(token_bytes(call, EpPhase::dispatch) == 3584 + 448);
}
