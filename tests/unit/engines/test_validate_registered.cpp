// Goal: NCCL's symmetric kernels take the time that NVIDIA measured, whichever generation the fit
// has not seen, and a table that says something else is refused with its place. Method: NCCL's own
// table of times (tests/data/nccl/README.md), rows written by hand.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/validate_registered.hpp"
#include "models/studies/errors/error_groups.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/quantile.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

const std::string kHead = "kernel,topology,gpus,bytes,blocks,time_us\n";

void one_after_another(std::size_t count, const std::function<void(std::size_t)>& run) {
  for (std::size_t i = 0; i < count; ++i) run(i);
}

ValidateRegisteredResult predicted(std::vector<RegisteredRow> rows, bool leave_out = false) {
  static const PartsCatalogue parts = load_catalogue();
  ValidateRegisteredConfig config;
  config.measured = std::move(rows);
  config.costs = load_engines();
  config.leave_out = config.fit = leave_out;
  return run_validate_registered(std::move(config), parts, one_after_another);
}

std::vector<RegisteredRow> measured_by_nvidia() {
  std::ifstream in(FABRICAST_TEST_DATA "/nccl/symmetric_kernels.csv");
  return read_registered_rows({std::istreambuf_iterator<char>(in), {}}, "symmetric_kernels.csv");
}

}  // namespace

TEST_CASE("validate registered: times that NVIDIA measured") {
  std::map<std::string, std::vector<double>> errors;
  const ValidateRegisteredResult result = predicted(measured_by_nvidia());
  for (const RegisteredPrediction& one : result.predictions) {
    const RegisteredRow& row = result.config.measured[one.row];
    const double error = error_of(one.time_us, row.time_us);
    errors[row.topology].push_back(error);
    if (row.gpus == 64) errors["64 GPUs"].push_back(error);
  }
  CHECK(errors["dgx-h100"].size() == 254);
  CHECK(errors["gb200-nvl72"].size() == 440);
  CHECK(quantile(errors["dgx-h100"], 0.5) < 0.08);
  CHECK(quantile(errors["dgx-h100"], 0.9) < 0.20);
  CHECK(quantile(errors["gb200-nvl72"], 0.5) < 0.08);
  CHECK(quantile(errors["gb200-nvl72"], 0.9) < 0.20);
  CHECK(quantile(errors["64 GPUs"], 0.5) < 0.10);
  CHECK(quantile(errors["64 GPUs"], 0.9) < 0.26);
}

TEST_CASE("validate registered: each topology by a fit to the others" *
          minutes_under_sanitizers()) {
  // Up to eight GPUs, every fifth row: what is fitted of one generation holds for the other.
  std::vector<RegisteredRow> rows;
  const std::vector<RegisteredRow> all = measured_by_nvidia();
  for (std::size_t i = 0; i < all.size(); i += 5)
    if (all[i].gpus <= 8) rows.push_back(all[i]);
  const ValidateRegisteredResult result = predicted(rows, true);
  std::vector<double> unseen;
  bool differs = false;
  for (const RegisteredPrediction& one : result.predictions) {
    REQUIRE(one.unseen_us);
    differs = differs || *one.unseen_us != one.time_us;
    unseen.push_back(error_of(*one.unseen_us, rows[one.row].time_us));
  }
  CHECK(differs);
  CHECK(quantile(unseen, 0.5) < 0.12);
  CHECK(quantile(unseen, 0.9) < 0.30);
  CHECK(result.fitted.size() == 5);
  CHECK(result.fitted.contains("kernels.start_hops"));
  const std::string text = validate_registered_text(result);
  CHECK(text.find("of the shipped values, and of fits without the topology") != std::string::npos);
}

TEST_CASE("validate registered: blocks that the table leaves open are NCCL's") {
  const auto rows = [&](const std::string& blocks) {
    return read_registered_rows(
        kHead + "AllReduce_RSxLDMC_AGxSTMC,dgx-h100,8,1048576," + blocks + ",20\n", "m.csv");
  };
  CHECK(predicted(rows("7")).predictions.front().blocks == 7);
  const ValidateRegisteredResult open = predicted(rows(""));
  CHECK(open.predictions.front().blocks > 0);
  // A lone topology: there is nothing to leave out.
  const ValidateRegisteredResult alone = predicted(rows(""), true);
  CHECK_FALSE(alone.predictions.front().unseen_us);
  CHECK(validate_registered_text(alone).find("there is nothing to leave out") != std::string::npos);
}

TEST_CASE("validate registered: mistakes are said with their place") {
  const auto reads = [](const std::string& row) {
    return error_text([&] { read_registered_rows(kHead + row, "m.csv"); });
  };
  CHECK(reads("AllReduce_AGxLR,dgx-h100,8,1024,,5\n")
            .find("m.csv:2: kernel: \"AllReduce_AGxLR\" is no symmetric kernel of NCCL") == 0);
  CHECK(reads("AllGather_RailRing_LsaSTMC,dgx-h100,8,1024,,5\n").find("is not simulated") !=
        std::string::npos);
  CHECK(reads("AllGather_ST,dgx-h100,1,1024,,5\n").find("m.csv:2: gpus: ") == 0);
  CHECK(reads("AllGather_ST,dgx-h100,8,,,5\n").find("bytes is blank") != std::string::npos);
  CHECK(reads("AllGather_ST,dgx-h100,8,1024,65,5\n").find("m.csv:2: blocks: ") == 0);
  CHECK(reads("").find("no row") != std::string::npos);
  CHECK(error_text([] { read_registered_rows("kernel,gpus\n", "m.csv"); }).find("topology") !=
        std::string::npos);
  // NVLink of a server joins eight.
  const auto too_many = [&] {
    predicted(read_registered_rows(kHead + "AllGather_ST,dgx-h100,16,1024,,5\n", "m.csv"));
  };
  CHECK(error_text(too_many).find("NVLink does not join 16 GPUs of dgx-h100") != std::string::npos);
}
