// Goal: the study asks for what it is asked, refuses what makes no sense, and compares with
// measurements. Method: small questions; traffic of NCCL against counts by hand.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "models/io/experts/read_experts.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/experts/experts_text.hpp"
#include "models/studies/experts/nccl_experts.hpp"
#include "models/studies/experts/validate_experts.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/report_rows.hpp"

using namespace fabricast;

namespace {

ExpertsConfig question(const std::string& topology, int nodes) {
  ExpertsConfig out;
  out.topology = topology;
  out.nodes = {nodes};
  out.tokens = {64};
  return out;
}

std::string refusal(const ExpertsConfig& config) {
  return error_text([&] { run_experts(config, load_catalogue()); });
}

}  // namespace

TEST_CASE("experts: a row for each mode, number of nodes and batch") {
  ExpertsConfig asked = question("dgx-h100", 1);
  asked.nodes = {1, 2};
  asked.tokens = {1, 256};
  asked.modes = {EpMode::normal, EpMode::low_latency, EpMode::nccl, EpMode::hierarchical};
  const ExpertsResult result = run_experts(asked, load_catalogue());
  REQUIRE(result.rows.size() == 16);
  CHECK(result.rows[3].mode == EpMode::normal);
  CHECK(result.rows[3].nodes == 2);
  CHECK(result.rows[3].ranks == 16);
  CHECK(result.rows[3].tokens == 256);
  for (const ExpertsRow& row : result.rows) {
    CHECK(row.dispatch.time.ps > 0);
    CHECK(row.combine.time > row.combine.fixed);
    CHECK(row.busiest >= 1);
  }
  // 256 tokens take longer than one, two nodes longer than one.
  CHECK(result.rows[1].dispatch.time > result.rows[0].dispatch.time);
  CHECK(result.rows[3].dispatch.time > result.rows[1].dispatch.time);
  // The same question, the same answer.
  CHECK(report_json(experts_report(run_experts(asked, load_catalogue()))) ==
        report_json(experts_report(result)));
  const auto rows = testing::rows_of_json(experts_report(result), "rows");
  REQUIRE(rows.size() == 16);
  CHECK(rows[4]["ep_mode"] == "low-latency");
  CHECK(experts_text(result, true).find("limited by") != std::string::npos);
}

TEST_CASE("experts: a phase that is not asked for has no columns, and the other one its time") {
  ExpertsConfig asked = question("dgx-h100", 1);
  asked.modes = {EpMode::low_latency, EpMode::nccl};
  const ExpertsResult both = run_experts(asked, load_catalogue());
  asked.phases = {EpPhase::combine};
  const ExpertsResult one = run_experts(asked, load_catalogue());
  REQUIRE(one.rows.size() == 2);
  CHECK(one.rows[0].dispatch.time.ps == 0);
  CHECK(one.rows[0].combine.time == both.rows[0].combine.time);
  CHECK(one.rows[1].combine.time == both.rows[1].combine.time);
  const auto rows = testing::rows_of_json(experts_report(one), "rows");
  CHECK_FALSE(rows[0].contains("dispatch_us"));
  CHECK_FALSE(rows[0].contains("combine_launch_us"));
  CHECK(rows[0]["combine_us"] ==
        testing::rows_of_json(experts_report(both), "rows")[0]["combine_us"]);
  for (const auto& row : testing::rows_of_json(experts_report(one), "resources"))
    CHECK(row["phase"] == "combine");
  const std::string text = experts_text(one, true);
  CHECK(text.starts_with("combine on dgx-h100: "));
  CHECK(text.find("combine is limited by") != std::string::npos);
  CHECK(text.find("dispatch us") == std::string::npos);
  asked.phases = {EpPhase::combine, EpPhase::dispatch};
  CHECK(experts_text(run_experts(asked, load_catalogue()), false)
            .starts_with("combine and dispatch on dgx-h100: "));
}

