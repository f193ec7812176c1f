// Floors of `fabricast gate`: quantiles of measured / predicted, what faults show, and the files
// that other programs take.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/topologies/calibrated.hpp"
#include "models/studies/gate/gate_files.hpp"
#include "models/studies/gate/gate_rates.hpp"
#include "models/studies/gate/gate_text.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

/// Five sources with one run each, whose times are 1.1 .. 1.5 of the prediction.
BandTable five_sources() {
  std::vector<BandSample> samples;
  for (int i = 1; i <= 5; ++i) {
    const std::string name = fmt::format("source{}", i);
    samples.push_back({{"A nvswitch", "ib", "all_reduce", 3, 9},
                       name,
                       name,
                       std::log(1 + 0.1 * i),
                       Known::hardware_and_network,
                       name,
                       Bytes{1 << 30}});
  }
  return make_bands(samples);
}

TEST_CASE("bands know the ratio that a share of runs stays below") {
  // Each of five sources has a fifth of the weight and stands in its middle: 0.1, 0.3, .. 0.9. At
  // 0.8 the quantile is half way, on logarithms, from the fourth to the fifth. Wider groups have
  // the same samples, so nothing is drawn elsewhere.
  const auto band = find_band(five_sources(), {"A nvswitch", "ib", "all_reduce", 3, 9});
  REQUIRE(band);
  CHECK(band->slow[0] == doctest::Approx(std::sqrt(1.4 * 1.5)));
  CHECK(band->slow[1] == doctest::Approx(1.5));
  CHECK(band->upper == band->slow[kUpperShare]);
  CHECK(slow_limit(*band, 0.8) == band->slow[0]);
  CHECK(slow_limit(*band, 0.99) == doctest::Approx(1.5));
  CHECK(slow_limit(*band, 0.85) == doctest::Approx((std::sqrt(1.4 * 1.5) + 1.5) / 2));
  CHECK(error_text([&] { slow_limit(*band, 0.5); }).find("50 % of runs: measured are 80 to 99 %") !=
        std::string::npos);
  CHECK(error_text([] { slow_limit(FoundBand{}, 0.95); }).find("no measured runs say") !=
        std::string::npos);
}

TEST_CASE("a floor is at least the prediction, whatever the quantile") {
  BandTable table = five_sources();
  for (Band& band : table.bands) band.slow = {0.7, 0.8, 0.9, 1.2};
  const auto band = find_band(table, {"A nvswitch", "ib", "all_reduce", 3, 9});
  REQUIRE(band);
  CHECK(band->slow == Slow{1, 1, 1, 1.2});
}

TEST_CASE("files of calibrated values keep the shares") {
  Calibrated written;
  written.bands = five_sources();
  const std::string text = calibrated_yaml(written, "");
  CHECK(text.find("upper: 1.500, upper_80: 1.449, upper_95: 1.500, upper_99: 1.500") !=
        std::string::npos);
  const Calibrated read = parse_calibrated(text, "own.yaml");
  CHECK(calibrated_yaml(read, "") == text);
  const auto parse = [](const std::string& line) {
    return error_text(
        [&] { parse_calibrated("kind: calibrated\nbands:\n  - " + line, "own.yaml"); });
  };
  CHECK(parse("{sizes: \">= 64 MiB\", lower: 0.9, upper: 1.2, upper_80: 1.3, upper_95: 1.4, "
              "upper_99: 1.5, runs: 3}")
            .find("shares of more runs are slower") != std::string::npos);
  CHECK(parse("{sizes: \">= 64 MiB\", lower: 0.9, upper: 1.2, upper_80: 1.1, runs: 3}")
            .find("upper_95") != std::string::npos);
}

TEST_CASE("every shipped band knows its shares") {
  const BandTable& shipped = shipped_calibrated().bands;
  REQUIRE(!shipped.bands.empty());
  CHECK(std::ranges::all_of(shipped.bands, [](const Band& band) { return band.slow[0] > 0; }));
  for (std::size_t known = 1; known < kKnowns; ++known)
    CHECK(std::ranges::all_of(shipped.further[known],
                              [](const Band& band) { return band.slow[0] > 0; }));
}

