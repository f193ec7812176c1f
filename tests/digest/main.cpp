// Goal: the same question gives the same events, to the picosecond, whoever compiled the program.
// Method: a dozen small collectives, each run twice here; the printed lines are compared between
// compilers and optimisation levels by ctest (tests/digest/compare.py).

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/studies/bench/bench.hpp"
#include "tests/digest/networks.hpp"

namespace fabricast {

namespace {

struct Case {
  const char* topology;
  int nodes;
  NcclVersion version;
  Collective collective;
  const char* algorithm;
  const char* protocol;
  std::int64_t bytes;
};

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20;

// Every collective, algorithm, protocol, version and preset at least once; one to three nodes.
constexpr Case kCases[] = {
    {"dgx-h100", 1, kNccl2_21_5, Collective::all_reduce, "Ring", "Simple", 64 * kMiB},
    {"dgx-h100", 1, kNccl2_30_7, Collective::reduce_scatter, "Ring", "LL128", kMiB},
    {"dgx-h100", 2, kNccl2_27_7, Collective::all_reduce, "Tree", "LL128", 4 * kMiB},
    {"dgx-h100", 2, kNccl2_30_7, Collective::all_reduce, "Tree", "Simple", 32 * kMiB},
    {"dgx-h100", 3, kNccl2_21_5, Collective::all_gather, "Ring", "LL", 96 * kKiB},
    {"dgx-h100", 3, kNccl2_27_7, Collective::all_reduce, "Tree", "LL", 12'344},
    {"dgx-a100", 1, kNccl2_21_5, Collective::broadcast, "Ring", "LL128", 8 * kMiB},
    {"dgx-a100", 2, kNccl2_21_5, Collective::reduce, "Ring", "Simple", 16 * kMiB},
    {"hgx-h200-2nic", 2, kNccl2_21_5, Collective::all_reduce, "Ring", "Simple", 32 * kMiB},
    {"hgx-h200-2nic", 3, kNccl2_27_7, Collective::reduce_scatter, "Ring", "LL", 999'936},
    {"hgx-h200-2nic-split", 2, kNccl2_30_7, Collective::all_gather, "Ring", "Simple", 8 * kMiB},
    {"hgx-h200-2nic-split", 3, kNccl2_21_5, Collective::all_reduce, "Tree", "Simple", kMiB},
    {"pcie-2gpu", 1, kNccl2_21_5, Collective::all_reduce, "Ring", "LL", 8},
    {"pcie-2gpu", 2, kNccl2_27_7, Collective::broadcast, "Ring", "Simple", 3 * kMiB},
};

struct Outcome {
  std::uint64_t digest;
  Duration time;

  bool operator==(const Outcome&) const = default;
};

Outcome outcome(const Case& c) {
  BenchConfig config;
  config.topology = c.topology;
  config.nodes = {c.nodes};
  config.version = c.version;
  config.environment.set("NCCL_ALGO", c.algorithm);
  config.environment.set("NCCL_PROTO", c.protocol);
  config.collectives = {c.collective};
  config.sizes = {Bytes{c.bytes}};
  const BenchResult result = run_bench(config, load_catalogue());
  const SimulationResult& simulated = result.blocks.front().rows.front().result;
  return {simulated.digest, simulated.time};
}

bool equal(const std::string& what, const Outcome& a, const Outcome& b) {
  if (a == b) return true;
  fmt::print(stderr, "{}: digests {:016x} and {:016x}, {} and {} ps\n", what, a.digest, b.digest,
             a.time.ps, b.time.ps);
  return false;
}

int run() {
  bool all_equal = true;
  for (const Case& c : kCases) {
    const std::string name =
        fmt::format("{} x {} {} {} {} {} {} B", c.nodes, c.topology, to_text(c.version),
                    to_text(c.collective), c.algorithm, c.protocol, c.bytes);
    const Outcome first = outcome(c);
    all_equal &= equal(name + ", run twice", first, outcome(c));
    fmt::print("{}: {:016x} {} ps\n", name, first.digest, first.time.ps);
  }
  const std::pair<const char*, NetworkOutcome (*)()> networks[] = {
      {"flow rung", flow_outcome},
      {"RoCE packets", roce_outcome},
      {"IB packets", infiniband_outcome}};
  for (const auto& [name, network] : networks) {
    const NetworkOutcome result = network();
    fmt::print("{}: {:016x} {} ps\n", name, result.digest, result.time.ps);
  }
  // One node type written down twice, keys in another order: not even the digest may notice.
  const char* const node = FABRICAST_TEST_DATA "/digest/node.yaml";
  const char* const reordered = FABRICAST_TEST_DATA "/digest/node-reordered.yaml";
  Case c{node, 2, kNccl2_21_5, Collective::all_reduce, "Tree", "Simple", kMiB};
  const Outcome first = outcome(c);
  c.topology = reordered;
  all_equal &= equal("keys in another order", first, outcome(c));
  return all_equal ? 0 : 1;
}

}  // namespace
}  // namespace fabricast

int main() { return fabricast::run(); }
