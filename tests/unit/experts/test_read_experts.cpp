// Goal: files of costs and of weights are read, and what is wrong with them is said.

#include <doctest/doctest.h>

#include <string>

#include "models/io/experts/read_experts.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

TEST_CASE("experts: the shipped costs have every kind of kernel") {
  const ExpertKernels kernels = load_expert_kernels();
  for (const auto& mode : kernels.modes) {
    REQUIRE_FALSE(mode.empty());
    for (const ModeCosts& costs : mode)
      for (const PhaseCosts& phase : costs.phases) CHECK(phase.start.ps > 0);
  }
  CHECK(kernels.of(EpMode::normal, 90).of(EpPhase::dispatch).send.rate.bytes_per_s > 0);
  CHECK(kernels.of(EpMode::normal, 100).since_sm == 100);
}

TEST_CASE("experts: costs that are no such file") {
  const auto read = [](const std::string& text) {
    return error_text([&] { parse_expert_kernels(text, "own.yaml"); });
  };
  CHECK(read("kind: experts\n") == "own.yaml:1: missing key \"network_share\"");
  CHECK(read("kind: expert\n") ==
        "own.yaml:1: kind: unknown word \"expert\"\nhint: did you mean \"experts\"?");
}

TEST_CASE("experts: weights of experts") {
  CHECK(load_expert_weights("uniform", 4).empty());
  const std::vector<double> zipf = load_expert_weights("zipf:1", 4);
  REQUIRE(zipf.size() == 4);
  CHECK(zipf[1] == doctest::Approx(0.5));
  CHECK(zipf[3] == doctest::Approx(0.25));
  CHECK(parse_expert_weights("1, 2\n3 # the third\n4", "h.txt", 4) ==
        std::vector<double>{1, 2, 3, 4});
  const auto read = [](const std::string& text) {
    return error_text([&] { parse_expert_weights(text, "h.txt", 2); });
  };
  CHECK(read("1\nx\n") ==
        "h.txt:2: \"x\" is no weight of an expert\nhint: a number from 0 on for each expert, e.g. "
        "how many tokens it got");
  CHECK(read("-1 2").starts_with("h.txt:1: \"-1\" is no weight"));
  CHECK(read("1 2 3") ==
        "h.txt: 3 weights of experts, but there are 2 experts\nhint: give a number for each "
        "expert, or another --experts");
  CHECK(read("0 0") == "h.txt: all weights are 0: no expert would be taken");
  CHECK(error_text([] { load_expert_weights("zipf", 4); }) ==
        "\"zipf\" is no Zipf distribution\nhint: zipf:EXPONENT with an exponent from 0 to 8, e.g. "
        "zipf:1.2");
  CHECK(error_text([] { load_expert_weights("no-such-file", 4); }).starts_with("no-such-file: "));
}
