#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>

#include "models/io/environments/env_file.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/lint/lint.hpp"
#include "models/studies/advise/advise_text.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/studies/advise_cases.hpp"

using namespace fabricast;

namespace {

/// All combinations of the moves' values, and of nothing.
std::vector<Environment> all_of(const std::vector<SettingMove>& moves) {
  std::map<std::string, std::vector<std::string>> values;
  for (const SettingMove& one : moves)
    for (const auto& [name, value] : one.settings) values[name].push_back(*value);
  std::vector<Environment> out = {{}};
  for (const auto& [name, list] : values) {
    std::vector<Environment> more = out;
    for (const Environment& base : out) {
      for (const std::string& value : list) {
        Environment one = base;
        one.set(name, value);
        more.push_back(one);
      }
    }
    out = std::move(more);
  }
  return out;
}

/// One HCA of two, and no GPUDirect RDMA.
AdviseConfig badly_set() {
  BenchConfig work;
  work.topology = "dgx-h100";
  work.nodes = {2};
  work.gpus_per_node = 2;
  work.sizes = {{1 << 24}, {1 << 26}};
  work.environment.set("NCCL_IB_HCA", "=mlx5_0");
  work.environment.set("NCCL_NET_GDR_LEVEL", "LOC");
  AdviseConfig out;
  out.goal = Goal::bandwidth;
  out.work = work;
  return out;
}

/// Few of all that the command tries.
const std::vector<SettingMove> kMoves = {{{{"NCCL_IB_HCA", std::nullopt}}, true},
                                         {{{"NCCL_NET_GDR_LEVEL", std::nullopt}}, true},
                                         move("NCCL_NET_GDR_LEVEL", "SYS"),
                                         move("NCCL_ALGO", "Ring"),
                                         move("NCCL_BUFFSIZE", "8388608")};

}  // namespace

TEST_CASE("advise: the search finds the best of all combinations") {
  // Each setting multiplies the time of each row by a factor of its own; one pair helps together
  // only, as queue pairs and the splitting of data do.
  std::mt19937 random(5);
  std::uniform_real_distribution<double> factor(0.7, 1.1);
  const std::vector<SettingMove> moves = {move("NCCL_A", "1"), move("NCCL_A", "2"),
                                          move("NCCL_B", "1"), move("NCCL_B", "2"),
                                          move("NCCL_C", "1"), move("NCCL_D", "1")};
  SearchRules rules;
  rules.counts = {true, true, false};
  rules.band = 0;
  for (int round = 0; round < 50; ++round) {
    std::map<std::string, std::array<double, 3>> factors;
    for (const SettingMove& one : moves) {
      for (double& f : factors[one.settings[0].first + *one.settings[0].second]) f = factor(random);
    }
    const auto times = [&](const Environment& environment) {
      RowTimes out(3, RowTime{100, 100, 1});
      for (const auto& [name, value] : environment.variables()) {
        for (std::size_t i = 0; i < 3; ++i)
          out[i].us = out[i].open_us = out[i].us * factors.at(name + value)[i];
      }
      if (environment.get("NCCL_C") && environment.get("NCCL_D"))
        for (RowTime& row : out) row.us = row.open_us = row.us * 0.5;
      return out;
    };
    const FoundSettings found = search_settings({}, moves, times, rules, in_turn);
    const RowTimes start = times({});
    double best = 0;
    for (const Environment& one : all_of(moves))
      best = std::min(best, score(times(one), start, rules));
    CAPTURE(round);
    // A line that saves less than 1 % is not written; there may be one or two of them.
    CHECK(score(times(found.best), start, rules) <= best + 2 * std::log1p(rules.least) + 1e-12);
    CHECK(found.tried <= all_of(moves).size());
  }
}

TEST_CASE("advise: lines that are not worth it") {
  SearchRules rules;
  rules.counts = {true, true};
  const std::vector<SettingMove> moves = {move("NCCL_A", "1"), move("NCCL_B", "1"),
                                          move("NCCL_C", "1")};
  const auto times = [](const Environment& environment) {
    RowTimes out(2, RowTime{100, 100, 1});
    // A: 9 % at every row, less than two predictions are apart. B: 40 % at one row, but another
    // algorithm whose figure is known to be too good. C: 30 % at one row for 20 % at the other.
    for (RowTime& row : out) row.us *= environment.get("NCCL_A") ? 0.92 : 1;
    if (environment.get("NCCL_B")) {
      out[0].us *= 0.6;
      out[0].doubt = 1.8;
    }
    if (environment.get("NCCL_C")) {
      out[0].us *= 0.7;
      out[1].us *= 1.2;
    }
    for (RowTime& row : out) row.open_us = row.us;
    return out;
  };
  CHECK(search_settings({}, moves, times, rules, in_turn).best.variables().empty());
  rules.band = 0.05;
  const Environment best = search_settings({}, moves, times, rules, in_turn).best;
  CHECK(best.get("NCCL_A"));
  CHECK_FALSE(best.get("NCCL_B"));
}

