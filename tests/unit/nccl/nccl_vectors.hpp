#pragma once
// The test vectors in tests/data/nccl/schedule-vectors.json.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fabricast::testing {

inline std::vector<nlohmann::json> vectors_of(const std::string& kind) {
  std::ifstream file(FABRICAST_TEST_DATA "/nccl/schedule-vectors.json");
  REQUIRE(file.good());
  const nlohmann::json all = nlohmann::json::parse(file);
  std::vector<nlohmann::json> cases;
  for (const nlohmann::json& v : all.at("vectors")) {
    if (v.at("kind") == kind) cases.push_back(v);
  }
  return cases;
}

}  // namespace fabricast::testing
