// Goal: a fit of an engine's figures finds what made its rows, from the prior alone, and rows that
// measure something else have no say. What launch scripts say of rows is read.
// Method: rows made from known figures by a formula; published settings.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/io/workloads/load_serving_pools.hpp"
#include "models/studies/serving/inferencex_pools.hpp"
#include "models/studies/serving/serving_fit.hpp"
#include "models/studies/serving/serving_rows.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

/// Rows in which each figure is the largest part of some: logarithms of what they take.
Vector times_of(const EnginePrior& prior, const EngineHost& host) {
  Vector out;
  for (int row = 0; row < 90; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < kEngineFigures.size(); ++i) {
      const double part = host.*kEngineFigures[i].member / prior.value.*kEngineFigures[i].member;
      sum += (row % 9 == static_cast<int>(i) ? 20 : 1 + row % 3) * part;
    }
    out.push_back(std::log(sum));
  }
  return out;
}

struct Made {
  EnginePrior prior = load_serving().prior;
  EngineHost truth;
  Vector measured;

  Made() {
    Vector x;
    for (std::size_t i = 0; i < kEngineFigures.size(); ++i)
      x.push_back((i % 2 == 0 ? 0.5 : -0.5) * std::log(prior.within.*kEngineFigures[i].member));
    truth = moved(prior, x);
    measured = times_of(prior, truth);
  }
  HostResiduals residuals() const {
    return [this](const EngineHost& host) {
      Vector out = times_of(prior, host);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] -= measured[i];
      return out;
    };
  }
};

double off(const EngineHost& host, const EngineHost& truth) {
  double out = 0;
  for (const EngineFigure& figure : kEngineFigures)
    out = std::max(out, std::abs(std::log(host.*figure.member / truth.*figure.member)));
  return out;
}

ServingRow row_of(const std::string& what,
                  const std::string& head = "deepseek-ai/DeepSeek-R1,b200_sxm,trtllm") {
  const std::string csv =
      "id,model,system,framework,framework_version,date,precision,mode,input_len,output_len,"
      "concurrency,batch_size,gpus,tp,ep,dp_attention,ttft_ms,tpot_ms,source,notes\n"
      "a," +
      head + "," + what + ",100,10,db,\n";
  const ServingRows rows = read_serving_rows(csv, "rows.csv");
  REQUIRE(rows.rows.size() == 1);
  return rows.rows[0];
}

}  // namespace

TEST_CASE("serving fit: the figures that made the rows are found from the prior") {
  const Made made;
  const Vector weights(made.measured.size(), 1);
  const EngineHost found = best_host(made.prior, made.residuals(), weights);
  CHECK(off(moved(made.prior, Vector(kEngineFigures.size())), made.truth) > 0.5);
  CHECK(off(found, made.truth) < 0.12);
  // From anywhere else a fit is no worse.
  EngineHost far = made.truth;
  far.pass *= 5;
  CHECK(off(best_host(made.prior, made.residuals(), weights, far), made.truth) < 0.12);
  CHECK(off(best_host(made.prior, made.residuals(), weights, made.truth), made.truth) < 0.12);
  // Once more from what was found: a linear step of the same fit stays where it is.
  const ServingSlopes there = linearised(made.prior, found, made.residuals());
  CHECK(off(linear_best(made.prior, there, weights), found) < 0.05);
}

TEST_CASE("serving fit: rows of weight 0 and rows that are far off have no say") {
  Made made;
  Vector weights(made.measured.size(), 1);
  const EngineHost clean = best_host(made.prior, made.residuals(), weights);
  made.measured[3] += 3;  // 20 times as slow
  const EngineHost disbelieved = best_host(made.prior, made.residuals(), weights);
  CHECK(off(disbelieved, clean) < 0.02);
  weights[3] = 0;
  CHECK(off(best_host(made.prior, made.residuals(), weights), disbelieved) < 0.02);
  // A row that is off by less pulls.
  weights[3] = 1;
  made.measured[3] += 0.3 - 3;
  CHECK(off(best_host(made.prior, made.residuals(), weights), clean) > 1e-4);
  CHECK(believed({1, 1, 0}, {0.4, -0.6, 0.1}) == Vector{1, 0, 0});
}

