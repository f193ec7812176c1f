// Text, CSV and JSON of one answer show the same figures: each as exactly as it prints them.

#include <doctest/doctest.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/io/topologies/calibrated.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "models/studies/cutover/cutover_text.hpp"
#include "models/studies/decide/decide_text.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/training/training_reports.hpp"
#include "models/studies/whatif/whatif_text.hpp"
#include "tests/invariants/random_nodes.hpp"
#include "tests/unit/report_rows.hpp"
#include "text/unit_text.hpp"

namespace fabricast::testing {
namespace {

using Json = nlohmann::json;
using Cells = std::vector<std::map<std::string, std::string>>;

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// Fields of our CSV where no text has a comma.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

Cells csv_table(const std::string& csv) {
  const std::vector<std::string> all = lines(csv);
  const std::vector<std::string> names = fields(all.at(0));
  Cells out;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::vector<std::string> values = fields(all[i]);
    REQUIRE(values.size() == names.size());
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (k == 0) out.emplace_back();
      out.back()[names[k]] = values[k];
    }
  }
  return out;
}

/// `shown` is `value`, rounded to the digits that it has.
bool is_shown_as(double value, const std::string& shown) {
  const std::size_t point = shown.find('.');
  const std::size_t digits = point == std::string::npos ? 0 : shown.size() - point - 1;
  const double half = 0.5 * std::pow(10.0, -static_cast<double>(digits));
  return std::fabs(std::stod(shown) - value) <= half * (1 + 1e-6) + std::fabs(value) * 1e-12;
}

/// Whether `text` has the number somewhere, with three digits or more.
bool shows(const std::string& text, double value) {
  for (std::size_t i = 0; i < text.size();) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      ++i;
      continue;
    }
    std::string number;
    int digits = 0;
    for (; i < text.size(); ++i) {
      const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
      if (text[i] == ',') continue;  // of thousands
      if (!is_digit && text[i] != '.') break;
      digits += is_digit ? 1 : 0;
      number += text[i];
    }
    while (!number.empty() && number.back() == '.') number.pop_back();
    if (digits >= 3 && std::ranges::count(number, '.') <= 1 && is_shown_as(value, number))
      return true;
  }
  return false;
}

void check_number(const Json& value, const std::string& csv) {
  if (value.is_null()) {
    CHECK(csv.empty());
  } else {
    CHECK(is_shown_as(value.get<double>(), csv));
  }
}

void check_text_figure(const Json& value, const std::string& text) {
  if (value.is_null()) {
    CHECK(text == "N/A");
  } else {
    CHECK(is_shown_as(value.get<double>(), text));
  }
}

/// Rows that were compared.
int compare_bench(const BenchConfig& config, const BandTable& bands) {
  const BenchResult result = run_bench(config, shipped_parts());
  const Report report = bench_report(result, bands);
  const std::vector<Json> rows = rows_of_json(report, "rows"), runs = rows_of_json(report, "runs");
  const Cells csv = csv_table(report_csv(report));
  REQUIRE(rows.size() == runs.size());
  std::vector<std::vector<std::string>> text;
  for (const std::string& line : lines(bench_text(result, bands)))
    if (!line.empty() && line[0] != '#') text.push_back(words(line));
  REQUIRE(rows.size() == csv.size());
  REQUIRE(rows.size() == text.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& json = rows[i];
    for (const char* word : {"collective", "algorithm", "protocol"})
      CHECK(json[word].get<std::string>() == csv[i].at(word));
    for (const char* number :
         {"size_bytes", "nodes", "ranks", "nchannels", "nchannels_tuner", "nthreads"})
      CHECK(std::to_string(json[number].get<std::int64_t>()) == csv[i].at(number));
    for (const char* number : {"time_us", "algbw_GBps", "busbw_GBps"})
      check_number(json[number], csv[i].at(number));
    if (json.contains("lower_us")) {
      check_number(json["lower_us"], csv[i].at("lower_us"));
      check_number(json["upper_us"], csv[i].at("upper_us"));
    }
    CHECK((json["completes"].get<bool>() ? "yes" : "no") == csv[i].at("completes"));
    CHECK(std::to_string(runs[i]["count"].get<std::int64_t>()) == text[i].at(1));
    check_text_figure(json["time_us"], text[i].at(5));
    check_text_figure(json["algbw_GBps"], text[i].at(6));
    check_text_figure(json["busbw_GBps"], text[i].at(7));
  }
  return static_cast<int>(rows.size());
}

