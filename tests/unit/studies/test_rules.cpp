// Rules of thumb: claims as text, answers by way of asking, verdicts by counting points, runs
// beside earlier ones. Rules are made so that what they claim is known: closed forms, or what
// NCCL's own tables say.

#include <doctest/doctest.h>

#include "models/io/topologies/load.hpp"
#include "models/studies/rules/rules.hpp"
#include "models/studies/rules/rules_baseline.hpp"
#include "models/studies/rules/rules_text.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

const std::string kHead = "kind: rules\nname: t\ntopology: dgx-h100\nrules:\n";

RuleFile rules_of(const std::string& rules, const RuleOverrides& overrides = {}) {
  return parse_rules(kHead + rules, "t.yaml", overrides);
}

/// Of checks as YAML, one a line.
RulesResult ran(const std::string& checks, const RuleOverrides& overrides = {}) {
  return run_rules(rules_of("  - id: r\n    claim: c\n    checks:\n" + checks, overrides),
                   shipped_parts(), in_turn);
}

RuleOutcome outcome(const std::string& checks) { return ran(checks).outcomes.front(); }

std::string found(const std::string& check) {
  const RuleOutcome result = outcome("      - {" + check + "}\n");
  const CheckOutcome& only = result.checks.front();
  return only.points.empty() ? "not simulated: " + only.not_simulated : only.points.front().found;
}

Claim claim(std::string_view text, Dimension dimension, std::optional<double> tolerance = {}) {
  return parse_claim(text, dimension, tolerance);
}

const std::string kRing = "environment: {NCCL_ALGO: Ring, NCCL_PROTO: Simple}";

}  // namespace

TEST_CASE("rules: a claimed value counts within a tenth, ranges and bounds as they stand") {
  const Claim value = claim("350 us", Dimension::time);
  CHECK(value.holds(350, {}));
  CHECK(value.holds(384, {}));
  CHECK_FALSE(value.holds(386, {}));
  CHECK_FALSE(value.holds(314, {}));
  CHECK(claim("0.35 ms", Dimension::time, 0.0).holds(350, {}));
  const Claim range = claim("20..30 %", Dimension::share);
  CHECK(range.holds(30, {}));
  CHECK_FALSE(range.holds(30.1, {}));
  CHECK(claim("20..30 %", Dimension::share, 0.1).holds(32.9, {}));
  CHECK(claim("-5..5 %", Dimension::share).holds(-4, {}));
  CHECK(claim("> 0 %", Dimension::share).holds(0.1, {}));
  CHECK_FALSE(claim("> 0 %", Dimension::share).holds(0, {}));
  CHECK(claim(">= 400 Gb/s", Dimension::rate).holds(50, {}));
  CHECK(claim("<= 1.1 x", Dimension::ratio).holds(1.1, {}));
}

TEST_CASE("rules: a claimed formula of the job") {
  const Claim ring = claim("2*(n-1)/n", Dimension::ratio, 0.0);
  CHECK(ring.holds(1.75, {8, 1, 1}));
  CHECK_FALSE(ring.holds(1.75, {16, 2, 1}));
  CHECK(formula_value("2*log2(n)", {64, 64, 1}) == 12);
  CHECK(formula_value("-(1 + 2)*3 - 4/2", {}) == -11);
  CHECK(formula_value("bytes/nodes", {8, 4, 100}) == 25);
}

TEST_CASE("rules: words, any of them, each of them whole") {
  const Claim words = claim("NVLS or Ring LL", Dimension::word);
  CHECK(words.holds("NVLS Simple"));
  CHECK(words.holds("Ring LL"));
  CHECK_FALSE(words.holds("Ring LL128"));
  CHECK_FALSE(words.holds("NVLSTree Simple"));
}

TEST_CASE("rules: what a claim cannot be") {
  const auto refused = [](std::string_view text, Dimension dimension) {
    return error_text([&] { claim(text, dimension); });
  };
  CHECK(refused("350", Dimension::time) ==
        "\"350\" has no unit of this figure\nhint: write one of ns, us, ms, s");
  CHECK(refused("5..3 us", Dimension::time) ==
        "\"5..3 us\" begins above its end: this can never hold");
  CHECK(
      refused("2*(n-1", Dimension::ratio) ==
      "\"2*(n-1\" is no figure at \"\"\nhint: numbers and + - * / ( ) log2( ) of n (ranks), nodes "
      "and bytes");
  CHECK(refused("inf", Dimension::count).starts_with("\"inf\" is no figure at \"inf\""));
  CHECK(refused("Ring or ", Dimension::word) == "a word is missing beside \"or\"");
  CHECK(error_text([] { formula_value(std::string(1000, '('), {}); }).find("is no figure") !=
        std::string::npos);
}