/// One row: 100 us expected, 120 at most, one in ten healthy runs faster than 90.
GateBlock block_of(std::vector<double> faults_us) {
  GateBlock out;
  out.collective = Collective::all_reduce;
  out.expected.nodes = 2;
  out.expected.ranks = 16;
  JudgeRow& row = out.expected.rows.emplace_back();
  row.size = Bytes{1 << 20};
  row.expected_us = 100;
  row.band.lower = 0.9;
  row.band.upper = 1.2;
  out.expected.causes.push_back({{"", "as described", ""}, {100}});
  for (std::size_t i = 0; i < faults_us.size(); ++i)
    out.expected.causes.push_back({{fmt::format("fault-{}", i), "one", "look"}, {faults_us[i]}});
  return out;
}

GateResult result_of(GateBlock block) {
  GateResult out;
  out.config.topology = "dgx-h100";
  out.config.sizes = {block.expected.rows.front().size};
  out.blocks.push_back(std::move(block));
  return out;
}

TEST_CASE("a floor tells a fault where nine of ten of its runs stay below") {
  const GateBlock block = block_of({140, 125, 110});
  CHECK(block.floor_us(0) == doctest::Approx(120));
  CHECK(block.separation(1, 0) == Separation::yes);    // 140 * 0.9 = 126 > 120
  CHECK(block.separation(2, 0) == Separation::often);  // 125 * 0.9 < 120 < 125
  CHECK(block.separation(3, 0) == Separation::no);
  // 2^20 B in 120 us: 8.738 GB/s, times 2 * 15 / 16.
  CHECK(block.busbw_GBps(0, 120) == doctest::Approx(8.738133 * 1.875).epsilon(1e-5));
}

TEST_CASE("AICR's value makes up for its tolerance") {
  const std::string text = gate_aicr(result_of(block_of({})));
  // The floor is 16.384 GB/s; over 0.9 it is 18.2.
  CHECK(text.find("        - name: nccl-all-reduce-bw\n          value: \">= 18\"\n") !=
        std::string::npos);
  GateResult two = result_of(block_of({}));
  two.blocks.push_back(two.blocks.front());
  CHECK(error_text([&] { gate_aicr(two); }).find("one number of nodes") != std::string::npos);
  two.blocks.pop_back();
  two.blocks.front().collective = Collective::alltoall;
  CHECK(error_text([&] { gate_aicr(two); }).find("all_reduce") != std::string::npos);
  CHECK(error_text([&] { gate_alerts(two); }).find("exports no bandwidth") != std::string::npos);
}

TEST_CASE("the name of AICR's constraint says that NVLink joins the nodes") {
  GateBlock block = block_of({110});
  block.expected.causes.back().cause.name = "mnnvl-off";
  CHECK(gate_aicr(result_of(block)).find("- name: nccl-all-reduce-bw-nvls") != std::string::npos);
}

TEST_CASE("alerts have Inspector's labels") {
  CHECK(inspector_size(1000) == "1000-1001B");
  CHECK(inspector_size(1024) == "1-2KB");
  CHECK(inspector_size(140'509'184) == "134-135MB");  // 134 * 2^20
  CHECK(inspector_size(std::int64_t{1} << 33) == "8-9GB");
  const std::string text = gate_alerts(result_of(block_of({})));
  CHECK(text.find("nccl_bus_bandwidth_gbs{collective=\"AllReduce\",nranks=\"16\",n_nodes=\"2\","
                  "message_size=\"1-2MB\"} < 16.384\n") != std::string::npos);
  GateResult gather = result_of(block_of({}));
  gather.blocks.front().collective = Collective::all_gather;
  // Inspector counts what one rank gives: 2^20 / 16.
  CHECK(gate_alerts(gather).find("message_size=\"64-65KB\"") != std::string::npos);
}