TEST_CASE("views: bench, also of several calls, of groups, and of what never completes") {
  const BandTable bands = load_bands("");
  Dice random(7);
  int compared = 0;
  for (int i = 0; i < random_cases(40); ++i) {
    const std::string preset = random.of(preset_names());
    const bool has_nics = !load_cluster({preset, 1, ""}, shipped_parts()).node().nics().empty();
    BenchConfig config = bench_of(preset, has_nics ? static_cast<int>(random.pick(1, 3)) : 1,
                                  {Bytes{random.pick(8, 4096)}, Bytes{random.pick(1, 64) << 14}});
    config.collectives = {random.of(kRingCollectives)};
    const auto kind = random.pick(0, 3);
    if (kind == 1) config.calls = static_cast<int>(random.pick(2, 5));
    if (kind == 2) config.split = parse_split("%2");
    CAPTURE(i);
    CAPTURE(preset);
    CAPTURE(kind);
    compared += compare_bench(config, random.pick(0, 1) == 0 ? bands : BandTable{});
  }
  BenchConfig broken = bench_of("dgx-h100", 2, {Bytes{8}, Bytes{1 << 20}});
  broken.faults = {parse_fault("nic node0:mlx5_0 down")};
  broken.environment.set("NCCL_ALGO=Ring");
  compared += compare_bench(broken, bands);
  CHECK_FALSE(run_bench(broken, shipped_parts()).completes());
  CHECK(compared > random_cases(40));
}

/// "64 B .. 128 KiB" or "256 KiB" at the start of a line of decide's table; nothing elsewhere.
std::optional<std::pair<Bytes, Bytes>> sizes_of(const std::vector<std::string>& line) {
  if (line.size() < 4 || std::isdigit(static_cast<unsigned char>(line[0][0])) == 0) return {};
  const Bytes first = parse_bytes(line[0] + " " + line[1]);
  if (line[2] != "..") return std::pair{first, first};
  return std::pair{first, parse_bytes(line[3] + " " + line[4])};
}

TEST_CASE("views: decide") {
  Dice random(8);
  int compared = 0, seen = 0;
  for (int i = 0; i < random_cases(25); ++i) {
    BenchConfig config = bench_of(random.of(preset_names()), 1, {}, random.of(kModelledVersions));
    for (int bits = 3; bits < 34; ++bits) config.sizes.push_back(Bytes{std::int64_t{1} << bits});
    config.collectives = {random.of(kRingCollectives)};
    CAPTURE(config.topology);
    const DecideResult result = run_decide(decide_config(config), shipped_parts());
    const Report report = decide_report(result);
    const std::vector<Json> rows = rows_of_json(report, "rows");
    const Cells csv = csv_table(report_csv(report));
    REQUIRE(rows.size() == csv.size());
    const std::vector<std::string> text = lines(decide_text(result));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Json& json = rows[k];
      for (const char* word : {"collective", "algorithm", "protocol"})
        CHECK(json[word].get<std::string>() == csv[k].at(word));
      for (const char* number :
           {"size_bytes", "nodes", "nchannels", "nchannels_tuner", "nthreads", "chunk_bytes"})
        CHECK(std::to_string(json[number].get<std::int64_t>()) == csv[k].at(number));
      CHECK(json["predicted_us"].get<double>() ==
            doctest::Approx(std::stod(csv[k].at("predicted_us"))).epsilon(1e-7));
      const Bytes size{json["size_bytes"].get<std::int64_t>()};
      for (const std::string& line : text) {
        const std::vector<std::string> found = words(line);
        const auto range = sizes_of(found);
        if (!range || size < range->first || range->second < size) continue;
        CHECK(found[range->first == range->second ? 2 : 5] == json["algorithm"]);
        CHECK(found[range->first == range->second ? 3 : 6] == json["protocol"]);
        ++seen;
      }
      ++compared;
    }
  }
  CHECK(compared > 300);
  CHECK(seen == compared);
}

TEST_CASE("views: cutover") {
  for (const char* preset : {"dgx-a100", "pcie-2gpu", "h100-pcie-nvl-4"}) {
    CAPTURE(preset);
    CutoverConfig config;
    config.topology = preset;
    config.nodes = {1};
    for (int bits = 10; bits < 24; bits += 3) config.sizes.push_back(Bytes{1 << bits});
    const CutoverResult result = run_cutover(config, shipped_parts(), in_turn);
    const Report report = cutover_report(result);
    const std::vector<Json> rows = rows_of_json(report, "rows"),
                            choices = rows_of_json(report, "choices");
    const Cells csv = csv_table(report_csv(report));
    std::size_t compared = 0;
    REQUIRE(rows.size() == csv.size());
    for (std::size_t i = 0; i < csv.size(); ++i) {
      check_number(rows[i]["time_us"], csv[i].at("time_us"));
      const std::string name = csv[i].at("algorithm") + " " + csv[i].at("protocol");
      for (const Json& cell : choices) {
        if (cell["size_bytes"] != rows[i]["size_bytes"]) continue;
        CHECK((cell["fastest"] == name) == (csv[i].at("fastest") == "1"));
        CHECK((cell["nccl"] == name) == (csv[i].at("nccl_takes") == "1"));
        ++compared;
      }
    }
    CHECK(compared == csv.size());
    CHECK(compared >= 4 * config.sizes.size());  // Ring in three protocols, and more
  }
}

