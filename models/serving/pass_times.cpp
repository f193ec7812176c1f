#include "models/serving/pass_times.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

constexpr int kEach = 16;          // up to so many tokens, every number
constexpr int kStepsOfOctave = 4;  // then the fourth root of two

/// All powers of two are in it: prompts and batches are often those, and kernels, which round up
/// to tiles, are at their best there.
std::vector<double> grid(double most) {
  std::vector<double> out;
  double tokens = 1;
  for (int step = 0; tokens < most;) {
    out.push_back(tokens);
    if (tokens < kEach)
      ++tokens;
    else
      tokens = std::round(kEach * std::exp2(static_cast<double>(++step) / kStepsOfOctave));
  }
  out.push_back(std::max(most, tokens));
  return out;
}

}  // namespace

ServeTime PassTimes::Table::at(double asked) const {
  if (asked <= 0) return {};
  const auto next = std::ranges::lower_bound(tokens, asked);
  const auto right =
      std::min<std::size_t>(static_cast<std::size_t>(next - tokens.begin()), tokens.size() - 1);
  if (right == 0) return times[0];
  const double share = (asked - tokens[right - 1]) / (tokens[right] - tokens[right - 1]);
  return ((1 - share) * times[right - 1]) += share * times[right];
}

double launches_of(const Transformer& model) {
  const bool is_recurrent = model.local && model.local->recurrent;
  const int states = is_recurrent ? model.layers - model.global_layers() : 0;
  const double experts = model.experts && model.experts->shared_ffn > 0 ? 14.0 : 10.0;
  return model.layers * (model.latent ? 26.0 : 10.0) + model.moe_layers() * experts + states * 36.0;
}

ServeTime hosted(ServeTime out, const EngineHost& host, double requests, double launches) {
  out.gemm *= host.gemm;
  out.attention *= host.attention;
  out.elementwise *= host.elementwise;
  for (double* part : {&out.tensor, &out.expert, &out.pipeline}) *part *= host.communication;
  const double waits = std::max(0.0, host.kernel * launches - (out.total() - out.host));
  out.host = waits + (host.pass + host.request * requests);
  return out;
}

PassTimes::PassTimes(const ServeSetup& setup, double tokens_max, CollectiveTimes& collectives)
    : setup_(setup) {
  alone_.tokens = grid(tokens_max);
  even_.tokens = logits_.tokens = alone_.tokens;
  for (const double tokens : alone_.tokens) {
    alone_.times.push_back(layers_time(setup_, tokens, tokens, collectives));
    even_.times.push_back(setup_.copies() > 1
                              ? layers_time(setup_, tokens, tokens * setup_.copies(), collectives)
                              : alone_.times.back());
    logits_.times.push_back(logits_time(setup_, tokens, collectives));
  }
}

double PromptLaunches::of(const ServeSetup& setup, double tokens) const {
  constexpr double kCompiled = 0.1;
  if (tokens <= graph_tokens) return 0;
  return (launches_of(setup.model) + quantising_kernels(setup, tokens)) *
         (compiled ? kCompiled : 1);
}

ServeTime PassTimes::at(const ServeBatch& asked, const EngineHost& host,
                        const PromptLaunches& launches) const {
  const ServeBatch batch = batch_of_stage(setup_, asked);
  const double tokens = batch.tokens();
  ServeTime out = alone_.at(tokens);
  if (setup_.copies() > 1 && tokens > 0) {
    const double even =
        std::clamp((batch.all_tokens / tokens - 1) / (setup_.copies() - 1), 0.0, 1.0);
    out = ((1 - even) * out) += even * even_.at(tokens);
  }
  out += logits_.at(batch.rows());
  out.attention += attention_time(setup_, batch);
  hide_experts(setup_, out);
  const double launched = batch.prompt_tokens > 0 ? launches.of(setup_, asked.tokens()) : 0;
  return hosted(out, host, batch.prompts + batch.decodes, launched);
}

}  // namespace fabricast