TEST_CASE("advise: what mends goes first") {
  SearchRules rules;
  rules.counts = {true};
  const std::vector<SettingMove> moves = {move("NCCL_ALGO", "Ring"),
                                          {{{"NCCL_BAD", std::nullopt}}, true}};
  Environment start;
  start.set("NCCL_BAD", "1");
  // Going round it is worth as much, and more than mending it first.
  const auto times = [](const Environment& environment) {
    const double us = environment.get("NCCL_ALGO") ? 49 : environment.get("NCCL_BAD") ? 100 : 50;
    return RowTimes{{us, us, 1}};
  };
  const Environment best = search_settings(start, moves, times, rules, in_turn).best;
  CHECK(best.variables().empty());
}

TEST_CASE("advise: what NCCL refuses is no answer") {
  SearchRules rules;
  rules.counts = {true};
  const auto times = [](const Environment& environment) {
    return environment.get("NCCL_A") ? RowTimes{} : RowTimes{{1, 1, 1}};
  };
  CHECK(search_settings({}, {move("NCCL_A", "1")}, times, rules, in_turn).best.variables().empty());
}

TEST_CASE("advise: mends a bad environment, each line as whatif says" *
          minutes_under_sanitizers()) {
  const AdviseConfig config = badly_set();
  const PartsCatalogue parts = load_catalogue();
  const AdviseResult result = run_advise(config, kMoves, parts, {}, in_turn);
  REQUIRE(result.lines.size() == 2);
  CHECK(result.lines[0].factor.text() == "NCCL_IB_HCA unset (was =mlx5_0)");
  CHECK(result.lines[1].factor.name == "NCCL_NET_GDR_LEVEL");
  Job setup = job_of(config.work);
  setup.environment = result.best;
  const WhatifResult whatif =
      run_whatif(config.work, with_job(config.work, setup), parts, {}, in_turn);
  REQUIRE(whatif.factors.size() == result.lines.size());
  for (std::size_t i = 0; i < whatif.factors.size(); ++i) {
    CHECK(whatif.factors[i].text() == result.lines[i].factor.text());
    double kept = 1;
    for (const WhatifRow& row : whatif.rows)
      kept *= row.after.time_us / (row.after.time_us + row.worths[i].last_us.value());
    CHECK(result.lines[i].saves ==
          doctest::Approx(1 - std::pow(kept, 1.0 / static_cast<double>(whatif.rows.size())))
              .epsilon(1e-9));
    CHECK(result.lines[i].saves >= config.least - 1e-12);
  }
  for (std::size_t r = 0; r < whatif.rows.size(); ++r) {
    CHECK(result.rows[r].before.time_us == whatif.rows[r].before.time_us);
    CHECK(result.rows[r].after.time_us == whatif.rows[r].after.time_us);
  }
}

TEST_CASE("advise: what it writes passes the linter" * minutes_under_sanitizers()) {
  AdviseConfig config = badly_set();
  config.pin_hcas = true;
  const PartsCatalogue parts = load_catalogue();
  const AdviseResult result = run_advise(config, kMoves, parts, {}, in_turn);
  CHECK(result.hcas == "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11");
  CHECK(result.best.get("NCCL_IB_HCA") == std::optional<std::string_view>(result.hcas));
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  for (const AdviseFile& file : advise_files(result)) {
    if (file.name.starts_with("advice.")) continue;
    CAPTURE(file.name);
    LintInput input;
    input.files.push_back(parse_env_file(file.text, file.name));
    input.cluster = &cluster;
    const LintResult found = lint(input, load_variables());
    for (const Finding& finding : found.findings) {
      CAPTURE(finding.message);
      CHECK(finding.severity != Severity::error);
    }
    if (file.name == "nccl-env.sh" || file.name == "nccl.conf" ||
        file.name == "kubernetes-env.yaml") {
      std::size_t set = 0;
      for (const EnvAssignment& one : input.files[0].assignments) {
        if (one.value.empty() && !result.best.get(one.name)) continue;  // unset
        CHECK(result.best.get(one.name) == std::optional<std::string_view>(one.value));
        ++set;
      }
      CHECK(set == result.best.variables().size());
    }
  }
  CHECK(advise_report(result).facts["advised"]["NCCL_IB_HCA"] == result.hcas);
}

