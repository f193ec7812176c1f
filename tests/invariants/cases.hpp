#pragma once
// Invariants are sentences that hold for every cluster, release and call: "more bytes never take
// less time". Each file here states one subject, over all presets and over seeded random cases.

#include <cstdlib>
#include <string>
#include <vector>

#include "models/studies/bench/bench.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"

namespace fabricast::testing {

/// Number of random cases: `wanted`, times the environment variable FABRICAST_CASES (1 if unset;
/// 20 is a long run).
inline int random_cases(int wanted) {
  const char* times = std::getenv("FABRICAST_CASES");
  return times == nullptr ? wanted : wanted * std::max(1, std::atoi(times));
}

/// A bench on a preset; fields not named are those of `fabricast bench`.
inline BenchConfig bench_of(const std::string& topology, int nodes, std::vector<Bytes> sizes,
                            NcclVersion version = kDefaultNccl) {
  BenchConfig config;
  config.topology = topology;
  config.nodes = {nodes};
  config.sizes = std::move(sizes);
  config.version = version;
  return config;
}

}  // namespace fabricast::testing
