// Goal: what `upgrade` says that changes is what decisions of the two releases differ in, its times
// are those that bench simulates, its causes are the rules that changed, and a remedy gives back
// what it says. Method: the deciding functions of each release, asked call by call; changes that
// NCCL's sources and public reports name; contracts of texts and files.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "models/io/report/report.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/tuners/load_tuner.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/decide/decide.hpp"
#include "models/studies/upgrade/read_targets.hpp"
#include "models/studies/upgrade/upgrade_baseline.hpp"
#include "models/studies/upgrade/upgrade_text.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

UpgradeConfig question(const std::string& topology, const std::string& from, const std::string& to,
                       std::vector<int> nodes) {
  UpgradeConfig out;
  out.from = nccl_version_from_text(from);
  out.to = nccl_version_from_text(to);
  UpgradeTarget target;
  target.topology = target.name = topology;
  target.nodes = std::move(nodes);
  out.targets = {target};
  out.collectives = {Collective::all_reduce, Collective::all_gather, Collective::broadcast};
  for (int power = 3; power <= 30; ++power) out.sizes.push_back(Bytes{std::int64_t{1} << power});
  return out;
}

UpgradeResult answer(const UpgradeConfig& config) {
  return run_upgrade(config, load_catalogue(), in_turn);
}

DecideRow decided(const UpgradeTarget& target, NcclVersion version, int nodes,
                  Collective collective, Bytes size) {
  DecideConfig config;
  static_cast<Job&>(config) = target;
  config.version = version;
  config.nodes = {nodes};
  config.collectives = {collective};
  config.sizes = {size};
  return run_decide(config, load_catalogue()).blocks.front().rows.front();
}

const UpgradeChange* change_to(const UpgradeResult& result, Collective collective,
                               const std::string& choice, UpgradeStage stage) {
  for (const UpgradeChange& one : result.changes)
    if (one.collective == collective && one.after.choice() == choice && one.cause.stage == stage)
      return &one;
  return nullptr;
}

}  // namespace

TEST_CASE("upgrade: what changes is what the two releases decide otherwise") {
  const UpgradeConfig config = question("dgx-h100", "2.27.7", "2.28.9", {1, 4});
  const UpgradeResult result = answer(config);
  int choice = 0, calls = 0;
  for (const int nodes : {1, 4}) {
    for (const Collective collective : config.collectives) {
      for (const Bytes size : config.sizes) {
        const std::int64_t count = element_count(collective, size, 4, 8 * nodes);
        if (count == 0) continue;
        ++calls;
        const DecideRow before = decided(config.targets[0], config.from, nodes, collective, size);
        const DecideRow after = decided(config.targets[0], config.to, nodes, collective, size);
        const bool differs = before.decision.algorithm != after.decision.algorithm ||
                             before.decision.protocol != after.decision.protocol;
        choice += differs ? 1 : 0;
        int found = 0;
        for (const UpgradeChange& change : result.changes) {
          if (change.collective != collective || !change.difference.choice) continue;
          for (const UpgradeStretch& one : change.stretches)
            if (one.nodes == nodes && one.first <= size && size <= one.last) ++found;
        }
        CAPTURE(nodes);
        CAPTURE(size.count);
        CHECK(found == (differs ? 1 : 0));
      }
    }
  }
  CHECK(choice > 0);
  CHECK(result.summaries[0].choice == choice);
  CHECK(result.summaries[0].calls == calls);
}

TEST_CASE("upgrade: times are those of bench, the largest loss stands first") {
  const UpgradeConfig config = question("dgx-h100", "2.27.7", "2.28.9", {4, 8});
  const UpgradeResult result = answer(config);
  REQUIRE_FALSE(result.changes.empty());
  const UpgradeStretch& worst = result.changes.front().worst();
  for (const bool is_after : {false, true}) {
    BenchConfig bench;
    static_cast<Job&>(bench) = config.targets[0];
    bench.version = is_after ? config.to : config.from;
    bench.nodes = {worst.nodes};
    bench.collectives = {result.changes.front().collective};
    bench.sizes = {worst.size};
    const double us =
        microseconds_of(run_bench(bench, load_catalogue()).blocks.front().rows.front().call_time());
    CHECK(us == (is_after ? worst.after_us : worst.before_us));
  }
  for (std::size_t i = 1; i < result.changes.size(); ++i)
    CHECK(result.changes[i].worst().change() <= result.changes.front().worst().change());
  CHECK(result.largest_loss().value() == doctest::Approx(worst.change()));
}

