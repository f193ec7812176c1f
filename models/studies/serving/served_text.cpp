#include <fmt/format.h>

#include "models/studies/serving/served.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {
namespace {

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string load_line(const ServeConfig& c) {
  const OfferedLoad& load = *c.load;
  std::string out = load.rate > 0
                        ? fmt::format("{:g} requests/s at random (seed {})", load.rate, load.seed)
                        : counted(load.concurrency, "request") + " at a time";
  out += fmt::format(", {} in all, of {} + {} tokens", requests_of(load), load.prompt, load.output);
  if (load.spread > 0)
    out += fmt::format(", drawn from {:.0f} % of that up", 100 - 100 * load.spread);
  if (load.shared_prefix > 0)
    out += fmt::format(", {} of them a common prefix", load.shared_prefix);
  if (load.prefix_hit > 0)
    out += fmt::format(", {} of prompts cached", share_text(load.prefix_hit));
  return out;
}

std::string pools_line(const ServeConfig& c, const ServedLoad& load) {
  const auto several = [](int workers, const ServeLayout& layout) {
    return fmt::format("{} x ({})", workers, to_text(layout));
  };
  std::string out = several(c.workers, c);
  if (c.prefill)
    out = fmt::format("prefill {}, decode {}", several(c.prefill->workers, c.prefill->layout), out);
  return fmt::format("{} of {}: {}", out, to_text(*c.engine), counted(load.gpus, "GPU"));
}

std::string latency_table(const ServeFigures& f) {
  TextTable table;
  table.add({"", "mean", "p50", "p90", "p99"});
  for (std::size_t column = 1; column < 5; ++column) table.align_right(column);
  const auto add = [&](const char* name, const std::optional<LatencySpread>& one) {
    if (!one) return table.add({name, "-", "-", "-", "-"});
    table.add({name, time_text(one->mean), time_text(one->p50), time_text(one->p90),
               time_text(one->p99)});
  };
  add("time to first token (TTFT)", f.first_token);
  add("time per output token (TPOT)", f.per_token);
  add("between tokens (ITL)", f.between_tokens);
  add("whole request", f.whole);
  return table.text();
}

std::string limits_line(const ServeLimits& limits, const ServeFigures& f) {
  std::string asked;
  if (limits.first_token > 0) asked += "TTFT <= " + time_text(limits.first_token);
  if (limits.token > 0)
    asked += (asked.empty() ? "TPOT <= " : ", TPOT <= ") + time_text(limits.token);
  return fmt::format("{}: {} of requests, goodput {:.3g} requests/s, {:.0f} output tokens/s\n",
                     asked, share_text(f.within), f.goodput, f.output_goodput);
}

std::string load_text(const Served& result) {
  const ServeConfig& c = result.lone.config;
  const ServedLoad& load = *result.load;
  const ServeFigures& f = load.figures;
  std::string out = "\n" + load_line(c) + "\n" + pools_line(c, load) + "\n\n";
  out += latency_table(f);
  out += fmt::format(
      "\n{:.3g} requests/s; {:.0f} input and {:.0f} output tokens/s, {:.1f} and {:.1f} per GPU\n",
      f.requests_per_s, f.input_per_s, f.output_per_s, f.input_per_s / load.gpus,
      f.output_per_s / load.gpus);
  if (c.limits.any()) out += limits_line(c.limits, f);
  if (const auto usd = load.per_million(f.output_per_s))
    out += fmt::format(
        "{:.3g} USD per million output tokens, {:.3g} per million of all, at {:g} "
        "USD per GPU and hour\n",
        *usd, *load.per_million(f.output_per_s + f.input_per_s), *load.gpu_hour);
  const QueueResult& q = load.queue;
  out += fmt::format(
      "{:.1f} requests under way, {:.1f} of an engine between tokens; engines busy "
      "{}{}\n",
      q.in_flight, q.decoding, share_text(q.busy),
      c.prefill ? ", for prefill " + share_text(q.prefill_busy) : "");
  out += fmt::format("keys and values: at most {} of {} blocks of {} tokens, {} preemptions\n",
                     q.peak_blocks, load.blocks, c.rules.block_tokens, q.preemptions);
  if (c.prefill)
    out += fmt::format("transfer of a prompt's: {} at {:.1f} GB/s of a GPU, {}\n",
                       time_text(load.transfer), load.transfer_rate * 1e-9,
                       c.streams_layers ? "layer by layer while it is computed" : "afterwards");
  return out;
}

std::string candidates_text(const Served& result) {
  TextTable table;
  table.add({"layout", "engines", "GPUs", "within limits", "TTFT p90", "TPOT p90",
             "USD per million output", ""});
  for (std::size_t column = 1; column < 7; ++column) table.align_right(column);
  for (const FewestEngines& one : result.candidates) {
    if (one.workers == 0) {
      table.add({to_text(one.layout), "-", "-", "-", "-", "-", "-", one.why_not});
      continue;
    }
    const ServeFigures& f = one.load->figures;
    const auto usd = one.load->per_million(f.output_per_s);
    table.add({to_text(one.layout), fmt::format("{}", one.workers),
               fmt::format("{}", one.workers * one.layout.gpus()), share_text(f.within),
               time_text(f.first_token.p90), f.per_token ? time_text(f.per_token->p90) : "-",
               usd ? fmt::format("{:.3g}", *usd) : "-"});
  }
  return fmt::format("\nfewest GPUs for {:g} requests/s with {:.0f} % of requests within limits\n",
                     result.lone.config.load->rate, 100 * result.lone.config.limits.share) +
         table.text();
}

}  // namespace

std::string served_text(const Served& result) {
  std::string out = serve_text(result.lone);
  if (!result.candidates.empty()) return out + candidates_text(result);
  return result.load ? out + load_text(result) : out;
}

}  // namespace fabricast
