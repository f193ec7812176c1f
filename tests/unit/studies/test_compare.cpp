// The buyer's matrix: what is compared with what, and what it costs.

#include <doctest/doctest.h>

#include <string>

#include "models/io/report/answer.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/compare/read_compare.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

CompareAsk four_and_eight_nics() {
  CompareAsk out;
  out.topologies = {"dgx-h100"};
  out.nics = {4, 8};
  out.nodes = {2};
  out.sizes = {Bytes{256 << 20}};
  out.prices = load_prices();
  return out;
}

double cell(const ReportTable& table, std::size_t row, std::string_view column) {
  return table.at(row, column).get<double>();
}

}  // namespace

TEST_CASE("compare: fewer NICs cost less and reach less; the best is 1") {
  const PartsCatalogue parts = load_parts();
  const CompareAsk ask = four_and_eight_nics();
  const Report report = compare_report(run_compare(ask, parts, in_turn), load_bands({}));
  const ReportTable& rows = report.table("rows");
  REQUIRE(rows.rows().size() == 2);
  CHECK(rows.at(0, "machine") == "4 NICs");
  CHECK(cell(rows, 0, "fabric_usd") < cell(rows, 1, "fabric_usd"));
  CHECK(cell(rows, 0, "busbw_GBps") < cell(rows, 1, "busbw_GBps"));
  CHECK(cell(rows, 1, "busbw_of_best") == 1);
  CHECK(cell(rows, 0, "busbw_of_best") ==
        doctest::Approx(cell(rows, 0, "busbw_GBps") / cell(rows, 1, "busbw_GBps")));
  CHECK(cell(rows, 0, "usd_per_GBps") ==
        doctest::Approx(cell(rows, 0, "fabric_usd") / cell(rows, 0, "busbw_GBps")));
  // 16 GPUs by the hour, and the fabric over four years of 8,766 hours with its power.
  const Prices& prices = ask.prices;
  CHECK(cell(rows, 0, "usd_per_hour") ==
        doctest::Approx(16 * prices.gpus.at("H100_SXM5").value +
                        cell(rows, 0, "fabric_usd") / (prices.fabric_years.value * 8766) +
                        cell(rows, 0, "fabric_watts") / 1000 * prices.power.value)
            .epsilon(0.001));
  double bill = 0;
  for (std::size_t i = 0; i < report.table("bill").rows().size(); ++i)
    if (report.table("bill").at(i, "machine") == "4 NICs")
      bill += cell(report.table("bill"), i, "usd");
  CHECK(bill == doctest::Approx(cell(rows, 0, "fabric_usd")));
  CHECK(answer_of(report).starts_with(
      "all_reduce of 256 MiB on 2 nodes: 8 NICs has the most bus bandwidth"));
}

TEST_CASE("compare: what cannot be is a row with its reason; nothing else is an error") {
  const PartsCatalogue parts = load_parts();
  CompareAsk ask = four_and_eight_nics();
  ask.nics = {8, 12};
  const CompareResult result = run_compare(ask, parts, in_turn);
  REQUIRE(result.machines.size() == 2);
  CHECK(result.machines[0].refused.empty());
  CHECK(result.machines[1].refused.find("12") != std::string::npos);
  ask.nics = {12};
  CHECK(error_text([&] { run_compare(ask, parts, in_turn); }).find("12") != std::string::npos);
  ask.topologies = {"dgx-h101"};
  CHECK(error_text([&] { run_compare(ask, parts, in_turn); }).find("did you mean") !=
        std::string::npos);
}

TEST_CASE("compare: SHARP is switched on where the environment says nothing of it") {
  const PartsCatalogue parts = load_parts();
  CompareAsk ask = four_and_eight_nics();
  ask.nics = {8};
  ask.sharp = {false, true};
  const CompareResult result = run_compare(ask, parts, in_turn);
  CHECK_FALSE(result.machines[0].job.environment.get("NCCL_COLLNET_ENABLE"));
  CHECK(result.machines[1].job.environment.get("NCCL_COLLNET_ENABLE") == "1");
}

TEST_CASE("compare: a file asks what the command asks, and says where it is wrong") {
  const CompareAsk ask = parse_compare(
      "kind: compare\ntopology: dgx-h100, hgx-b200\nnics: 4, 8\nnodes: 2\nsharp: on, off\n"
      "nccl: 2.27.7, 2.30.7\nsizes: 1MiB\nenvironment: {NCCL_ALGO: Ring}\n",
      "c.yaml");
  CHECK(ask.topologies == std::vector<std::string>{"dgx-h100", "hgx-b200"});
  CHECK(ask.nics == std::vector{4, 8});
  CHECK(ask.sharp == std::vector{true, false});
  CHECK(ask.versions.size() == 2);
  CHECK(ask.environment.get("NCCL_ALGO") == "Ring");
  const auto failure = [](const std::string& rest) {
    return error_text([&] { parse_compare("kind: compare\n" + rest, "c.yaml"); });
  };
  CHECK(failure("nodes: 2\n").find("topology") != std::string::npos);
  CHECK(failure("topology: dgx-h100\nsharp: maybe\n") ==
        "c.yaml:3: sharp: \"maybe\" is neither on nor off");
  CHECK(failure("topology: dgx-h100\nnodess: 2\n").find("did you mean \"nodes\"") !=
        std::string::npos);
}