TEST_CASE("upgrade: causes are the rules that changed") {
  SUBCASE("2.28 measured NVLS again") {
    const UpgradeResult r = answer(question("dgx-h100", "2.27.7", "2.28.9", {4}));
    const auto* one = change_to(r, Collective::all_reduce, "NVLSTree", UpgradeStage::model);
    REQUIRE(one != nullptr);
    CHECK(one->before.choice() == "Ring Simple");
    CHECK(one->cause.rule.find("measured efficiencies") != std::string::npos);
    CHECK(one->cause.source == "src/graph/tuning.cc");
  }
  SUBCASE("2.28 no longer gives a communicator NVLS's channels") {
    const UpgradeResult r = answer(question("hgx-h200-2nic", "2.27.7", "2.28.9", {2}));
    const auto* one = change_to(r, Collective::broadcast, "Ring Simple", UpgradeStage::channels);
    REQUIRE(one != nullptr);
    CHECK(one->cause.text == "the communicator has 4 channels instead of 16");
    CHECK(one->difference.channels);
  }
  SUBCASE("2.29 wants 32 KiB for a channel") {
    const UpgradeResult r = answer(question("dgx-a100", "2.28.9", "2.29.7", {1}));
    REQUIRE_FALSE(r.changes.empty());
    for (const UpgradeChange& one : r.changes) CHECK(one.cause.stage == UpgradeStage::split);
  }
  SUBCASE("2.22 runs Tree with 640 threads, and splits otherwise") {
    const UpgradeResult r = answer(question("dgx-a100", "2.21.5", "2.22.3", {16}));
    bool threads = false;
    for (const UpgradeChange& one : r.changes)
      threads = threads || (one.difference.threads && one.cause.stage == UpgradeStage::width &&
                            one.after.choice().starts_with("Tree"));
    CHECK(threads);
  }
  SUBCASE("2.23 brings PAT") {
    UpgradeConfig config = question("dgx-a100", "2.22.3", "2.24.3", {16});
    config.targets[0].gpus_per_node = 1;
    const UpgradeResult r = answer(config);
    const auto* one = change_to(r, Collective::all_gather, "PAT", UpgradeStage::gate);
    REQUIRE(one != nullptr);
    CHECK(to_text(one->cause.since) == "2.23.4");
    CHECK(one->cause.rule == "PAT is new");
  }
}

// NVIDIA/nccl#1946 and #1876: hosts with a NIC beside each GPU, where 2.25.1 to 2.28 find no tree
// that comes back to its NIC, and so use one NIC of all; NCCL_PXN_DISABLE=1 helped; mended in 2.29.
TEST_CASE("upgrade: one NIC of eight since 2.25, as reported") {
  UpgradeConfig config = question("a800-8", "2.21.5", "2.28.9", {2});
  config.targets[0].topology = FABRICAST_TEST_DATA "/nccl/a800-8.xml";
  config.sizes = {Bytes{1 << 26}, Bytes{1 << 30}};
  const UpgradeResult broken = answer(config);
  const UpgradeChange* ring =
      change_to(broken, Collective::all_reduce, "Ring Simple", UpgradeStage::search);
  REQUIRE(ring != nullptr);
  CHECK(to_text(ring->cause.since) == "2.25.1");
  CHECK(ring->cause.text.find("on 1 NIC (PXN) instead of 8 x 20 GB/s on 8 NICs (PXN); no tree is "
                              "found") != std::string::npos);
  CHECK(ring->worst().change() > 4);
  REQUIRE(ring->remedy);
  CHECK(ring->remedy->set == "NCCL_PXN_DISABLE=1");
  CHECK(ring->remedy->time_us < 1.3 * ring->worst().before_us);
  config.to = kNccl2_30_7;
  CHECK(answer(config).largest_loss().value() < 0.05);
}