TEST_CASE("experts: the time of a call is that of its kernels and of its launch") {
  ExpertsConfig asked = question("dgx-h100", 1);
  asked.modes = {EpMode::normal, EpMode::low_latency, EpMode::nccl};
  const ExpertsResult kernels = run_experts(asked, load_catalogue());
  const auto called = [&](EpLaunch launch) {
    asked.launch = launch;
    return run_experts(asked, load_catalogue());
  };
  const ExpertsResult stream = called(EpLaunch::stream), graph = called(EpLaunch::graph),
                      lone = called(EpLaunch::one_shot);
  for (const ExpertsResult* result : {&stream, &graph, &lone})
    for (std::size_t row = 0; row < 2; ++row)
      for (const EpPhase phase : result->config.phases) {
        const EpResult& call = result->rows[row].of(phase);
        CHECK(call.time == kernels.rows[row].of(phase).time + call.launch);
        CHECK(printed_GBps(call) == printed_GBps(kernels.rows[row].of(phase)));
      }
  // H100: 5 us from idle; 3 us and 64 x 11 ns of layout.
  CHECK(lone.rows[0].dispatch.launch == Duration{13'704'000});
  CHECK(lone.rows[1].combine.launch == Duration{5'000'000});
  CHECK(graph.rows[0].dispatch.launch + Duration{5'000'000} == stream.rows[0].dispatch.launch);
  // NCCL's calls, too, take no longer in a row than alone.
  CHECK(stream.rows[2].dispatch.time <= lone.rows[2].dispatch.time);
  CHECK(lone.rows[2].dispatch.time == kernels.rows[2].dispatch.time);
  const auto rows = testing::rows_of_json(experts_report(lone), "rows");
  CHECK(rows[0]["dispatch_launch_us"] == doctest::Approx(13.704));
  CHECK(experts_text(lone, false).find("a lone call from idle") != std::string::npos);
}

TEST_CASE("experts: what makes no sense is refused") {
  ExpertsConfig asked = question("dgx-h100", 64);
  CHECK(refusal(asked) ==
        "--experts: 256 experts are less than one for each of 512 GPUs\nhint: ask for fewer "
        "--nodes, or --gpus-per-node");
  asked = question("dgx-h100", 1);
  asked.gpus_per_node = 1;
  CHECK(refusal(asked) == "--nodes: one GPU has all experts: nothing to dispatch");
  asked = question("dgx-h100", 2);
  asked.modes = {EpMode::nvlink};
  CHECK(refusal(asked) ==
        "--ep-mode: nvlink kernels stay in one NVLink domain, these GPUs lie in 2\nhint: normal, "
        "low-latency, hybrid, deepep-v2, nccl-alltoall and hierarchical leave the domain");
  asked = question("dgx-h100", 1);
  asked.call.choice.groups = 7;
  CHECK(refusal(asked) == "--groups: 256 experts do not fall into 7 equal groups");
  asked.call.choice.groups = 8;
  asked.call.choice.top_groups = 9;
  CHECK(refusal(asked) == "--top-groups: 9 of 8 groups are more than there are");
  asked.call.choice.groups = 128;
  asked.call.choice.top_groups = 2;
  CHECK(refusal(asked) == "--top-k: 8 experts a token are more than the 4 that it can choose from");
}

// Two nodes of two GPUs. Rank 0 has one token, with experts on ranks 0, 2, 3 and again 3.
TEST_CASE("experts: traffic of NCCL's calls") {
  TokenCounts counts(4, 2);
  counts.add(0, {0, 2, 3, 3});
  const auto flat = nccl_traffic(counts, 10, EpMode::nccl, EpPhase::dispatch);
  REQUIRE(flat.size() == 1);
  CHECK(flat[0].bytes(0, 0) == 10);
  CHECK(flat[0].bytes(0, 1) == P2pTraffic::kNone);
  CHECK(flat[0].bytes(0, 2) == 10);
  CHECK(flat[0].bytes(0, 3) == 20);  // once for each expert
  const auto back = nccl_traffic(counts, 10, EpMode::nccl, EpPhase::combine);
  CHECK(back[0].bytes(3, 0) == 20);
  const auto stages = nccl_traffic(counts, 10, EpMode::hierarchical, EpPhase::dispatch);
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].bytes(0, 2) == 10);  // once to the equal-numbered GPU
  CHECK(stages[0].bytes(0, 3) == P2pTraffic::kNone);
  CHECK(stages[1].bytes(2, 2) == 10);
  CHECK(stages[1].bytes(2, 3) == 10);
  const auto home = nccl_traffic(counts, 10, EpMode::hierarchical, EpPhase::combine);
  CHECK(home[0].bytes(3, 2) == 10);
  CHECK(home[1].bytes(2, 0) == 10);
}