TEST_CASE("the script has a line for each floor, and the environment") {
  GateResult result = result_of(block_of({}));
  result.config.environment.set("NCCL_ALGO=Ring,Tree");
  const std::string text = gate_script(result);
  CHECK(text.starts_with("#!/bin/sh\n"));
  CHECK(text.find("\n2 16 all_reduce 1048576 120.000 16.384\n") != std::string::npos);
  CHECK(text.find("\nexport NCCL_ALGO=Ring,Tree\n") != std::string::npos);
  CHECK(text.find("-b 1048576 -e 1048576 -f 2") != std::string::npos);
  result.config.sizes = {Bytes{1000}, Bytes{1 << 20}};
  CHECK(gate_script(result).find("\n-b 1000 -e 1000\n-b 1048576 -e 1048576\n") !=
        std::string::npos);
}

TEST_CASE("JUnit's cases fail where the verdict does") {
  JudgeConfig config;
  config.topology = "a&b";
  config.collective = Collective::all_reduce;
  config.rows = {{Bytes{1 << 20}, 150}, {Bytes{1 << 20}, 110}};
  ExpectedRows expected = block_of({}).expected;
  expected.rows.push_back(expected.rows.front());
  expected.causes.front().times_us.push_back(100);
  JudgedTable table{"x.log", judge_rows(config, expected), {}};
  CHECK(!all_pass({table}));
  const std::string text = gate_junit({table});
  CHECK(text.find("<testsuite name=\"x.log\" tests=\"3\" failures=\"2\" errors=\"0\" ") !=
        std::string::npos);
  CHECK(text.find("classname=\"all_reduce on 2 x a&amp;b, 16 ranks\"") != std::string::npos);
  CHECK(text.find("150.0 us, at most 120.0") != std::string::npos);
  // One slow row of ten is none too many.
  config.rows.assign(10, {Bytes{1 << 20}, 110});
  config.rows.front().measured_us = 150;
  while (expected.rows.size() < 10) {
    expected.rows.push_back(expected.rows.front());
    expected.causes.front().times_us.push_back(100);
  }
  table.result = judge_rows(config, expected);
  CHECK(all_pass({table}));
  CHECK(gate_junit({table}).find("failures=\"0\"") != std::string::npos);
}

TEST_CASE("floors of a machine: expected times at the quantile, faults that are slower") {
  GateConfig config;
  config.topology = "dgx-h100";
  config.nodes = {2};
  config.sizes = {Bytes{1 << 10}, Bytes{256 << 20}};
  const GateResult result = run_gate(config, parts(), shipped_calibrated().bands, in_turn);
  REQUIRE(result.blocks.size() == 1);
  const GateBlock& block = result.blocks.front();
  CHECK(block.expected.ranks == 16);
  std::vector<std::string> names;
  for (const SimulatedSuspect& fault : block.expected.causes) names.push_back(fault.cause.name);
  CHECK(names == std::vector<std::string>{"", "gdr-off", "sockets", "half-hcas", "port-50",
                                          "ports-50", "slot-50", "nic-missing", "pxn-off",
                                          "pcie-50", "p2p-off", "gpu-50", "nvlink-missing",
                                          "nvls-off"});
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(block.floor_us(row) > block.expected.rows[row].expected_us);
    CHECK(block.expected.causes[0].times_us[row] == block.expected.rows[row].expected_us);
  }
  // NVLSTree between two nodes loads NICs by half of what NVLink carries: at half of their rate
  // they set the pace. Sockets are far slower.
  const double expected = block.expected.rows[1].expected_us;
  CHECK(block.expected.causes[at("ports-50")].times_us[1] > 1.2 * expected);
  // The expected run lies at the floor, some on either side.
  CHECK(block.separation(at("ports-50"), 1) != Separation::yes);
  CHECK(block.separation(at("ports-50"), 1) != Separation::unseen);
  CHECK(block.separation(at("sockets"), 1) == Separation::yes);
  CHECK(block.expected.causes[at("gpu-50")].times_us[1] > expected);
  // NVLS hardly sees one link of 18; chunks may fall a little better.
  CHECK(block.expected.causes[at("nvlink-missing")].times_us[1] > 0.95 * expected);
  CHECK(!block.expected.rows[1].busiest.empty());
  // The more runs are to pass, the lower the floor.
  config.healthy_share = 0.99;
  const GateResult wider = run_gate(config, parts(), shipped_calibrated().bands, in_turn);
  CHECK(wider.blocks.front().floor_us(1) >= block.floor_us(1));
  CHECK(error_text([&] {
          GateConfig none = config;
          none.sizes.clear();
          run_gate(none, parts(), shipped_calibrated().bands, in_turn);
        }).find("no sizes") != std::string::npos);
}

