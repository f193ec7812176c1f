// Goal: TensorRT-LLM's published throughput at maximum load is read as trtllm-bench ran it.
// Method: its settings by hand; rows of docs/source/performance/perf-overview.md at 00f37686.

#include <doctest/doctest.h>

#include <string>

#include "models/studies/serving/max_load_rows.hpp"
#include "models/studies/serving/validate_serving.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

const std::string kHeader =
    "trtllm_version,model,gpu,gpu_mem_gb,dtype,tp,pp,input_len,output_len,"
    "output_tokens_per_s_total\n";

ServingRows rows_of(const std::string& rows) { return read_serving_rows(kHeader + rows, "m.csv"); }

}  // namespace

TEST_CASE("max load: requests and tokens of a pass are what trtllm-bench sets") {
  const auto is = [](BenchSettings found, int requests_max, int token_budget) {
    CHECK(found.requests_max == requests_max);
    CHECK(found.token_budget == token_budget);
  };
  is(bench_settings(10, 1000, 1000, 1), 64, 2048);      // the least of both
  is(bench_settings(200, 128, 2048, 1), 224, 2048);     // in steps of 32
  is(bench_settings(477, 2048, 128, 1), 512, 8192);     // of 128; 477 x 17 = 8,109 tokens
  is(bench_settings(1550, 1000, 1000, 1), 1792, 3328);  // of 256, both
  is(bench_settings(1550, 5000, 500, 1), 1792, 17408);  // of 1,024
  is(bench_settings(1e6, 1000, 1, 1), 4096, 32768);     // the most of both
  is(bench_settings(1e6, 128, 128, 8), 512, 2048);      // a stage has its share
}

TEST_CASE("max load: rows say release, layout, load and settings") {
  const ServingRows read = rows_of(
      "1.0,llama3.3-70b,H200,141,fp8,1,1,1000,1000,2909\n"
      "0.19,qwen3-235b-a22b,H100,80,fp8,8,1,5000,500,3225\n");
  REQUIRE(read.rows.size() == 2);
  const ServingRow& dense = read.rows[0];
  CHECK(dense.mode == "max load");
  CHECK(dense.framework == "trtllm");
  CHECK(*dense.output_per_s == 2909);
  CHECK(!dense.token);
  const ServeConfig& config = dense.config;
  CHECK(to_text(*config.engine) == "trtllm 1.0.0");
  CHECK(config.site.topology == "hgx-h200");
  CHECK(config.site.layout.precision == Precision::fp8);
  CHECK(config.load->concurrency == 3000);
  CHECK(config.load->requests == 3000);
  CHECK(*config.memory_share == 0.95);
  // 141 GiB less 70.6 GB leave room for 234 requests of 2,000 tokens x 80 x 2 x 8 x 128 B.
  CHECK(config.rules.requests_max == 256);
  CHECK(config.rules.token_budget == 2048);
  CHECK(config.rules.chunks);
  // Models with experts have copies of attention.
  CHECK(to_text(static_cast<const ServeLayout&>(read.rows[1].config)) == "TP 1, PP 1, EP 8");
  CHECK(read.rows[1].config.copies() == 8);
}

TEST_CASE("max load: what cannot be asked is left out and counted") {
  const ServingRows read = rows_of(
      "1.0,nemotron-ultra,B200,180,nvfp4,8,1,128,128,1\n"
      "1.0,llama3.1-8b,H100,80,bf16,1,1,128,128,1\n"
      "1.0,llama3.1-8b,V100,32,fp8,1,1,128,128,1\n"
      "1.0,llama3.1-8b,H100,,fp8,1,1,128,128,1\n"
      "1.0,llama3.1-8b,H100,80,fp8,,1,128,128,1\n");
  CHECK(read.rows.empty());
  CHECK(read.left_out.size() == 5);
  CHECK(read.left_out.at("no shape of nemotron-ultra") == 1);
  CHECK(read.left_out.at("precision bf16") == 1);
  CHECK(read.left_out.at("no topology of v100") == 1);
  CHECK(read.left_out.at("gpu_mem_gb is not given") == 1);
  CHECK(read.left_out.at("tp is not given") == 1);
  CHECK(error_text([] {
          read_serving_rows("gpu,output_tokens_per_s_total\nH100,1\n", "m.csv");
        }).find("trtllm_version") != std::string::npos);
}

// 28,312 tokens/s, within a tenth.
TEST_CASE("max load: a published throughput is predicted") {
  ValidateServingConfig config;
  config.measured = rows_of("1.0,llama3.1-8b,H100,80,fp8,1,1,128,128,28312\n");
  const ServingValidation found = validate_serving(config, shipped_parts(), in_turn);
  REQUIRE(found.predictions.size() == 1);
  CHECK(found.predictions[0].shipped.output_per_s == doctest::Approx(28312).epsilon(0.1));
}