TEST_CASE("views: whatif") {
  Dice random(9);
  for (int i = 0; i < 6; ++i) {
    BenchConfig before = bench_of(random.of(std::array{"dgx-h100", "dgx-a100", "hgx-b200"}), 2,
                                  {Bytes{1 << 16}, Bytes{1 << 22}});
    BenchConfig after = before;
    after.environment.set(random.of(std::array{"NCCL_ALGO=Ring", "NCCL_PROTO=Simple",
                                               "NCCL_MAX_NCHANNELS=4", "NCCL_NVLS_ENABLE=0"}));
    const WhatifResult result = run_whatif(before, after, shipped_parts(), {}, in_turn);
    const Report report = whatif_report(result, before, after);
    const std::vector<Json> lines = rows_of_json(report, "rows"),
                            rows = rows_of_json(report, "before_and_after");
    const Cells csv = csv_table(report_csv(report));
    const std::string text = whatif_text(result);
    REQUIRE(rows.size() == 2);
    REQUIRE(lines.size() == csv.size());
    for (std::size_t k = 0; k < csv.size(); ++k) {
      for (const char* number : {"before_us", "after_us", "alone_us", "shapley_us"})
        check_number(lines[k][number], csv[k].at(number));
    }
    for (const Json& row : rows) {
      CHECK(shows(text, row["before_us"].get<double>()));
      CHECK(shows(text, row["after_us"].get<double>()));
      CHECK(shows(text, row["before_busbw_GBps"].get<double>()));
    }
  }
}

/// As time_text() writes it: in whatever unit has a digit before the point.
bool shows_time(const std::string& text, double seconds) {
  return shows(text, seconds) || shows(text, seconds * 1e3) || shows(text, seconds * 1e6);
}

StepConfig drawn_step(Dice& random) {
  const int nodes = static_cast<int>(random.pick(1, 2)), tp = random.of(std::array{1, 2, 4, 8});
  const int pp = random.pick(0, 2) == 0 && tp <= 4 ? 2 : 1;
  return parse_step(fmt::format("kind: step\nmodel: llama-3-8b\ntopology: {}\nnodes: {}\n"
                                "framework: megatron\nsequence: 4096\nmicro_batch: 1\n"
                                "global_batch: {}\nprecision: bf16\n"
                                "parallel: {{tp: {}, pp: {}}}\nsharding: zero1\n",
                                random.of(std::array{"dgx-h100", "hgx-b200"}), nodes,
                                8 * nodes / (tp * pp) * random.pick(2, 4), tp, pp),
                    "drawn.yaml");
}

TEST_CASE("views: step and plan") {
  Dice random(10);
  for (int i = 0; i < random_cases(8); ++i) {
    const StepConfig config = drawn_step(random);
    const StepResult result = run_step(config, shipped_parts());
    const Report report = step_report(result);
    const Json json = rows_of_json(report, "rows").at(0);
    const std::string text = step_text(result);
    CAPTURE(text);
    for (const char* time : {"step_s", "lower_s", "upper_s"})
      CHECK(shows_time(text, json[time].get<double>()));
    const Json layout = rows_of_json(report, "layouts").at(0);
    CHECK(shows(text, layout["tokens_per_s_per_gpu"].get<double>()));
    CHECK(shows(text, 100 * json["mfu"].get<double>()));
    CHECK(shows(text, json["memory_bytes"].get<double>() * 1e-9));
    CHECK(json["lower_s"] <= json["step_s"]);
    CHECK(json["step_s"] <= json["upper_s"]);
  }
  StepConfig config = drawn_step(random);
  PlanLimits limits;
  limits.keep = 3;
  const std::vector<Plan> plans = {plan_step(config, shipped_parts(), limits)};
  const std::vector<Json> best = rows_of_json(plan_report(plans), "rows");
  const std::string text = plan_text(plans);
  REQUIRE(best.size() == 3);
  for (const Json& one : best) {
    CHECK(shows_time(text, one["step_s"].get<double>()));
    CHECK(shows(text, 100 * one["mfu"].get<double>()));
  }
}

}  // namespace
}  // namespace fabricast::testing