TEST_CASE("advise: commands of nccl-tests" * minutes_under_sanitizers()) {
  AdviseConfig config;
  BenchConfig work;
  work.topology = "dgx-h100";
  work.nodes = {2};
  work.collectives = {Collective::all_reduce};
  work.sizes = {{1 << 20}, {1 << 22}, {1 << 24}};
  work.environment.set("NCCL_ALGO", "^NVLS");
  config.goal = Goal::training;
  config.work = work;
  config.least = 1;  // nothing is worth a line
  const AdviseResult result = run_advise(config, kMoves, load_catalogue(), {}, in_turn);
  CHECK(result.lines.empty());
  CHECK(advise_text(result).find("Keep what you have") != std::string::npos);
  CHECK(advise_verify(result).find("mpirun -np 16 -N 8 -x 'NCCL_ALGO=^NVLS' "
                                   "./build/all_reduce_perf -b 1048576 -e 16777216 -f 4 -g 1\n") !=
        std::string::npos);
  CHECK(advise_shell(result).find("export NCCL_ALGO='^NVLS'  # as it was\n") != std::string::npos);
}

TEST_CASE("advise: on a cluster, too, the search finds the best of all combinations" *
          minutes_under_sanitizers()) {
  const AdviseConfig config = badly_set();
  const PartsCatalogue parts = load_catalogue();
  const AdviseResult result = run_advise(config, kMoves, parts, {}, in_turn);
  SearchRules rules;
  rules.counts = {true, true};
  const auto times_in = [&](const Environment& environment) {
    KnownCalls known;
    return row_times(config.work, environment, parts, known);
  };
  const RowTimes now = times_in(job_of(config.work).environment);
  double best = 0;
  for (const char* hca : {"=mlx5_0", ""}) {
    for (const char* gdr : {"LOC", "SYS", ""}) {
      for (const char* algorithm : {"Ring", ""}) {
        for (const char* buffer : {"8388608", ""}) {
          Environment one;
          const std::pair<const char*, const char*> all[] = {{"NCCL_IB_HCA", hca},
                                                             {"NCCL_NET_GDR_LEVEL", gdr},
                                                             {"NCCL_ALGO", algorithm},
                                                             {"NCCL_BUFFSIZE", buffer}};
          for (const auto& [name, value] : all)
            if (*value != 0) one.set(name, value);
          best = std::min(best, score(times_in(one), now, rules));
        }
      }
    }
  }
  // What is left on the table is less than two lines that are not worth writing.
  CHECK(score(times_in(result.best), now, rules) <= best + 2 * std::log1p(kNear));
}

TEST_CASE("advise: candidates are what this release reads and NCCL can do") {
  BenchConfig work;
  work.topology = "dgx-h100";
  work.nodes = {1};
  work.sizes = {{1 << 20}};
  work.version = kNccl2_21_5;
  const auto tries = [&](const std::string& name) {
    int out = 0;
    for (const SettingMove& one : candidate_moves(work, load_catalogue()))
      for (const auto& [variable, value] : one.settings) out += variable == name && value ? 1 : 0;
    return out;
  };
  CHECK(tries("NCCL_PAT_ENABLE") == 0);  // 2.23 is the first that reads it
  CHECK(tries("NCCL_NTHREADS") == 0);
  CHECK(tries("NCCL_CROSS_NIC") == 0);
  work.version = kNccl2_27_7;
  work.nodes = {2};
  CHECK(tries("NCCL_PAT_ENABLE") == 2);
  CHECK(tries("NCCL_CROSS_NIC") == 3);
  CHECK(tries("NCCL_COLLNET_ENABLE") == 0);
  work.sharp = true;
  CHECK(tries("NCCL_COLLNET_ENABLE") > 0);
}

TEST_CASE("advise: a goal needs sizes") {
  AdviseConfig config = badly_set();
  config.goal = Goal::latency;
  CHECK(error_text([&] { run_advise(config, kMoves, load_catalogue(), {}, in_turn); }) ==
        "no size of the work counts for latency: sizes up to 64 KiB do\n"
        "hint: give other --sizes, or another --goal");
}