TEST_CASE("rules: verdicts count points") {
  // A node of H100 with 2.21.5: Ring LL below 1.1 MiB, NVLS from there on (docs/decisions.md).
  const std::string choice = "      - {label: L, ask: choice, nodes: 1, ";
  CHECK(outcome(choice + "sizes: 4MiB..1GiB, claimed: NVLS}\n").verdict == RuleVerdict::holds);
  CHECK(outcome(choice + "sizes: 8B..1MiB, claimed: NVLS}\n").verdict == RuleVerdict::contradicted);
  const RuleOutcome mixed = outcome(choice + "sizes: 256KiB..4MiB, claimed: NVLS}\n");
  CHECK(mixed.verdict == RuleVerdict::holds_in_range);
  CHECK(mixed.holding == 2);
  CHECK(mixed.points == 5);
  CHECK(mixed.range == "L: 2 MiB .. 4 MiB");
  const RuleOutcome none = outcome("      - {ask: not-modelled, because: nobody knows}\n");
  CHECK(none.verdict == RuleVerdict::not_simulated);
  // What is not simulated takes nothing from what is.
  CHECK(outcome(choice + "sizes: 1GiB, claimed: NVLS}\n" +
                "      - {ask: not-modelled, because: nobody knows}\n")
            .verdict == RuleVerdict::holds);
}

TEST_CASE("rules: ranges by nodes, and rows of one label as one table") {
  const RuleOutcome nodes =
      outcome("      - {ask: choice, nodes: \"1,2\", sizes: 8KiB..4MiB:x512, claimed: Ring LL}\n");
  CHECK(nodes.range == "1 node: 8 KiB");
  const RuleOutcome rows = outcome(
      "      - ask: choice\n        nodes: 1\n        rows:\n"
      "          - {label: a, sizes: 8KiB, claimed: NVLS}\n"
      "          - {label: a, sizes: 4MiB, claimed: NVLS}\n"
      "          - {label: a, sizes: 64MiB, claimed: NVLS}\n"
      "          - {label: b, sizes: 64MiB, claimed: NVLS}\n");
  CHECK(rows.range == "a: 4 MiB .. 64 MiB; b");
}

TEST_CASE("rules: figures of runs that have closed forms") {
  const std::string one_gpu = "ask: figure, gpus_per_node: 1, sizes: 1MiB, " + kRing + ", ";
  CHECK(found(one_gpu + "nodes: 4, figure: sent_share, claimed: 1") == "1.500 x (Ring Simple)");
  CHECK(found(one_gpu + "nodes: 4, figure: sent, claimed: 1 B") == "1.5729 MB (Ring Simple)");
  CHECK(found(one_gpu + "nodes: 8, figure: rounds, claimed: 14") == "14 (Ring Simple)");
  CHECK(found("ask: figure, gpus_per_node: 1, nodes: 8, sizes: 1MiB, figure: rounds, claimed: 6, "
              "environment: {NCCL_ALGO: Tree, NCCL_PROTO: Simple}") == "6 (Tree Simple)");
  CHECK(found("ask: figure, nodes: 1, sizes: 1MiB, figure: pcie_sent, claimed: 0 B, " + kRing) ==
        "0 B (Ring Simple)");
  CHECK(found("ask: figure, nodes: 1, sizes: 1MiB, figure: rounds, claimed: 14") == "14 (Ring LL)");
  CHECK(found("ask: figure, nodes: 1, sizes: 64MiB, figure: rounds, claimed: 1") ==
        "not simulated: rounds are counted of Ring and Tree, not of NVLS");
}

TEST_CASE("rules: two runs that are the same are level") {
  CHECK(found("ask: compare, nodes: 1, sizes: 1MiB, figure: time_ratio, base: {}, with: {}, "
              "claimed: 1")
            .starts_with("1.000 x ("));
  CHECK(found("ask: fastest, nodes: 1, sizes: 1MiB, claimed: a, among: [{name: a}, {name: b}]")
            .starts_with("level ("));
  // 8 KiB over Simple takes several times as long (hwLat of NCCL's tuning.cc).
  CHECK(found("ask: fastest, nodes: 1, sizes: 8KiB, claimed: a, among: [{name: a, environment: "
              "{NCCL_PROTO: LL}}, {name: b, environment: {NCCL_PROTO: Simple}}]")
            .starts_with("a ("));
}

