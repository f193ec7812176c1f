// Goal: files of costs and of weights are read, and what is wrong with them is said.

#include <doctest/doctest.h>

#include <string>

#include "models/io/experts/read_experts.hpp"
#include "models/io/formats/reader.hpp"
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

TEST_CASE("experts: whose kernels a model's tokens go by") {
  const auto read = [](const std::string& text, int experts = 256) {
    const YamlNode tree = parse_yaml(text, "step.yaml");
    Reader in(tree, "step.yaml");
    return read_expert_wish(in, "ep_kernels", "step.yaml", experts, 8);
  };
  const ExpertWish short_form = read("ep_kernels: hybrid\n");
  CHECK(short_form.mode == EpMode::hybrid);
  CHECK(short_form.sms == 24);
  const ExpertWish wish = read(
      "ep_kernels: {mode: normal, sms: 20, dtype: fp8, load: zipf:1, groups: 8, top_groups: 4}\n");
  CHECK(wish.sms == 20);
  CHECK(wish.weights.size() == 256);
  const ExpertCall call = wish.call(256, 8, 7168, EpDatatype::bf16);
  CHECK(call.dispatched == EpDatatype::fp8);
  CHECK(call.choice.top_groups == 4);
  CHECK(short_form.call(256, 8, 7168, EpDatatype::bf16).dispatched == EpDatatype::bf16);
  const auto refusal = [&](const std::string& text, int experts = 256) {
    return error_text([&] { read(text, experts); });
  };
  CHECK(refusal("ep_kernels: hibrid\n") ==
        "step.yaml:1: ep_kernels: unknown word \"hibrid\"\nhint: did you mean \"hybrid\"?");
  CHECK(refusal("ep_kernels: hybrid\n", 0) ==
        "step.yaml:1: ep_kernels: the model has no experts\nhint: take a model with experts, or "
        "leave it out");
  CHECK(refusal("ep_kernels: {mode: normal, sms: 23}\n") ==
        "step.yaml:1: ep_kernels.sms: is odd\nhint: half of them send, half receive or forward");
  CHECK(refusal("ep_kernels: {mode: normal, groups: 8, top_groups: 9}\n")
            .starts_with("step.yaml:1: ep_kernels.top_groups: "));
  CHECK(refusal("ep_kernels: {mode: normal, groups: 64, top_groups: 1}\n") ==
        "step.yaml:1: ep_kernels.top_groups: 8 experts a token are more than the 4 of so many "
        "groups");
  CHECK(refusal("ep_kernels: hierarchical\n")
            .starts_with("step.yaml:1: ep_kernels: hierarchical is known to `fabricast experts`"));
}
