// The study behind `fabricast judge`: reading logs, fitting predictions, naming causes.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/judge/judge_log.hpp"
#include "models/studies/judge/judge_targets.hpp"
#include "models/studies/judge/judge_text.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

namespace fabricast {
namespace {

JudgeConfig config_of(const char* topology, Collective collective) {
  JudgeConfig config;
  config.topology = topology;
  config.nodes = 2;
  config.collective = collective;
  for (std::int64_t size = 16 << 10; size <= 64 << 20; size *= 8)
    config.rows.push_back({Bytes{size}, 0});
  return config;
}

/// Numbers that are about normal, with mean 0 and deviation 1, the same with every compiler: the
/// sum of 12 even ones.
class Noise {
 public:
  double next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random_() >> 11) * 0x1p-53;
    return sum;
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  std::mt19937_64 random_{20'26};
};

/// As measured: times with 5 % noise.
JudgeConfig measured(JudgeConfig config, const std::vector<double>& times_us, Noise& noise) {
  for (std::size_t i = 0; i < times_us.size(); ++i)
    config.rows[i].measured_us = times_us[i] * std::exp(0.05 * noise.next());
  return config;
}

bool names(const FitGroup& group, std::size_t cause) {
  return std::ranges::any_of(group.fits, [&](const auto& fit) { return fit.which == cause; });
}

struct Score {
  int runs = 0, right = 0, alone = 0, healthy = 0, as_expected = 0;
};

/// Causes that can be seen in these rows, each drawn about equally often.
Score score_of(const JudgeConfig& config, int runs, int healthy, Noise& noise) {
  const ExpectedRows expectation = expect_rows(config, parts(), {}, in_turn);
  std::vector<std::size_t> seen;
  for (std::size_t i = 1; i < expectation.causes.size(); ++i) {
    if (!expectation.causes[i].refused.empty()) continue;
    JudgeConfig exact = config;
    for (std::size_t row = 0; row < exact.rows.size(); ++row)
      exact.rows[row].measured_us = expectation.causes[i].times_us[row];
    if (judge_rows(exact, expectation).verdict == JudgeVerdict::explained) seen.push_back(i);
  }
  REQUIRE(seen.size() >= 5);
  Score score;
  for (int run = 0; run < runs; ++run) {
    const std::size_t cause = seen[noise.below(seen.size())];
    const JudgeResult result =
        judge_rows(measured(config, expectation.causes[cause].times_us, noise), expectation);
    const bool right =
        names(result.ranking.front(), cause) && result.verdict == JudgeVerdict::explained;
    if (!right)
      MESSAGE(config.topology
              << " " << to_text(config.collective) << ": " << expectation.causes[cause].cause.name
              << " taken for "
              << expectation.causes[result.ranking.front().fits.front().which].cause.name << ", "
              << to_text(result.verdict));
    ++score.runs;
    score.right += right ? 1 : 0;
    score.alone += right && result.ranking.front().fits.size() == 1 ? 1 : 0;
  }
  for (int run = 0; run < healthy; ++run) {
    const JudgeResult result =
        judge_rows(measured(config, expectation.causes.front().times_us, noise), expectation);
    ++score.healthy;
    score.as_expected += result.verdict == JudgeVerdict::as_expected ? 1 : 0;
  }
  return score;
}

}  // namespace

TEST_CASE("judge: names the cause of 50 misconfigurations, and that 50 machines are well" *
          minutes_under_sanitizers()) {
  Noise noise;
  Score all;
  for (const auto& [topology, collective] : {std::pair{"hgx-h200-2nic", Collective::all_reduce},
                                             {"hgx-h200-2nic", Collective::all_gather},
                                             {"gh200-4", Collective::all_reduce},
                                             {"h100-pcie-nvl-4", Collective::all_reduce},
                                             {"dgx-h100", Collective::all_reduce}}) {
    const Score score = score_of(config_of(topology, collective), 10, 10, noise);
    all.runs += score.runs;
    all.right += score.right;
    all.alone += score.alone;
    all.healthy += score.healthy;
    all.as_expected += score.as_expected;
  }
  MESSAGE(all.right << " of " << all.runs << " right, " << all.alone << " of them alone; "
                    << all.as_expected << " of " << all.healthy << " as expected");
  CHECK(all.right >= 45);
  CHECK(all.as_expected >= 45);
}

TEST_CASE("judge: the best prediction comes first, equal ones together") {
  const std::vector<double> measured = {10, 20, 40, 80};
  const auto ranking = rank_predictions(
      measured, {{10, 20, 20, 20}, {10, 20, 40, 81}, {10.1, 20.2, 40.4, 80.8}, {20, 40, 80, 160}},
      std::vector(4, std::vector<RowLimits>(4)));
  REQUIRE(ranking.size() == 3);
  REQUIRE(ranking[0].fits.size() == 2);  // 1 and 2 are within 4 % of each other everywhere
  CHECK(ranking[0].fits[0].which == 1);
  CHECK(ranking[0].fits[1].which == 2);
  CHECK(ranking[0].fits[0].outside == 0);
  CHECK(ranking[1].fits[0].which == 0);
  CHECK(ranking[1].fits[0].outside == 2);
  CHECK(ranking[1].fits[0].typical == doctest::Approx(std::log(2.0) / 2));
  CHECK(ranking[2].fits[0].which == 3);
  // Huber's loss: 0.1 (ln 2 - 0.05) on each row.
  CHECK(ranking[2].fits[0].loss == doctest::Approx(0.1 * (std::log(2.0) - 0.05)));
}

TEST_CASE("judge: one odd row does not decide") {
  const std::vector<double> measured = {10, 20, 40, 80, 1600};
  const auto ranking = rank_predictions(measured, {{10, 20, 40, 80, 160}, {30, 60, 120, 240, 1600}},
                                        std::vector(2, std::vector<RowLimits>(5)));
  CHECK(ranking[0].fits[0].which == 0);
}

TEST_CASE("judge: targets hold at their size, between rows") {
  const std::vector<Target> targets = parse_targets(
      "collective,size_bytes,expected_busbw_GBps,least_busbw_GBps\n"
      "all_reduce,2000,2,1\nall_gather,2000,1,1\nall_reduce,100000,2,1\n",
      "t.csv");
  REQUIRE(targets.size() == 3);
  JudgeResult result;
  result.config.collective = Collective::all_reduce;
  result.ranks = 2;  // busbw = algbw
  result.rows.resize(2);
  result.rows[0].size = Bytes{1000};
  result.rows[1].size = Bytes{4000};
  result.rows[0].measured_us = result.rows[0].expected_us = 1;
  result.rows[1].measured_us = 4;
  result.rows[1].expected_us = 1;
  const auto judged = judge_targets(result, targets);
  REQUIRE(judged.size() == 1);
  CHECK(result.notes.back() ==
        "targets that are not held against this table: 1 of other collectives, 1 of sizes beyond "
        "the rows");
  CHECK(judged[0].measured == doctest::Approx(1.0));   // 2000 B in 2 us
  CHECK(judged[0].predicted == doctest::Approx(2.0));  // in 1 us
  CHECK(judged[0].verdict() == "acceptable");
  CHECK(
      error_text([] {
        parse_targets(
            "collective,size_bytes,expected_busbw_GBps,least_busbw_GBps\n"
            "allreduce,1,1,1\n",
            "t.csv");
      }) ==
      "t.csv:2: collective: unknown collective \"allreduce\"\nhint: did you mean \"all_reduce\"?");
}

TEST_CASE("judge: collective and ranks of logs as people keep them") {
  const std::string folder = FABRICAST_TEST_DATA "/logs/";
  const CsvTable known(read_text_file(folder + "facts.csv", "facts"), "facts.csv");
  for (std::size_t i = 0; i < known.rows(); ++i) {
    const std::string& file = known.row(i).text("file");
    const std::string& collective = known.row(i).text("collective");
    CAPTURE(file);
    const NcclTestsLog log = parse_nccl_tests(read_text_file(folder + file, "a log"), file);
    if (collective == "refused") {
      CHECK(log.rows() == 0);
      continue;
    }
    REQUIRE(log.rows() > 0);
    // The name of the file does not help.
    const LogFacts facts = facts_of(log.tables.front(), "log", std::nullopt);
    CHECK(to_text(facts.collective) == collective);
    CHECK(std::to_string(facts.ranks) == known.row(i).text("ranks"));
  }
}

TEST_CASE("judge: rows that leave something open are refused with the ways out") {
  const auto facts = [](const std::string& rows, const std::string& file = "log",
                        std::optional<Collective> asked = std::nullopt) {
    const NcclTestsLog log = parse_nccl_tests(rows, file);
    return facts_of(log.tables.front(), file, asked);
  };
  // GoogleCloudPlatform/cluster-toolkit, multi-node-test-plan.md: run with -c 0.
  const std::string gathered =
      "67108864 1048576 float none -1 1334.7 50.28 47.14 N/A 1359.5 49.36 46.28 N/A\n";
  CHECK(error_text([&] { facts(gathered); }) ==
        "log:1: the rows are those of all_gather or alltoall: redop none, root -1, size = 16 x "
        "count, busbw/algbw 0.9375\nhint: say which: --collective all_gather or alltoall");
  CHECK(facts(gathered, "x/alltoall.out").collective == Collective::alltoall);
  CHECK(facts(gathered, "all-gather.txt").ranks == 16);
  CHECK(error_text([&] { facts(gathered, "log", Collective::all_reduce); }) ==
        "log:1: the rows are not those of all_reduce: redop none, root -1, size = 16 x count, "
        "busbw/algbw 0.9375\nhint: --collective all_gather or alltoall");
  // crusoecloud/solutions-library: written by hand, with figures cut off. 2 x 15/16 = 1.875.
  const LogFacts cut = facts(
      "2147483648 536870912 float sum -1 5432.1 395.3 741.2 0 5429.8 395.5 741.5 0\n"
      "4294967296 1073741824 float sum -1 9801.0 438.2 821.7 0 9796.4 438.4 822.1 0\n");
  CHECK(cut.collective == Collective::all_reduce);
  CHECK(cut.ranks == 16);
  // Rows of 8 and of 16 ranks in one table.
  CHECK(error_text([&] {
          facts(
              "1073741824 268435456 float sum -1 10000 107.37 187.90 0\n"
              "1073741824 268435456 float sum -1 10000 107.37 201.32 0\n");
        }).starts_with("log:2: busbw/algbw of this row is not that of the rows above"));
  // NCCL_TESTS_SPLIT: two communicators of two ranks each.
  CHECK(error_text([&] {
          facts(
              "#  Rank  0 Group  0 Pid  1 on  a device  0 [0x07] H100\n"
              "#  Rank  1 Group  1 Pid  2 on  a device  1 [0x08] H100\n"
              "#  Rank  2 Group  0 Pid  3 on  b device  0 [0x07] H100\n"
              "#  Rank  3 Group  1 Pid  4 on  b device  1 [0x08] H100\n"
              "1073741824 268435456 float sum -1 10000 107.37 107.37 0\n");
        }) ==
        "log:1: 2 groups run at the same time (NCCL_TESTS_SPLIT): what one of them takes says "
        "nothing of a call of all ranks\nhint: run nccl-tests without a split; "
        "`fabricast bench --split` forecasts one with it");
  // Two digits of a bandwidth below 1 GB/s hold many ratios.
  CHECK(error_text([&] {
          facts("64 16 float sum -1 26.4 0.00 0.00 0\n");
        }).find("busbw/algbw between 0 and ") != std::string::npos);
  // 1,024 ranks: 2 x 1023/1024 = 1.998; five digits do not tell them from 900.
  const LogFacts many = facts(
      "1073741824 268435456 float sum -1 10000 107.37 214.53 0 10000 "
      "107.37 214.53 0\n");
  CHECK(many.ranks == 0);
  CHECK(many.possible.holds(1024));
  CHECK(!many.possible.holds(64));
  // busbw = algbw, values checked in place: two ranks of all_reduce, not a sendrecv.
  const LogFacts two = facts(
      "1073741824 268435456 float sum -1 71580 15.00 15.00 0 71580 15.00 "
      "15.00 0\n");
  CHECK(two.collective == Collective::all_reduce);
  CHECK(two.ranks == 2);
}

TEST_CASE("judge: as expected needs 8 of 10 rows, and nothing known is said to be nothing") {
  const JudgeConfig config = config_of("hgx-h200-2nic", Collective::all_reduce);
  const ExpectedRows expectation = expect_rows(config, parts(), {}, in_turn);
  const auto verdict = [&](const std::vector<double>& factors) {
    JudgeConfig measured = config;
    for (std::size_t i = 0; i < measured.rows.size(); ++i)
      measured.rows[i].measured_us =
          expectation.causes.front().times_us[i] * factors[i % factors.size()];
    return judge_rows(measured, expectation).verdict;
  };
  CHECK(verdict({1.1, 0.9}) == JudgeVerdict::as_expected);  // the band is 0.8 .. 1.25
  CHECK(verdict({1.0, 0.5}) == JudgeVerdict::faster);       // 3 of 5 inside
  CHECK(verdict({40, 0.6}) == JudgeVerdict::unexplained);
}

namespace {

/// Rows of 10 us that should take 10 us, within 10 %; causes make them 10 us times a factor each.
JudgeResult judged(const std::vector<double>& measured_us,
                   const std::vector<std::vector<double>>& causes) {
  JudgeConfig config;
  config.topology = "here";
  ExpectedRows expected;
  expected.causes.push_back({{"", "as described", ""}, {}});
  for (std::size_t i = 0; i < causes.size(); ++i)
    expected.causes.push_back({{fmt::format("cause-{}", i), "a cause", "look"}, {}});
  for (std::size_t row = 0; row < measured_us.size(); ++row) {
    config.rows.push_back({Bytes{1024}, measured_us[row]});
    expected.rows.push_back(
        {Bytes{1024}, 0, 10, {0.9, 1.1, Known::nothing, 0, "by hand"}, {}, {}, {}, 0, {}, 0});
    for (std::size_t i = 0; i <= causes.size(); ++i) {
      expected.causes[i].times_us.push_back(i == 0 ? 10 : 10 * causes[i - 1][row]);
      expected.causes[i].limits.push_back({0.8, 1.25});
    }
  }
  return judge_rows(config, expected);
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// A run of 2^20 floats on as many ranks as are listed, each "HOST device D [BUS] MODEL".
std::string log_with(const std::vector<std::string>& devices) {
  std::string out;
  for (std::size_t rank = 0; rank < devices.size(); ++rank)
    out += fmt::format("#  Rank {:2} Group  0 Pid {} on {}\n", rank, 100 + rank, devices[rank]);
  const auto ranks = static_cast<double>(devices.size());
  return out +
         fmt::format("4194304 1048576 float sum -1 100.0 41.94 {0:.2f} 0 100.0 41.94 {0:.2f} 0\n",
                     41.94 * 2 * (ranks - 1) / ranks);
}

JudgeConfig config_in(const std::string& log, const char* topology, int gpus_per_node = 0) {
  const NcclTestsLog read = parse_nccl_tests(log, "log");
  return judge_config(read.tables.front(), "log", {topology, "", 0, gpus_per_node, false, {}},
                      parts());
}

std::vector<std::string> names_out_of(const JudgeResult& result, const FitGroup& group) {
  std::vector<std::string> out;
  for (const FitOfPrediction& fit : group.fits) out.push_back(result.causes[fit.which].cause.name);
  return out;
}

}  // namespace

TEST_CASE("judge: where a cause changes nothing it explains no more than the machine does") {
  // Four rows are 15 % late, beyond the band and inside a cause's limits; the fifth takes twice the
  // time. A cause that doubles only that one explains it alone; one that makes all 15 % later, all.
  const JudgeResult one = judged({11.5, 11.5, 11.5, 11.5, 20}, {{1, 1, 1, 1, 2}});
  CHECK(one.verdict == JudgeVerdict::unexplained);
  CHECK(one.ranking.front().fits.front().outside == 4);
  const JudgeResult all = judged({11.5, 11.5, 11.5, 11.5, 20}, {{1.15, 1.15, 1.15, 1.15, 2}});
  CHECK(all.verdict == JudgeVerdict::explained);
  CHECK(all.ranking.front().fits.front().outside == 0);
}

TEST_CASE("judge: a cause is either seen or not, and the text counts as the verdict does") {
  // 8 of 10 rows within, 2 slower: too many. A cause that moves one of the 8 away for one of the 2
  // explains 8, too, and that is no reason to name it.
  const std::vector<double> measured = {10, 10, 10, 10, 10, 10, 10, 10, 20, 20};
  const JudgeResult result =
      judged(measured, {{1, 1, 1, 1, 1, 1, 1, 2, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1.03}});
  CHECK(result.verdict == JudgeVerdict::unexplained);
  REQUIRE(result.ranking.size() == 1);
  CHECK(names_out_of(result, result.ranking[0]) == std::vector<std::string>{"cause-0"});
  REQUIRE(result.unseen.size() == 1);
  CHECK(result.causes[result.unseen[0]].cause.name == "cause-1");
  const std::string text = judge_text({"log", result, {}});
  CHECK(says(text, "8 of 10 rows within the band, 2 slower"));
  CHECK(says(text, "No cause explains more rows than are within the band (8 of 10)"));
  CHECK(!says(text, "No cause explains 8 of 10"));
  CHECK(!says(text, "as described"));
  // Nothing else to name.
  CHECK(says(judge_text({"log", judged(measured, {}), {}}), "No cause that we know would show"));
}

TEST_CASE("judge: wrong values are the verdict, whatever the times are") {
  JudgeConfig config = config_of("hgx-h200-2nic", Collective::all_reduce);
  ExpectedRows expected = expect_rows(config, parts(), {}, in_turn);
  for (std::size_t i = 0; i < config.rows.size(); ++i)
    config.rows[i].measured_us = expected.causes.front().times_us[i];
  config.wrong_values = true;
  config.wrong_rows = 2;
  const JudgeResult result = judge_rows(config, expected);
  CHECK(to_text(result.verdict) == "wrong values");
  CHECK(result.of_times == JudgeVerdict::as_expected);
  CHECK(says(judge_text({"log", result, {}}),
             "wrong values in 2 rows of the log, which are left out"));
  CHECK(judge_report({{"log", result, {}}}).table("tables").at(0, "verdict") == "wrong values");
  // By the end of the log alone; and by all rows, so that none is left.
  const std::string row = "4194304 1048576 float sum -1 100.0 41.94 41.94 ";
  const auto table = [](const std::string& text) {
    return parse_nccl_tests(text, "log").tables[0];
  };
  CHECK(has_wrong_values(table(row + "N/A\n# Out of bounds values : 3 FAILED\n")));
  CHECK(has_wrong_values(table(row + "3\n")));
  CHECK(!has_wrong_values(table(row + "0\n# Out of bounds values : 0 OK\n")));
  config.rows.clear();
  const JudgeResult none = judge_rows(config, expect_rows(config, parts(), {}, in_turn));
  CHECK(none.verdict == JudgeVerdict::wrong_values);
  CHECK(says(judge_text({"log", none, {}}), "wrong values in 2 rows"));
}

TEST_CASE("judge: what contradicts the list of devices is refused, other GPUs are noted") {
  std::vector<std::string> devices;
  for (const char* host : {"a", "b"}) {
    for (int gpu = 0; gpu < 8; ++gpu)
      devices.push_back(
          fmt::format("{} device {} [0x{}0] NVIDIA H100 80GB HBM3", host, gpu, gpu + 1));
  }
  const std::string log = log_with(devices);
  CHECK(config_in(log, "dgx-h100").nodes == 2);
  CHECK(config_in(log, "dgx-h100", 8).notes.empty());
  CHECK(
      error_text([&] { config_in(log, "dgx-h100", 4); }) ==
      "log:1: --gpus-per-node 4 contradicts the list of devices: 8 GPUs of a\nhint: leave it out, "
      "or say what the list has: --gpus-per-node 8");
  CHECK(error_text([&] { config_in(log, "gh200-4"); }) ==
        "log:1: 8 GPUs of a node took part (the list of devices), gh200-4 has 4\nhint: name the "
        "--topology that was measured");
  CHECK(config_in(log, "dgx-a100").notes ==
        std::vector<std::string>{"the list of devices has NVIDIA H100 80GB HBM3, dgx-a100 has "
                                 "A100_SXM4_80: is it the machine that was measured?"});
  CHECK(config_in(log_with({"a device 0 [0x34] Tesla V100-SXM3-32GB",
                            "a device 1 [0x36] Tesla V100-SXM3-32GB"}),
                  "dgx2-v100")
            .notes.empty());
  // One GPU of each of two hosts is not two of one.
  const std::string apart =
      log_with({"a device 0 [0000:06:00] H100_SXM5", "b device 0 [0000:06:00] H100_SXM5"});
  CHECK(config_in(apart, "dgx-h100").nodes == 2);
  CHECK_THROWS_AS(config_in(apart, "dgx-h100", 2), Error);
  // Several nodes by one name, as the repeated ids say: the user's word counts.
  std::vector<std::string> same;
  for (int rank = 0; rank < 16; ++rank)
    same.push_back(fmt::format("localhost device {} [0x{}0] H100_SXM5", rank % 8, rank % 8 + 1));
  CHECK(config_in(log_with(same), "dgx-h100", 8).nodes == 2);
  CHECK(config_in(log_with(same), "dgx-h100", 4).nodes == 4);
}

TEST_CASE("judge: ranks on one GPU are told by its whole bus id, not by a short one") {
  const std::string whole = "a device  0 [0000:02:00] NVIDIA RTX A6000";
  const JudgeConfig shared = config_in(log_with({whole, whole}), "pcie-2gpu");
  CHECK(shared.notes == std::vector<std::string>{"ranks 0 and 1 share one GPU (0000:02:00 of a): "
                                                 "what is expected has one for each"});
  CHECK(shared.basis.back() ==
        "1 node: 2 GPUs of each, one for each rank, the list of devices has fewer");
  const std::string part = "a device  0 [0x01] NVIDIA RTX A6000";
  CHECK(config_in(log_with({part, part}), "pcie-2gpu").notes.empty());
}

TEST_CASE("judge: what NCCL's lines rule out is no cause") {
  const auto network = [](const std::string& lines) {
    return parse_nccl_tests(lines + "4194304 1048576 float sum -1 100.0 41.94 41.94 0\n", "log")
        .network;
  };
  const LoggedNetwork roce = network(
      "a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_5:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
      "a:1:2 [0] NCCL INFO Using network IB\n"
      "b:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_5:1/RoCE [RO]; OOB eth0:10.0.0.2<0>\n");
  CHECK(roce.links.size() == 1);
  CHECK(line_against(roce, NetKind::roce).empty());
  CHECK(line_against(roce, NetKind::ib) == "line 1: \"NET/IB : Using [0]mlx5_5:1/RoCE [RO]\"");
  CHECK(line_against(roce, NetKind::tcpx) == "line 2: \"Using network IB\"");
  const LoggedNetwork both =
      network("a:1:2 [0] NCCL INFO NET/IB : Using [0]a:1/RoCE [1]b:1/IB ; OOB e\n");
  CHECK(line_against(both, NetKind::roce).empty());
  CHECK(line_against(both, NetKind::ib).empty());
  const LoggedNetwork unknown = network("a:1:2 [0] NCCL INFO Using network Own\n");
  CHECK(line_against(unknown, NetKind::sockets).empty());
  CHECK(line_against(network("a:1:2 [0] NCCL INFO Using network Socket\n"), NetKind::ib) ==
        "line 1: \"Using network Socket\"");

  JudgeConfig config = config_of("dgx-h100", Collective::all_reduce);
  config.rows.resize(1);
  config.network = roce;
  const ExpectedRows expected = expect_rows(config, parts(), {}, in_turn);
  std::vector<std::string> out;
  for (const SimulatedSuspect& cause : expected.causes) {
    if (!cause.ruled_out.empty()) out.push_back(cause.cause.name);
  }
  CHECK(out == std::vector<std::string>{"sockets", "sockets-1", "tcpxo", "tcpx", "efa"});
  CHECK(says(expected.notes.back(), "dgx-h100 has ib, not what the log says in line 1"));
  for (JudgedRow& row : config.rows) row.measured_us = 1e6;
  const JudgeResult result = judge_rows(config, expected);
  for (const FitGroup& group : result.ranking) {
    for (const std::string& name : names_out_of(result, group)) CHECK(name != "tcpx");
  }
  const std::string text = judge_text({"log", result, {}});
  CHECK(says(text, "Not by line 2: \"Using network IB\": sockets, sockets-1, tcpxo, tcpx, efa"));
}

TEST_CASE("judge: a run that the log's own settings cripple is as expected with them only") {
  JudgeConfig config = config_of("dgx-h100", Collective::all_reduce);
  config.rows = {{Bytes{64 << 20}, 0}};
  for (const auto& [name, value] :
       {std::pair{"NCCL_IB_DISABLE", "1"}, std::pair{"NCCL_PROTO", "LL"}}) {
    config.environment.set(name, value);
    config.logged_settings.emplace_back(name);
  }
  config.environment.set("NCCL_IB_TC", "106");  // costs nothing
  config.logged_settings.emplace_back("NCCL_IB_TC");
  const auto judged = [&] {
    const ExpectedRows expected = expect_rows(config, parts(), {}, in_turn);
    config.rows[0].measured_us = expected.rows[0].expected_us;
    return judge_rows(config, expected);
  };
  const JudgeResult logged = judged();
  CHECK(logged.verdict == JudgeVerdict::as_expected);
  CHECK(logged.costly_settings == std::vector<std::string>{"NCCL_IB_DISABLE=1", "NCCL_PROTO=LL"});
  CHECK(says(judge_text({"log", logged, {}}),
             "as expected with NCCL_IB_DISABLE=1 and NCCL_PROTO=LL of the log"));
  config.environment = {};
  config.logged_settings.clear();
  const JudgeResult free = judged();
  CHECK(free.costly_settings.empty());
  CHECK(says(judge_text({"log", free, {}}), "as expected: nothing to look for"));
  CHECK(logged.notes.back().find(fmt::format(
            "{:.2f} GB/s instead of {:.2f} would be expected at 64 MiB",
            busbw_of(free, Bytes{64 << 20}, free.rows[0].expected_us),
            busbw_of(logged, Bytes{64 << 20}, logged.rows[0].expected_us))) != std::string::npos);
  // What the user sets is meant.
  config.environment.set("NCCL_IB_DISABLE", "1");
  CHECK(judged().costly_settings.empty());
}

// Slow clusters whose owners found the cause. Azure/aks-rdma-infiniband, tests/expected-output.md:
// IP over InfiniBand. skypilot-org/skypilot, examples/coreweave_infiniband: InfiniBand was not
// asked for. eth-cscs/cscs-docs, docs/software/communication/nccl.md: the network's plugin is not
// loaded. NVIDIA/nccl-tests#309: NVLS off, 368.76 GB/s at 16 GiB: 2^34 B x 7/4 / 368.76 GB/s =
// 81,529 us.
TEST_CASE("judge: of public slow clusters the first suspect is the cause" *
          minutes_under_sanitizers()) {
  const std::string folder = FABRICAST_TEST_DATA "/logs/";
  const PartsCatalogue calibrated = load_parts();  // as users have them
  const BandTable bands = load_bands({});
  const auto first = [&](const JudgeConfig& config) {
    const JudgeResult result = judge_rows(config, expect_rows(config, calibrated, bands, in_turn));
    return fmt::format("{}: {}", names_out_of(result, result.ranking.front()).front(),
                       to_text(result.verdict));
  };
  const auto of_log = [&](const std::string& file, const char* topology, std::size_t rows) {
    JudgeConfig config = config_of(topology, Collective::all_reduce);
    config.rows.clear();
    const NcclTestsLog log = parse_nccl_tests(read_text_file(folder + file, "a log"), file);
    for (const NcclTestsRow& row : log.tables.front().rows)
      config.rows.push_back({Bytes{row.size}, row.out_of_place->time_us});
    REQUIRE(config.rows.size() == rows);
    return config;
  };
  CHECK(first(of_log("azure-aks-expected-md-tcp.txt", "dgx-a100", 16)) ==
        "sockets-1: slower, explained");
  // One interface: found, but 3.8 GB/s were measured where two ranks of a node, one that sends and
  // one that receives, would reach 6.2. So nothing is said to explain it.
  CHECK(first(of_log("coreweave-h200-without-infiniband.txt", "hgx-h200", 5)) ==
        "sockets-1: slower, unexplained");
  // 19 of 25 rows are near its times, one less than it takes: of 32 to 256 KiB and above 16 MiB
  // Grace took about twice as long as sockets of other hosts.
  CHECK(first(of_log("cscs-gh200-without-plugin.txt", "gh200-4", 25)) ==
        "sockets: slower, unexplained");
  JudgeConfig no_nvls = config_of("dgx-h100", Collective::all_reduce);
  no_nvls.nodes = 1;
  no_nvls.rows = {{Bytes{std::int64_t{16} << 30}, 81'529}};
  CHECK(first(no_nvls) == "nvls-off: slower, explained");
}

}  // namespace fabricast