TEST_CASE("serving fit: a prior says how far off it may be, and more than nothing") {
  const Made made;
  const Vector zero(kEngineFigures.size());
  CHECK(logarithms(made.prior, moved(made.prior, Vector(kEngineFigures.size(), 0.25)))[2] ==
        doctest::Approx(0.25));
  CHECK(moved(made.prior, zero).pass == made.prior.value.pass);
  const auto file = [](const char* pass) {
    std::string figures, prior;
    for (std::size_t i = 0; i < kEngineFigures.size(); ++i) {
      const char* const value = kEngineFigures[i].is_time ? "1 us" : "1";
      const auto add = [&](std::string& to, const char* more) {
        to += fmt::format("{}{}: {{value: {}{}, source: s, status: assumed}}", i > 0 ? ", " : "",
                          kEngineFigures[i].name, i == 0 && *more ? pass : value, more);
      };
      add(figures, "");
      add(prior, ", within: 2");
    }
    return fmt::format(
        "kind: serving\nsources: {{s: {{what: w}}}}\nprior: {{{}}}\nengines: {{vllm: {{{}}}, "
        "sglang: "
        "{{{}}}, trtllm: {{{}}}}}\ntransfer: {{block: {{value: 1 us, source: s, status: assumed}}, "
        "start: {{value: 1 us, source: s, status: assumed}}}}\n",
        prior, figures, figures, figures);
  };
  CHECK(parse_serving(file("3 us"), "s.yaml").prior.value.pass == doctest::Approx(3e-6));
  CHECK(parse_serving(file("3 us"), "s.yaml").prior.within.gemm == 2);
  CHECK(error_text([&] { parse_serving(file("0 us"), "s.yaml"); }).find("prior.pass.value") !=
        std::string::npos);
}

TEST_CASE("serving rows: releases that InferenceX runs with drafts have them") {
  const auto rules = [](const std::string& version, const std::string& date, int copies) {
    return row_of(fmt::format("{},{},fp8,agg,1024,1024,64,{},8,8,8,{}", version, date,
                              copies > 1 ? 8 : 64, copies > 1 ? 1 : 0))
        .config.rules;
  };
  const BatchRules with = rules("1.2.0rc6.post3", "2026-02-05", 1);
  CHECK(with.drafts == 3);
  CHECK(with.requests_max == 64);
  CHECK(with.token_budget == 64 * 4 + 1024 + 64);  // MAX_NUM_TOKENS: (MTP + 1) x batch + ISL + 64
  const BatchRules copies = rules("1.2.0rc6.post3", "2026-02-05", 8);
  CHECK(copies.drafts == 1);
  CHECK(copies.requests_max == 8);
  CHECK(rules("1.1.0rc2.post2", "2026-01-14", 1).drafts == 3);
  for (const auto& [version, date] :
       {std::pair("1.1.0rc2.post2", "2025-12-15"), std::pair("1.2.0rc6.post2", "2026-01-29")}) {
    CHECK(rules(version, date, 1).drafts == 0);
    CHECK(rules(version, date, 1).token_budget == 64 + 1024 + 64);
  }
}

TEST_CASE("serving rows: budgets and graphs of prompts are those of InferenceX's scripts") {
  const auto rules = [](const std::string& head, const std::string& version,
                        const std::string& precision, int prompt, int requests, int ep = 1) {
    return row_of(fmt::format("{},2026-01-29,{},agg,{},1024,{},{},8,8,{},0", version, precision,
                              prompt, requests, requests, ep),
                  head)
        .config.rules;
  };
  const std::string deepseek = "deepseek-ai/DeepSeek-R1,b200_sxm,trtllm",
                    llama = "meta-llama/Llama-3.1-70B,b200_sxm,",
                    gpt = "openai/gpt-oss-120b,b200_sxm,";
  // PIECEWISE_CUDA_GRAPHS: 8 bits from 64 requests on, of 4 bits with TP 8 and EP 8 of 1k/1k.
  CHECK(rules(deepseek, "1.2.0rc6.post2", "fp8", 1024, 32).launches.graph_tokens == 0);
  CHECK(rules(deepseek, "1.2.0rc6.post2", "fp8", 1024, 64).launches.graph_tokens == 64 + 1024 + 64);
  CHECK(rules(deepseek, "1.1.0rc2.post2", "fp8", 1024, 64).launches.graph_tokens == 0);
  CHECK(rules(deepseek, "1.2.0rc6.post2", "fp4", 1024, 64).launches.graph_tokens == 0);
  CHECK(rules(deepseek, "1.2.0rc6.post2", "fp4", 1024, 64, 8).launches.graph_tokens ==
        64 + 1024 + 64);
  CHECK(rules(deepseek, "1.2.0rc6.post2", "fp4", 8192, 64, 8).launches.graph_tokens == 0);
  // With three drafts 1k/1k above 4 requests.
  CHECK(rules(deepseek, "1.2.0rc6.post3", "fp8", 1024, 4).launches.graph_tokens == 0);
  CHECK(rules(deepseek, "1.2.0rc6.post3", "fp8", 1024, 8).launches.graph_tokens ==
        8 * 4 + 1024 + 96);
  CHECK(rules(llama + "trtllm", "", "fp8", 1024, 8).token_budget == 16384);
  CHECK(rules(gpt + "trtllm", "", "fp4", 1024, 8).token_budget == 20000);
  CHECK(rules(llama + "vllm", "", "fp8", 1024, 8).launches.graph_tokens == 0);
  CHECK(!rules(llama + "vllm", "", "fp8", 1024, 8).launches.compiled);
  CHECK(rules("meta-llama/Llama-3.1-70B,h100_sxm,vllm", "", "fp8", 1024, 8).launches.compiled);
  CHECK(rules("meta-llama/Llama-3.1-70B,h100_sxm,vllm", "", "fp8", 1024, 8).launches.graph_tokens ==
        512);
  CHECK(rules(gpt + "vllm", "0.15.1", "fp4", 1024, 8).launches.graph_tokens == 2048);
  CHECK(rules(gpt + "vllm", "0.15.1", "fp4", 1024, 8).ahead);  // async-scheduling
}

