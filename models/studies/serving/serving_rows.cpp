#include "models/studies/serving/serving_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>

#include "models/io/formats/csv_table.hpp"
#include "models/nccl/base/members.hpp"
#include "models/studies/serving/inferencex.hpp"
#include "models/studies/serving/max_load_rows.hpp"
#include "models/studies/serving/measured_names.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr int kRequestsMost = 1'000'000, kRounds = 10;

class RowReader {
 public:
  RowReader(const CsvRow& in, bool is_run) : in_(in), is_run_(is_run) {}

  ServingRow read() {
    ServingRow out;
    out.id = in_.text_or_blank("id");
    const std::string& notes = in_.text_or_blank("notes");
    if (notes.find("suspect") != std::string::npos) throw PassedRow{"noted as suspect"};
    if (notes.find("do not score") != std::string::npos) throw PassedRow{"noted: do not score"};
    if (is_run_ && in_.text("scenario") != "fixed-sequence")
      throw PassedRow{"agentic traces: lengths are not given"};
    if (!in_.text_or_blank("spec_decoding").empty())
      throw PassedRow{"speculative decoding, its acceptance is not given"};
    out.model = in_.text("model");
    out.config.site.model = load_transformer(measured_model(out.model));
    out.system = in_.text(is_run_ ? "gpu" : "system");
    out.framework = in_.text("framework");
    out.mode = is_run_ ? (in_.text_or_blank("disagg") == "1" ? "disagg" : "agg") : in_.text("mode");
    out.build = build();
    engine(out.config);
    precision(out.config);
    layout(out);
    load(out.config);
    if (is_inferencex() || is_tuned())
      set_inferencex({in_.text_or_blank("framework_version"), in_.text_or_blank("date")},
                     out.config);
    if (!is_run_ && !is_inferencex() && !out.config.prefill) generated(out.config);
    times(out);
    return out;
  }

 private:
  std::optional<int> whole(std::string_view column) const {
    return in_.whole(column, 0, kRequestsMost);
  }
  int needed(std::string_view column) const {
    const std::optional<int> out = whole(column);
    if (!out || *out < 1) throw PassedRow{fmt::format("{} is not given", column)};
    return *out;
  }

  std::string build() const {
    const std::string& version = in_.text_or_blank("framework_version");
    const std::string all = lower_case(
        fmt::format("{} {} {}", version, in_.text_or_blank("image"), in_.text_or_blank("notes")));
    if (all.find("nightly") != std::string::npos) return "nightly";
    return version.empty() ? "not named" : "release";
  }

  const MeasuredSystem& system() const {
    return measured_system(in_.text(is_run_ ? "gpu" : "system"));
  }

  void engine(ServeConfig& out) const {
    const std::string& name = in_.text("framework");
    const auto& words = kEngineWords.words;
    if (std::ranges::find(words, name) == words.end())
      throw PassedRow{fmt::format("no engine {}", name)};
    out.engine = newest(kEngineWords.parse("framework", name));
    const std::string& version = in_.text_or_blank("framework_version");
    try {
      if (!version.empty()) out.engine = parse_engine(fmt::format("{}:{}", name, version));
    } catch (const Error&) {
      // Nightly builds: the newest.
    }
    out.rules = engine_rules(*out.engine);
  }

  void precision(ServeConfig& out) const {
    const std::string& text = in_.text("precision");
    Precision& to = out.site.layout.precision;
    if (text.empty() || text == "bf16") {
      to = Precision::bf16;
    } else if (text == "fp8") {
      to = Precision::fp8;
    } else if (text == "fp4") {
      to = Precision::nvfp4;
    } else {
      throw PassedRow{fmt::format("precision {}", text)};
    }
    // vLLM and SGLang keep keys and values in 16 bits unless told otherwise; InferenceX tells them
    // on Blackwell.
    constexpr std::string_view kBefore[] = {"dgx-a100", "dgx-h100", "hgx-h200", "pcie-8"};
    const bool before = std::ranges::find(kBefore, system().topology) != std::end(kBefore);
    if (before && out.engine->engine != Engine::trtllm) out.cache_element = 2;
  }

  ServeLayout pool(std::string_view side) const {
    const auto column = [&](std::string_view name) { return fmt::format("src_{}_{}", side, name); };
    ServeLayout out;
    out.tensor = needed(column("tp_size"));
    out.pipeline = whole(column("pp_size")).value_or(1);
    out.data = std::max(1, whole(column("attention_dp_size")).value_or(1));
    out.expert = std::max(1, whole(column("moe_ep_size")).value_or(1));
    return out;
  }

  void layout(ServingRow& out) const {
    ServeConfig& config = out.config;
    ServeLayout& main = config;
    int gpus = 0;
    if (out.mode == "disagg") {
      if (is_run_) throw PassedRow{"disaggregated, pools are not given"};
      config.prefill = PrefillPool{pool("prefill"), needed("src_prefill_num_workers"), 16384};
      main = pool("decode");
      config.workers = needed("src_decode_num_workers");
      gpus = config.prefill->layout.gpus() * config.prefill->workers;
    } else {
      const bool copies = in_.text_or_blank("dp_attention") == "1";
      const int all = whole("gpus").value_or(needed("tp"));
      main.tensor = copies ? 1 : needed("tp");
      main.data = copies ? all : 1;
      main.expert = config.site.model.experts ? whole("ep").value_or(1) : 1;
    }
    gpus += main.gpus() * config.workers;
    set_nodes(system(), gpus, config.site);
  }