TEST_CASE("upgrade: bisected to the release from which on it stays so") {
  const UpgradeConfig config = question("dgx-h100", "2.21.5", "2.30.7", {2});
  const UpgradeResult result = answer(config);
  REQUIRE(result.releases.size() == 10);
  int checked = 0;
  for (const UpgradeChange& change : result.changes) {
    if (!change.difference.choice || ++checked > 4) continue;
    const UpgradeStretch& at = change.stretches.front();
    const auto choice_at = [&](NcclVersion version) {
      const DecideRow row =
          decided(config.targets[0], version, at.nodes, change.collective, at.size);
      return std::pair(row.decision.algorithm, row.decision.protocol);
    };
    const auto last = choice_at(config.to);
    NcclVersion before = config.from;
    for (const NcclVersion one : result.releases) {
      if (one < change.cause.since) before = one;
      if (change.cause.since <= one) CHECK(choice_at(one) == last);
    }
    CHECK(choice_at(before) != last);
  }
  CHECK(checked > 0);
}

TEST_CASE("upgrade: going back takes what was gained") {
  const UpgradeResult there = answer(question("dgx-h100", "2.27.7", "2.28.9", {4}));
  const UpgradeResult back = answer(question("dgx-h100", "2.28.9", "2.27.7", {4}));
  REQUIRE_FALSE(there.changes.empty());
  CHECK(there.summaries[0].choice == back.summaries[0].choice);
  double gain = 0;
  for (const UpgradeChange& change : back.changes)
    for (const UpgradeStretch& one : change.stretches) gain = std::min(gain, one.change());
  CHECK((1 + there.largest_loss().value()) * (1 + gain) == doctest::Approx(1));
  for (const UpgradeChange& change : back.changes)
    if (!change.cause.rule.empty()) CHECK(change.cause.rule.starts_with("no longer: "));
}

TEST_CASE("upgrade: a tuner line gives back what it says") {
  const UpgradeConfig config = question("dgx-h100", "2.27.7", "2.28.9", {4});
  const UpgradeResult result = answer(config);
  const UpgradeChange& change = result.changes.front();
  REQUIRE(change.remedy);
  REQUIRE(change.remedy->is_tuner_line);
  const auto tuner =
      parse_tuner(change.remedy->set + "\n", "own.csv", TunerSite{}, TunerReading::fabricast);
  BenchConfig bench;
  static_cast<Job&>(bench) = config.targets[0];
  bench.version = config.to;
  bench.tuner = tuner.get();
  bench.nodes = {change.worst().nodes};
  bench.collectives = {change.collective};
  bench.sizes = {change.worst().size};
  const BenchResult run = run_bench(bench, load_catalogue());
  CHECK(microseconds_of(run.blocks.front().rows.front().call_time()) ==
        doctest::Approx(change.remedy->time_us).epsilon(0.01));
}

TEST_CASE("upgrade: releases of one rule set are refused") {
  CHECK(error_text([] { answer(question("dgx-h100", "2.27.5", "2.27.7", {1})); }) ==
        "2.27.5 and 2.27.7 have the same rules: those of 2.27.7\nhint: fabricast decide --releases "
        "lists whose rules answer");
}

TEST_CASE("upgrade: a machine that nothing changes on says so") {
  const UpgradeResult result = answer(question("pcie-8", "2.27.7", "2.28.9", {2}));
  CHECK(result.changes.empty());
  CHECK(upgrade_text(result, {}).find("everything runs as before") != std::string::npos);
}

TEST_CASE("upgrade: every rule that changed has a release, a sentence and a file of NCCL") {
  int notes = 0;
  CallKey any;
  any.algorithm = Algorithm::ring;
  TunerInput machine;
  for (const NcclVersion version : kModelledVersions) {
    for (int stage = 0; stage < 6; ++stage) {
      for (const RuleChangeNote* note :
           rule_changes(version, static_cast<UpgradeStage>(stage), machine, any, any)) {
        ++notes;
        CHECK(note->source.starts_with("src/"));
        CHECK_FALSE(note->text.empty());
        CHECK_FALSE(note->text.ends_with('.'));
      }
    }
  }
  CHECK(notes > 20);
}

TEST_CASE("upgrade: what CI reads") {
  const UpgradeResult result = answer(question("dgx-h100", "2.27.7", "2.28.9", {4}));
  const std::string quiet = upgrade_junit(result, std::nullopt);
  CHECK(quiet.find("failures=\"0\"") != std::string::npos);
  const std::string loud = upgrade_junit(result, 0.02);
  CHECK(loud.find("failures=\"1\"") != std::string::npos);
  CHECK(loud.find("since 2.28.9") != std::string::npos);
  CHECK(upgrade_markdown(result).starts_with("### NCCL 2.27.7 to 2.28.9\n"));
  const auto report = nlohmann::json::parse(report_json(upgrade_report(result)));
  CHECK(report["facts"]["largest_loss"].get<double>() ==
        doctest::Approx(result.largest_loss().value()));
  CHECK(report["facts"]["releases"].size() == 2);
}