TEST_CASE("rules: what is set and not modelled gives no verdict") {
  CHECK(found("ask: compare, nodes: 1, sizes: 1MiB, figure: time_saved, claimed: 1 %, base: {}, "
              "with: {environment: {NCCL_CGA_CLUSTER_SIZE: 0}}")
            .starts_with("not simulated: NCCL_CGA_CLUSTER_SIZE"));
  // Nobody reads it: that it changes nothing is a figure.
  CHECK(found("ask: compare, nodes: 1, sizes: 1MiB, figure: time_saved, claimed: 1 %, base: {}, "
              "with: {environment: {NCCL_TIMEOUT: 1}}")
            .starts_with("0.0 % ("));
}

TEST_CASE("rules: catalogues and readers answer, too") {
  CHECK(found("ask: part, figure: nvlink, claimed: 900 GB/s") == "900 GB/s (H100_SXM5)");
  CHECK(found("ask: part, figure: nic_port, claimed: 50 GB/s").starts_with("50.0 GB/s ("));
  CHECK(found("ask: default, of: NCCL_NTHREADS, claimed: 256") == "512");
  CHECK(found("ask: default, of: NCCL_PROTO, claimed: automatic").starts_with("automatic"));
  // 4.096 us x 2^14
  CHECK(found("ask: retry, figure: timeout, environment: {NCCL_IB_TIMEOUT: 14}, claimed: 67 ms") ==
        "67.11 ms (7 retries)");
  CHECK(found("ask: lint, environment: {NCCL_TREE_THRESHOLD: 0}, claimed: none") ==
        "FL003 removed");
  CHECK(found("ask: hang, claimed: hangs, text: \"{\\\"rank\\\": 0, \\\"call\\\": \\\"send\\\", "
              "\\\"peer\\\": 1}\\n{\\\"rank\\\": 1, \\\"call\\\": \\\"send\\\", \\\"peer\\\": "
              "0}\"") == "hangs, a cycle");
  CHECK(found("ask: import, text: \"CA 'mlx5_0'\\n\\tCA type: MT4129\\n\", find: {kind: ibstat}") ==
        "ibstat");
  CHECK(found("ask: price, of: H100_SXM5, claimed: 2.9 USD").find("USD") != std::string::npos);
}

TEST_CASE("rules: the command line replaces what the file says, not what a check says") {
  RuleOverrides overrides;
  overrides.topology = "dgx-a100";
  const auto first = [&](const std::string& check) {
    return ran("      - {" + check + "}\n", overrides)
        .outcomes.front()
        .checks.front()
        .points.front()
        .found;
  };
  CHECK(first("ask: part, figure: nvlink, claimed: 1 GB/s").find("A100") != std::string::npos);
  CHECK(first("ask: part, topology: dgx-h100, figure: nvlink, claimed: 1 GB/s").find("H100") !=
        std::string::npos);
}

TEST_CASE("rules: mistakes of a file") {
  const auto refused = [](const std::string& rules) {
    return error_text([&] { rules_of(rules); });
  };
  CHECK(refused("  - {id: a, claim: c, ask: choise}\n") ==
        "t.yaml:5: rules[0].ask: unknown word \"choise\"\nhint: did you mean \"choice\"?");
  CHECK(refused("  - {id: a, claim: c, ask: choice, sizes: 1MiB}\n") ==
        "t.yaml:5: rules[0]: missing key \"claimed\"\nhint: like 350 us, 20..30 %, >= 85 %, or "
        "words");
  CHECK(refused("  - {id: a, claim: c, ask: choice, claimed: Ring}\n") ==
        "t.yaml:5: rules[0]: missing key \"sizes\"\nhint: write sizes like 8B..1GiB or 1MiB,64MiB");
  CHECK(
      refused("  - {id: a, claim: c, ask: figure, figure: time, sizes: 1MiB, claimed: 5 GB}\n") ==
      "t.yaml:5: rules[0].claimed: \"5 GB\" has no unit of this figure\nhint: write one of ns, us, "
      "ms, s");
  CHECK(
      refused("  - {id: a, claim: c, ask: compare, figure: time_saved, sizes: 1MiB, claimed: 5 %, "
              "base: {}}\n") ==
      "t.yaml:5: rules[0]: missing key \"with\"\nhint: compare takes two runs: base: {...}, with: "
      "{...}");
  CHECK(refused("  - {id: a, claim: c, ask: choice, sizes: 1MiB, claimed: Ring, sized: 1}\n") ==
        "t.yaml:5: rules[0]: unknown key \"sized\"\nhint: did you mean \"sizes\"?");
  CHECK(refused("  - {id: a, claim: c, ask: not-modelled, because: x}\n"
                "  - {id: a, claim: c, ask: not-modelled, because: x}\n") ==
        "t.yaml:6: rules[1].id: two rules are named \"a\"");
  CHECK(error_text([] {
          ran("      - {ask: choice, topology: dgx-h1000, sizes: 1MiB, claimed: Ring}\n");
        }).starts_with("t.yaml:8: rules[0].checks[0].topology: unknown topology \"dgx-h1000\""));
  CHECK(error_text([] {
          ran("      - {ask: step, file: nowhere.yaml, figure: time, claimed: 1 s}\n");
        }).find("nowhere.yaml") != std::string::npos);
}