TEST_CASE("experts: measured phases are read and predicted") {
  const std::string head =
      "system,mode,nodes,hidden,tokens,topk,experts,dispatch_sms,combine_sms,dispatch_us,"
      "dispatch_notify_us,combine_us,combine_notify_us\n";
  ExpertsValidation read =
      read_experts_points(head +
                              "h100_sxm,normal,2,7168,4096,8,256,24,24,748.9,56.1,1777,50\n"
                              "h100_sxm,low-latency,1,7168,128,8,256,,,36.7,,67.0,\n"
                              "mars,normal,1,7168,1,8,256,24,24,1,0,1,0\n",
                          "m.csv");
  REQUIRE(read.points.size() == 4);
  CHECK(read.points[0].measured_us == doctest::Approx(805));
  CHECK(read.rows_left_out == 1);
  CHECK(read.left_out.front() == "system \"mars\" is not known");
  predict_experts(read, load_catalogue(), load_expert_kernels());
  for (const ExpertsPoint& point : read.points)
    CHECK(point.predicted_us == doctest::Approx(point.measured_us).epsilon(0.25));
  CHECK(error_text([&] {
          read_experts_points("system\nh100_sxm\n", "m.csv");
        }).starts_with("m.csv:1: neither a column \"mode\" nor one \"op\""));
  CHECK(error_text([&] {
          read_experts_points(head + "h100_sxm,normal,x,7168,1,8,256,24,24,1,0,1,0\n", "m.csv");
        }).starts_with("m.csv:2: nodes"));
  CHECK(error_text([&] {
          read_experts_points(head + "mars,normal,1,7168,1,8,256,24,24,1,0,1,0\n", "m.csv");
        }) == "m.csv: no row that can be predicted\nhint: system \"mars\" is not known");
}

// Phases that take what costs of one's own say; the fit begins with starts that are 40 % too long.
TEST_CASE(
    "validate experts: a fit finds the costs that made the times, and predicts who is left out") {
  const PartsCatalogue parts = load_catalogue();
  std::string rows =
      "system,mode,nodes,hidden,tokens,topk,experts,dispatch_sms,combine_sms,dispatch_us,"
      "dispatch_notify_us,combine_us,combine_notify_us\n";
  for (const char* const system : {"h100_sxm", "b200_sxm"})
    for (const int tokens : {1, 2, 4, 8, 16, 32})
      rows += fmt::format("{},low-latency,1,2048,{},2,16,,,1,,1,\n", system, tokens);
  ExpertsValidation made = read_experts_points(rows, "m.csv");
  const ExpertKernels truth = load_expert_kernels();
  predict_experts(made, parts, truth);
  for (ExpertsPoint& point : made.points) point.measured_us = point.predicted_us;
  ExpertKernels wrong = truth;
  for (ModeCosts& costs : wrong.modes[static_cast<std::size_t>(EpMode::low_latency)])
    for (PhaseCosts& phase : costs.phases) phase.start_hops *= 1.4;
  predict_experts(made, parts, wrong, in_turn, true);
  for (const ExpertsPoint& point : made.points) {
    CAPTURE(point.system);
    CAPTURE(point.call.tokens);
    REQUIRE(point.unseen_us);
    const double unfitted = point.predicted_us / point.measured_us;
    CHECK(unfitted > 1.1);
    CHECK(std::abs(*point.unseen_us / point.measured_us - 1) < 0.08);
  }
  CHECK(experts_validation_text(made).find("without system: median") != std::string::npos);
}
