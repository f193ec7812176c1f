#include "models/io/report/columns.hpp"
#include "models/studies/serving/served.hpp"
#include "models/studies/training/training_reports.hpp"

namespace fabricast {
namespace {

using namespace column;

ReportTable queue_table(const Served& result) {
  const ServeConfig& c = result.lone.config;
  const ServedLoad& load = *result.load;
  const ServeFigures& f = load.figures;
  ReportTable out("queue", {whole("gpus"),
                            whole("workers"),
                            whole("prefill_workers"),
                            number("asked_requests_per_s"),
                            whole("concurrency"),
                            whole("requests"),
                            number("requests_per_s"),
                            number("input_tokens_per_s"),
                            number("output_tokens_per_s"),
                            number("output_tokens_per_s_per_gpu"),
                            number("within_limits"),
                            number("goodput_requests_per_s"),
                            number("goodput_tokens_per_s"),
                            number("usd_per_million_output_tokens", "USD"),
                            number("usd_per_million_tokens", "USD"),
                            number("in_flight"),
                            number("decoding"),
                            number("busy"),
                            number("prefill_busy"),
                            whole("peak_blocks"),
                            whole("blocks"),
                            whole("preemptions"),
                            s("transfer_s")});
  const auto usd = [&](double rate) { return or_null(load.per_million(rate)); };
  out.add({load.gpus,
           load.workers,
           c.prefill ? Json(c.prefill->workers) : Json(),
           c.load->rate > 0 ? Json(c.load->rate) : Json(),
           c.load->concurrency > 0 ? Json(c.load->concurrency) : Json(),
           f.requests,
           f.requests_per_s,
           f.input_per_s,
           f.output_per_s,
           f.output_per_s / load.gpus,
           f.within,
           f.goodput,
           f.output_goodput,
           usd(f.output_per_s),
           usd(f.output_per_s + f.input_per_s),
           load.queue.in_flight,
           load.queue.decoding,
           load.queue.busy,
           c.prefill ? Json(load.queue.prefill_busy) : Json(),
           load.queue.peak_blocks,
           load.blocks,
           load.queue.preemptions,
           c.prefill ? Json(load.transfer) : Json()});
  return out;
}

ReportTable latency_table_of(const ServeFigures& f) {
  ReportTable out("latency", {text("what"), s("mean_s"), s("p50_s"), s("p90_s"), s("p99_s")});
  const auto add = [&](const char* name, const std::optional<LatencySpread>& one) {
    if (one) return out.add({name, one->mean, one->p50, one->p90, one->p99});
    out.add({name, Json(), Json(), Json(), Json()});
  };
  add("ttft", f.first_token);
  add("tpot", f.per_token);
  add("itl", f.between_tokens);
  add("request", f.whole);
  return out;
}

ReportTable candidates_table(const std::vector<FewestEngines>& candidates) {
  ReportTable out("candidates",
                  {whole("tp"), whole("pp"), whole("ep"), whole("dp"), whole("workers"),
                   whole("gpus"), number("within_limits"), s("ttft_p90_s"), s("tpot_p90_s"),
                   number("usd_per_million_output_tokens", "USD"), text("why_not")});
  for (const FewestEngines& one : candidates) {
    const ServeLayout& l = one.layout;
    std::vector<Json> cells = {l.tensor, l.pipeline, l.expert, l.copies()};
    if (one.workers == 0) {
      cells.insert(cells.end(), 6, Json());
    } else {
      const ServeFigures& f = one.load->figures;
      for (const Json& cell :
           {Json(one.workers), Json(one.workers * l.gpus()), Json(f.within),
            Json(f.first_token.p90), f.per_token ? Json(f.per_token->p90) : Json(),
            or_null(one.load->per_million(f.output_per_s))})
        cells.push_back(cell);
    }
    cells.push_back(one.why_not);
    out.add(std::move(cells));
  }
  return out;
}

}  // namespace

Report served_report(const Served& result) {
  Report out = serve_report(result.lone);
  const ServeConfig& c = result.lone.config;
  if (c.load) {
    Json& ask = out.job["ask"];
    ask["engine"] = to_text(*c.engine);
    if (c.load->rate > 0) ask["requests_per_s"] = c.load->rate;
    if (c.load->concurrency > 0) ask["concurrency"] = c.load->concurrency;
    ask["spread"] = c.load->spread;
    ask["workers"] = c.workers;
    ask["first_token_limit_s"] = c.limits.first_token;
    ask["token_limit_s"] = c.limits.token;
    out.seed = c.load->seed;
  }
  if (!result.candidates.empty()) out.tables.push_back(candidates_table(result.candidates));
  if (!result.load) return out;
  out.tables.push_back(queue_table(result));
  out.tables.push_back(latency_table_of(result.load->figures));
  return out;
}

}  // namespace fabricast