TEST_CASE("rules: a run beside an earlier one") {
  const std::string check =
      "      - {ask: choice, nodes: 1, sizes: \"8KiB,4MiB\", claimed: NVLS}\n"
      "      - {label: F, ask: figure, figure: time, nodes: 1, sizes: 4MiB, claimed: 1 s}\n";
  const RulesResult now = ran(check);
  const RulesComparison same = compare_rules(
      now, parse_baseline(report_json(rules_report({{"", now, {}}})), "b.json"), 0.02);
  CHECK(same.verdicts.empty());
  CHECK(same.figures.empty());
  RuleOverrides overrides;
  overrides.topology = "dgx-a100";  // has no NVLS, and takes longer
  const RulesResult other = ran(check, overrides);
  const RulesComparison changed = compare_rules(
      other, parse_baseline(report_json(rules_report({{"", now, {}}})), "b.json"), 0.02);
  REQUIRE(changed.verdicts.size() == 1);
  CHECK(changed.verdicts.front().before == "holds-in-range");
  CHECK(changed.verdicts.front().after == "contradicted");
  REQUIRE(changed.figures.size() == 2);
  CHECK(changed.figures.front().where == "1 node, 4 MiB");
  CHECK(changed.figures.back().where == "F, 4 MiB");
  CHECK(rules_junit({{"", other, {}}}, changed).find("failures=\"1\"") != std::string::npos);
  CHECK(rules_junit({{"", now, {}}}, same).find("failures=\"0\"") != std::string::npos);
  CHECK(comparison_text(changed).find("r  verdict") != std::string::npos);
  CHECK(error_text([] { parse_baseline("{\"kind\": \"bench\"}", "b.json"); }) ==
        "b.json: this is no output of fabricast check --json\n"
        "hint: an earlier Fabricast wrote another form: write it anew");
}

TEST_CASE("rules: a verdict that the file does not expect") {
  const RuleFile file = rules_of(
      "  - {id: a, claim: c, why: w, expect: contradicted, ask: part, figure: nvlink, claimed: 900 "
      "GB/s}\n");
  const RulesResult result = run_rules(file, shipped_parts(), [](std::size_t n, const auto& one) {
    for (std::size_t i = 0; i < n; ++i) one(i);
  });
  CHECK(differs(result.file.rules.front(), result.outcomes.front()));
  CHECK(expectations_text(result) == "differs: a is holds, the file expects contradicted\n");
  CHECK(rules_text(result, false).find("1 rule: 1 holds, 0 holds-in-range") != std::string::npos);
  CHECK(rules_markdown({{"", result, {}}}).find("holds (expected: contradicted)") !=
        std::string::npos);
  CHECK(rules_junit({{"", result, {}}}, {})
            .find("<failure message=\"holds instead of contradicted, which the "
                  "file expects\"") != std::string::npos);
  // The mechanism explains the expected verdict, no other.
  CHECK(summary_of(result.file.rules.front(), result.outcomes.front()).why.find('w') ==
        std::string::npos);
}

TEST_CASE("rules: own parts, with their bands, are those of the command line, else of the file") {
  const std::string text =
      "kind: rules\nname: t\nparts: own.yaml\ntopology: dgx-h100\nrules:\n"
      "  - {id: a, claim: c, ask: part, figure: nvlink, claimed: 900 GB/s}\n";
  RuleOverrides overrides;
  const auto parts = [&] {
    const RuleFile file = parse_rules(text, "t.yaml", overrides);
    CHECK(file.parts == file.rules.front().checks.front().config.parts);
    return file.parts;
  };
  CHECK(parts() == "own.yaml");
  overrides.parts = "other.yaml";
  CHECK(parts() == "other.yaml");
}