TEST_CASE("serving rows: SGLang has drafts where no other configuration of InferenceX is") {
  const auto rules = [](const std::string& model, const std::string& precision, int prompt,
                        int requests, int tp, int ep) {
    return row_of(fmt::format("0.5.9,2026-03-25,{},agg,{},1024,{},{},{},{},{},0", precision, prompt,
                              requests, requests, tp, tp, ep),
                  model + ",b200_sxm,sglang")
        .config.rules;
  };
  const std::string deepseek = "deepseek-ai/DeepSeek-R1", qwen = "Qwen/Qwen3.5-397B-A17B";
  CHECK(rules(deepseek, "fp8", 1024, 64, 8, 1).drafts == 0);  // both configurations have it
  CHECK(rules(deepseek, "fp8", 1024, 64, 8, 1).ahead);
  CHECK(rules(deepseek, "fp8", 1024, 128, 8, 1).drafts == 2);
  CHECK(!rules(deepseek, "fp8", 1024, 128, 8, 1).ahead);
  CHECK(rules(deepseek, "fp8", 8192, 4, 8, 1).drafts == 0);
  CHECK(rules(deepseek, "fp8", 8192, 8, 8, 1).drafts == 2);
  CHECK(rules(deepseek, "fp4", 1024, 128, 8, 8).drafts == 0);
  CHECK(rules(deepseek, "fp8", 8192, 8, 4, 1).token_budget == 8192);
  CHECK(rules(deepseek, "fp8", 8192, 8, 8, 1).token_budget == 32768);
  CHECK(rules(qwen, "fp8", 1024, 4, 4, 1).drafts == 3);
  CHECK(rules(qwen, "fp8", 1024, 4, 4, 4).drafts == 0);
  CHECK(rules(qwen, "fp8", 1024, 4, 8, 1).drafts == 0);
}

TEST_CASE("serving rows: decode engines of InferenceX's pools have the places of their recipes") {
  // ctx1_gen4_tep8_batch32 of 12 to 192 requests at a time on GB200 in nvfp4, 1k/1k.
  ServeConfig config;
  config.engine = newest(Engine::trtllm);
  config.site.model = load_transformer("deepseek-v3");
  config.site.topology = "gb200-nvl72";
  config.site.layout.precision = Precision::nvfp4;
  config.prompt = config.output = 1024;
  config.workers = 4;
  config.tensor = 8;
  config.data = 1;
  config.load = OfferedLoad{};
  config.load->concurrency = 96;
  CHECK(decode_places(config) == 32);
  config.load->concurrency = 5;
  CHECK(decode_places(config) == 1);
  config.load->concurrency = 193;
  CHECK(!decode_places(config));
  config.load->concurrency = 96;
  config.site.layout.precision = Precision::fp8;
  CHECK(!decode_places(config));
}

TEST_CASE("serving pools: the file that travels has each recipe once, and mistakes are placed") {
  CHECK(load_serving_pools().size() == 61);
  const auto file = [](const std::string& recipes) {
    return "kind: serving_pools\nsources: {s: {what: w}}\npools:\n  - {topology: t, precision: "
           "fp8, "
           "prompt: 8, output: 4, source: s, status: assumed, recipes: [" +
           recipes + "]}\n";
  };
  const auto error = [&](const std::string& recipes) {
    return error_text([&] { parse_serving_pools(file(recipes), "p.yaml"); });
  };
  const auto read = parse_serving_pools(file("{workers: 2, gpus: 8, from: 1, to: 9, places: 3}, "
                                             "{workers: 2, gpus: 8, from: 10, to: 10, places: 4}"),
                                        "p.yaml");
  REQUIRE(read.size() == 2);
  CHECK(read[1].places == 4);
  CHECK(read[1].precision == Precision::fp8);
  CHECK(!read[0].overlaps(read[1]));
  CHECK(error("{workers: 2, gpus: 8, from: 9, to: 1, places: 3}").find("pools[0].recipes[0].to") !=
        std::string::npos);
  CHECK(error("{workers: 2, gpus: 8, from: 1, to: 9, places: 3}, "
              "{workers: 2, gpus: 8, from: 9, to: 9, places: 3}")
            .find("pools[0].recipes[1].from") != std::string::npos);
  CHECK(error("{workers: 2, gpus: 8, from: 1, to: 9}").find("places") != std::string::npos);
}
