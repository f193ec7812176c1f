// Goal: what a fit has not seen does not move what it predicts.
// Method: four published rows of two models (aiconfigurator, tests/cli/files/serving.csv), with the
// times of one model as measured and three times as long.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/studies/serving/validate_serving.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/catalogue.hpp"

using namespace fabricast;

namespace {

/// `slow`: the factor on the times of the smaller model.
std::string rows_of_two_models(double slow) {
  std::string out =
      "id,model,system,framework,framework_version,precision,mode,input_len,output_len,"
      "concurrency,batch_size,gpus,tp,ep,dp_attention,src_prefill_num_workers,src_prefill_tp_size,"
      "src_prefill_pp_size,src_prefill_attention_dp_size,src_prefill_moe_ep_size,"
      "src_decode_num_workers,src_decode_tp_size,src_decode_pp_size,src_decode_attention_dp_size,"
      "src_decode_moe_ep_size,ttft_ms,tpot_ms,source,notes\n";
  const auto add = [&](const char* what, const char* load, double ttft_ms, double tpot_ms) {
    out += fmt::format("{},agg,{},1,0,,,,,,,,,,,{},{},s,\n", what, load, ttft_ms, tpot_ms);
  };
  const char* const small = "a,meta-llama/Llama-3.1-8B-Instruct,h100_sxm,trtllm,1.0.0rc3,";
  const char* const large = "b,meta-llama/Llama-3.1-70B,h100_sxm,trtllm,,fp8";
  add(small, "1024,128,8,8,2,2", 129.441 * slow, 5.2125 * slow);
  add(small, "2048,256,32,32,2,2", 166.791 * slow, 9.6588 * slow);
  add(large, "1024,8192,16,16,8,8", 93.184, 11.584);
  add(large, "1024,8192,8,8,8,8", 82.266, 9.815);
  return out;
}

ServingValidation validated(const std::string& csv) {
  ValidateServingConfig config;
  config.measured = read_serving_rows(csv, "serving.csv");
  config.leave_out = true;
  return validate_serving(config, shipped_parts(), in_turn);
}

}  // namespace

TEST_CASE("validate serving: a model's own times do not move what a fit without it predicts") {
  const ServingValidation as_measured = validated(rows_of_two_models(1));
  // By less than what makes the fit disbelieve a row.
  const ServingValidation slower = validated(rows_of_two_models(1.3));
  REQUIRE(as_measured.predictions.size() == 4);
  REQUIRE(slower.predictions.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& one = as_measured.predictions[i].unseen;
    const auto& other = slower.predictions[i].unseen;
    REQUIRE(one);
    REQUIRE(other);
    CHECK(one->token > 0);
    CHECK(one->token < 1);
    if (i < 2)
      CHECK(other->token == one->token);
    else
      CHECK(other->token > one->token);  // the engine of the other model was slower
  }
}

TEST_CASE("validate serving: of one model nothing can be left out, and the text says so") {
  const std::string csv = rows_of_two_models(1);
  const ServingValidation alone = validated(csv.substr(0, csv.find("\nb,") + 1));
  REQUIRE(alone.predictions.size() == 2);
  CHECK(!alone.predictions[0].unseen);
  CHECK(validate_serving_text(alone).find("No row is of another model: there is nothing") !=
        std::string::npos);
}

TEST_CASE("validate serving: files are compared together, and without a model by all of them") {
  const std::string both = rows_of_two_models(1);
  const std::size_t header = both.find('\n') + 1, large = both.find("b,meta-llama");
  ValidateServingConfig config;
  config.measured = read_serving_rows(both.substr(0, large), "small.csv");
  config.measured.append(read_serving_rows(both.substr(0, header) + both.substr(large), "b.csv"));
  config.leave_out = true;
  const ServingValidation apart = validate_serving(config, shipped_parts(), in_turn);
  const ServingValidation together = validated(both);
  REQUIRE(apart.predictions.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(apart.predictions[i].unseen);
    CHECK(apart.predictions[i].unseen->token == together.predictions[i].unseen->token);
    CHECK(apart.predictions[i].unseen->output_per_s ==
          together.predictions[i].unseen->output_per_s);
  }
}