TEST_CASE("rules: a rule is a claim, and without expect it is to hold") {
  // 900 GB/s is what H100's NVLink does in both directions: the first holds, the second does not.
  const RuleFile file = rules_of(
      "  - {id: a, claim: c, ask: part, figure: nvlink, claimed: 900 GB/s}\n"
      "  - {id: b, claim: c, ask: part, figure: nvlink, claimed: 100 GB/s}\n"
      "  - {id: d, claim: c, ask: not-modelled, because: x}\n"
      "  - {id: e, claim: c, expect: holds, ask: not-modelled, because: x}\n");
  const RulesResult result = run_rules(file, shipped_parts(), [](std::size_t n, const auto& one) {
    for (std::size_t i = 0; i < n; ++i) one(i);
  });
  std::vector<bool> against;
  for (std::size_t r = 0; r < file.rules.size(); ++r)
    against.push_back(differs(file.rules[r], result.outcomes[r]));
  CHECK(against == std::vector<bool>{false, true, false, true});
  CHECK(expectations_text(result) ==
        "differs: b is contradicted, and without \"expect\" it is to hold\n"
        "differs: e is not-simulated, the file expects holds\n");
  // The points that speak against it, and the time of each rule.
  const std::string junit = rules_junit({{"", result, {0.5, 0.25, 0, 0}}}, {});
  CHECK(junit.find("tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\" time=\"0.750000000\"") !=
        std::string::npos);
  CHECK(junit.find("claimed 100 GB/s, simulated 900 GB/s (H100_SXM5)") != std::string::npos);
  CHECK(junit.find("time=\"0.250000000\"") != std::string::npos);
  const std::string two = rules_junit({{"2.21.5", result, {}}, {"2.30.7", result, {}}}, {});
  CHECK(two.find("<testsuites tests=\"8\" failures=\"4\"") != std::string::npos);
  CHECK(two.find("name=\"t, NCCL 2.30.7\"") != std::string::npos);
}

TEST_CASE("rules: a run that checks nothing is not as expected") {
  const auto said = [](const std::string& rules) {
    return expectations_text(run_rules(rules_of(rules), shipped_parts(), in_turn));
  };
  const std::string skipped = "  - {id: a, claim: c, ask: not-modelled, because: x}\n";
  const std::string holds = "  - {id: b, claim: c, ask: part, figure: nvlink, claimed: 900 GB/s}\n";
  const std::string expected =
      "  - {id: d, claim: c, expect: not-simulated, ask: not-modelled, because: x}\n";
  CHECK(said(skipped) == "differs: nothing is checked, all is skipped\n");
  CHECK(said(skipped + expected) == "differs: nothing is checked, all is skipped\n");
  CHECK(said(skipped + holds).empty());
  CHECK(said(expected).empty());
}

TEST_CASE("rules: a word with which NCCL refuses to start is a mistake, not a rule to skip") {
  const auto refusal = [](const std::string& environment) {
    return error_text([&] {
      ran("      - {ask: figure, figure: time, sizes: 1MiB, claimed: < 1 s, environment: {" +
          environment + "}}\n");
    });
  };
  CHECK(refusal("NCCL_ALGO: Rong")
            .find("NCCL_ALGO=Rong: \"Rong\" is unknown, and NCCL refuses to start") !=
        std::string::npos);
  CHECK(refusal("NCCL_ALGO: Rong").starts_with("t.yaml:"));
  CHECK(refusal("NCCL_PROTO: Simpel").find("\"Simpel\" is unknown") != std::string::npos);
  // No mistake of words: NCCL has no such algorithm on this hardware, and the rule is skipped.
  CHECK(refusal("NCCL_ALGO: CollNetDirect") == "no error");
}

TEST_CASE("rules: a word that no answer has is a mistake, not a contradiction") {
  const auto claimed = [](const std::string& check) {
    return error_text([&] { rules_of("  - {id: a, claim: c, " + check + "}\n"); });
  };
  const std::string choice = "ask: choice, topology: dgx-h100, sizes: 1MiB, claimed: ";
  CHECK(claimed(choice + "Rong")
            .find("claimed: no answer is \"Rong\"\nhint: did you mean "
                  "\"Ring\"?") != std::string::npos);
  CHECK(claimed(choice + "Ring or Tre").find("no answer is \"Tre\"") != std::string::npos);
  CHECK(claimed(choice + "Ring LL128 or NVLSTree") == "no error");
  CHECK(claimed("ask: hang, text: x, claimed: stops").find("no answer") != std::string::npos);
  CHECK(claimed("ask: hang, text: x, claimed: hangs") == "no error");
  CHECK(claimed("ask: lint, topology: dgx-h100, claimed: FL999").find("no answer") !=
        std::string::npos);
  CHECK(claimed("ask: lint, topology: dgx-h100, claimed: FL003 removed") == "no error");
}

}  // namespace fabricast