MeasuredRun run_of(const std::string& id, const std::string& source) {
  MeasuredRun run;
  run.id = id;
  run.source = source;
  run.collective = Collective::all_reduce;
  run.gpu_model = "H100";
  run.node_kind = "nvswitch";
  run.net_kind = "ib";
  run.gpus_per_node = 8;
  run.nics_per_node = 8;
  run.nic_gbps = 400;
  run.nodes = 2;
  run.ranks = 16;
  return run;
}

TEST_CASE("line rates and AICR's floors") {
  MeasuredRun run = run_of("a", "s");
  // 8 x 400 Gb/s; AICR's 150 of AKS and 300 of EKS, less 10 %.
  CHECK(*line_rate_GBps(map_run(run, parts()), run.collective, parts()) == doctest::Approx(400));
  CHECK(!line_rate_GBps(map_run(run, parts()), Collective::alltoall, parts()));
  CHECK(*aicr_floor_GBps(run) == doctest::Approx(135));
  run.net_kind = "efa";
  CHECK(*aicr_floor_GBps(run) == doctest::Approx(270));
  run.collective = Collective::all_gather;
  CHECK(!aicr_floor_GBps(run));
}

TEST_CASE("rates: a run is held against bands of the other sources") {
  ValidateResult result;
  Calibrated calibrated;
  const auto add = [&](const std::string& id, const std::string& source, double measured_us) {
    result.measured.points.push_back(
        {result.measured.runs.size(), Bytes{1 << 30}, "float", measured_us});
    result.measured.runs.push_back(run_of(id, source));
    Prediction prediction;
    prediction.method = Method::simulated;
    prediction.time_us = prediction.left_out_us = 5000;
    result.predictions.push_back(prediction);
    calibrated.left_out.factors[source] = {};
  };
  // Others are 1.0 to 1.2 of the prediction: no share of them is slower than 1.2.
  add("a", "one", 5000);
  add("b", "two", 5500);
  add("c", "three", 6000);
  add("slow", "four", 10'000);
  add("sick", "five", 9000);
  const GateRates rates = rate_gates(result, 4, calibrated, parts());
  REQUIRE(rates.runs.size() == 5);
  // a: others go up to 2.0. slow: others go up to 1.2, and it takes 2.0.
  CHECK(rates.runs[0].all_rows.passes == std::array{true, true, true, true});
  CHECK(rates.runs[3].all_rows.passes == std::array{false, false, false, false});
  CHECK(rates.runs[3].slow == std::array<std::size_t, 4>{1, 1, 1, 1});
  // 1.8 of the prediction is within what the slowest of four healthy ones shows at 99 %.
  CHECK(rates.runs[4].is_sick);
  CHECK(rates.runs[4].largest_row.passes[3]);
  // 2^30 B in 5 ms times 1.875: 402.7 GB/s of 400; in 10 ms 201.3, below 320 but above 135.
  CHECK(rates.runs[0].largest_busbw_GBps == doctest::Approx(402.65).epsilon(1e-4));
  CHECK(rates.runs[0].line_rate.passes[0]);
  CHECK(!rates.runs[3].line_rate.passes[0]);
  CHECK(rates.runs[3].aicr.passes[0]);
  const std::string text = gate_rates_text(rates);
  CHECK(text.find("4 runs that are taken for healthy, 1 posted as a problem") != std::string::npos);
  const Report report = gate_rates_report(rates);
  CHECK(report.table("rows").at(0, "healthy_failed") == 1);
  CHECK(report.table("runs").at(4, "sick") == true);
}

}  // namespace
}  // namespace fabricast