TEST_CASE("upgrade: what cannot be simulated is not equal, and fails in CI") {
  const UpgradeResult result = answer(question("hgx-b200", "2.21.5", "2.30.7", {2}));
  CHECK(result.calls_without_times() > 0);
  CHECK(result.calls_without_times() == result.calls_without_times(0));
  CHECK(upgrade_markdown(result).find("| not known | not known |") != std::string::npos);
  const auto report = nlohmann::json::parse(report_json(upgrade_report(result)));
  CHECK(report["facts"]["largest_loss"].is_null());
  CHECK(report["answer"].get<std::string>().ends_with("of them take is not known."));
  CHECK(upgrade_junit(result, std::nullopt).find("failures=\"0\"") != std::string::npos);
  const std::string junit = upgrade_junit(result, 0.02);
  CHECK(junit.find("failures=\"0\"") == std::string::npos);
  CHECK(junit.find("not known: ") != std::string::npos);
}

TEST_CASE("upgrade: an earlier answer as baseline") {
  const UpgradeConfig config = question("dgx-h100", "2.27.7", "2.28.9", {4});
  const UpgradeResult result = answer(config);
  const std::string json = report_json(upgrade_report(result));
  CHECK(compare_upgrade(result, json, "old.json", 0.02).empty());
  UpgradeConfig fewer = config;
  fewer.sizes = {Bytes{1 << 28}};
  const auto drifts = compare_upgrade(answer(fewer), json, "old.json", 0.02);
  REQUIRE_FALSE(drifts.empty());
  for (const UpgradeDrift& one : drifts) CHECK(one.after == "not asked this time");
  for (const UpgradeDrift& one :
       compare_upgrade(result, report_json(upgrade_report(answer(fewer))), "old.json", 0.02))
    CHECK(one.before == "not asked then");
  UpgradeResult slower = result;
  UpgradeStretch& worst = slower.changes.front().stretches[slower.changes.front().most];
  worst.after_us *= 1.1;
  const auto one = compare_upgrade(slower, json, "old.json", 0.02);
  REQUIRE(one.size() == 1);
  CHECK(one.front().before.starts_with("Ring Simple to NVLSTree, +"));
  CHECK(one.front().after.starts_with("Ring Simple to NVLSTree, +"));
  CHECK(one.front().after != one.front().before);
  CHECK(error_text([&] { compare_upgrade(result, "{}", "old.json", 0.02); }) ==
        "old.json: this is no output of fabricast upgrade --json\nhint: an earlier Fabricast wrote "
        "another form: write it anew");
}

TEST_CASE("upgrade: a file of machines") {
  const auto read = [](const std::string& text) {
    return parse_upgrade_targets(text, "machines.yaml", {});
  };
  const auto targets = read(
      "targets:\n"
      "  - {topology: dgx-h100, nodes: 1..8}\n"
      "  - {name: ours, topology: dgx-a100, gpus_per_node: 4, environment: {NCCL_ALGO: Ring}}\n");
  REQUIRE(targets.size() == 2);
  CHECK(targets[0].name == "dgx-h100");
  CHECK(targets[0].nodes == std::vector<int>{1, 2, 4, 8});
  CHECK(targets[1].gpus_per_node == 4);
  CHECK(targets[1].environment.get("NCCL_ALGO") == "Ring");
  CHECK(error_text([&] { read("targets: []\n"); }) ==
        "machines.yaml: targets: no machine is listed\nhint: targets: [{topology: dgx-h100, nodes: "
        "1..64}]");
  CHECK(error_text([&] { read("targets:\n  - {topology: dgx-h100, nccl: 2.27.7}\n"); }) ==
        "machines.yaml:2: targets[0].nccl: a target names no release\nhint: --from and --to do, "
        "for all targets");
  CHECK(error_text([&] {
          read("targets:\n  - {topology: dgx-h100}\n  - {topology: dgx-h100}\n");
        }).find("there are two targets \"dgx-h100\"") != std::string::npos);
  CHECK(error_text([&] { read("targets:\n  - {topology: dgx-h100, node: 2}\n"); }).find("nodes") !=
        std::string::npos);
}