  void load(ServeConfig& out) const {
    OfferedLoad load;
    load.concurrency = needed("concurrency");
    load.prompt = needed("input_len");
    load.output = needed("output_len");
    // InferenceX draws lengths between 0.8 and 1 times the nominal ones. Dynamo's runs have them
    // all alike (genai-perf with deviations of 0, and sglang.bench_serving with a range ratio of 1:
    // aiconfigurator, eval/benchmarks at 5e161875). Both have ten requests for each that is under
    // way.
    load.spread = is_inferencex() ? 0.2 : 0;
    if (is_run_) {
      const auto mean_in = in_.positive("mean_input_tokens"),
                 mean_out = in_.positive("mean_output_tokens");
      load.spread = 0;
      // Even between 1 - spread and 1 times the longest: the mean says how far they spread.
      if (mean_in) load.spread = std::clamp(2 * (1 - *mean_in / load.prompt), 0.0, 1.0);
      if (mean_out)
        load.output = std::max(1, static_cast<int>(*mean_out / (1 - load.spread / 2) + 0.5));
    }
    load.requests = whole("requests").value_or(kRounds * load.concurrency);
    // Of several engines behind one address each has its share.
    const auto batch = whole("batch_size");
    if (!out.prefill && batch && *batch * out.copies() < load.concurrency)
      load.concurrency = std::max(1, *batch * out.copies());
    out.prompt = load.prompt;
    out.output = load.output;
    out.load = load;
  }

  /// Runs of InferenceX's developers that say so, by its launch scripts.
  bool is_tuned() const {
    const std::string& notes = in_.text_or_blank("notes");
    return is_run_ && notes.find("tuned") != std::string::npos &&
           notes.find("untuned") == std::string::npos;
  }

  bool is_inferencex() const {
    return !is_run_ && !in_.text_or_blank("source").starts_with("dynamo");
  }

  /// Engines of Dynamo's runs have what aiconfigurator's generator writes
  /// (ai-dynamo/aiconfigurator, generator/rule_plugin/benchmark/trtllm.rule at 581e4591:
  /// max_num_tokens is max_batch_size + isl + 1500). For vLLM its template
  /// (backend_templates/vllm/cli_args.0.12.0.j2 at 11324a64) names no budget: assumed is what
  /// vLLM's SchedulerConfig has where nobody says, 2048. They name checkpoints in 16 bits, which
  /// have no scales of inputs (Qwen/Qwen3-32B in fp8).
  static void generated(ServeConfig& out) {
    constexpr int kSpare = 1500, kUnsaid = 2048;
    if (out.engine->engine == Engine::trtllm)
      out.rules.token_budget = out.load->concurrency + out.prompt + kSpare;
    if (out.engine->engine == Engine::vllm) out.rules.token_budget = kUnsaid;
    out.finds_scales = true;
  }

  void times(ServingRow& out) const {
    const auto ms = [&](std::string_view column) {
      const auto value = in_.positive(column);
      return value ? std::optional(*value * 1e-3) : std::nullopt;
    };
    out.medians = is_run_;
    out.first_token = ms(is_run_ ? "median_ttft_ms" : "ttft_ms");
    out.token = ms(is_run_ ? "median_tpot_ms" : "tpot_ms");
    if (is_run_) out.output_per_s = in_.positive("output_tok_s");
  }

  const CsvRow& in_;
  bool is_run_;
};

/// Those that a table must have.
std::span<const std::string_view> columns_of(bool is_max_load, bool is_run) {
  if (is_max_load) return kMaxLoadColumns;
  static constexpr std::array<std::string_view, 8> kOfRuns = {
      "model",     "framework",  "precision", "concurrency",
      "input_len", "output_len", "tp",        "scenario"};
  static constexpr std::array<std::string_view, 9> kOfLatencies = {
      "model",      "framework", "precision", "concurrency", "input_len",
      "output_len", "tp",        "system",    "mode"};
  if (is_run) return kOfRuns;
  return kOfLatencies;
}

}  // namespace

void ServingRows::append(ServingRows more) {
  std::ranges::move(more.rows, std::back_inserter(rows));
  for (const auto& [why, count] : more.left_out) left_out[why] += count;
}

ServingRows read_serving_rows(const std::string& text, const std::string& file) {
  const CsvTable table(text, file);
  const bool is_max_load = table.has(kMaxLoadColumns.back()), is_run = table.has("gpu");
  for (const std::string_view column : columns_of(is_max_load, is_run))
    static_cast<void>(table.column(column));
  ServingRows out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    try {
      out.rows.push_back(is_max_load ? read_max_load(row) : RowReader(row, is_run).read());
    } catch (const PassedRow& passed) {
      ++out.left_out[passed.why];
    }
  }
  return out;
}

}  // namespace fabricast
