// A CSV of published step times -> questions.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "models/io/formats/csv_table.hpp"
#include "models/studies/training/validate_steps.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kMost = 1 << 24;
/// What a published name of a machine stands for.
struct Machine {
  const char* gpu;
  int memory_gb;  ///< 0 = any
  const char* part;
  const char* topology;
  NcclVersion version;
};
constexpr Machine kMachines[] = {
    {"A100", 40, "A100_SXM4_40", "dgx-a100", kNccl2_21_5},
    {"A100", 0, "A100_SXM4_80", "dgx-a100", kNccl2_21_5},
    {"H100", 96, "H100_SXM5_96", "dgx-h100", kNccl2_21_5},
    {"H100", 0, "H100_SXM5", "dgx-h100", kNccl2_21_5},
    {"H200", 0, "H200_SXM", "dgx-h100", kNccl2_21_5},
    {"H200-NVL", 0, "H200_NVL", "h200-nvl-4", kNccl2_21_5},
    {"B200", 0, "B200_SXM", "hgx-b200", kNccl2_27_7},
    {"B300", 0, "B300_SXM", "hgx-b300", kNccl2_27_7},
    {"GB200", 0, "GB200", "gb200-nvl72", kNccl2_27_7},
    {"GB300", 0, "GB300", "gb300-nvl72", kNccl2_27_7},
    {"H800", 0, "H800_SXM", "hgx-h800", kNccl2_21_5},
    {"H20", 0, "H20_SXM", "hgx-h20", kNccl2_21_5},
    {"GH200", 0, "GH200", "gh200-4", kNccl2_21_5},
    {"V100", 0, "V100_SXM2_32", "dgx-1-v100", kNccl2_21_5},
    {"L40S", 0, "L40S", "pcie-8", kNccl2_21_5},
    {"A6000", 0, "RTX_A6000", "pcie-2gpu", kNccl2_21_5},
    {"RTX 4090", 0, "RTX_4090", "rtx-4090-8", kNccl2_21_5},
    {"RTX 5090", 0, "RTX_5090", "rtx-5090-8", kNccl2_27_7},
    {"RTX PRO 6000", 0, "RTX_PRO_6000", "rtx-pro-6000-8", kNccl2_27_7},
};

/// How a published name of a framework begins, what it is, and what it was before 2023.
struct Named {
  const char *begins, *framework, *once;
};
constexpr Named kFrameworks[] = {
    {"Megatron-LM + DeepSpeed", "pytorch", "deepspeed-2021"},
    {"Megatron-LM", "megatron", "megatron-2021"},
    {"Megatron-DeepSpeed", "megatron-2021", nullptr},
    {"Megatron-Bridge", "megatron-bridge", nullptr},
    {"Megatron", "megatron", nullptr},
    {"MLPerf", "mlperf", nullptr},
    {"NeMo", "megatron", nullptr},
    {"nanotron", "nanotron", nullptr},
    {"Composer", "composer", nullptr},
    {"torchtitan", "torchtitan", nullptr},
    {"MaxText", "maxtext", nullptr},
    {"PAXML", "paxml", nullptr},
};
/// Models that Megatron-Bridge's recipes (scripts/performance/configs: moe_token_dispatcher_type)
/// leave to NCCL's all-to-all, on GPUs whose names do not begin so.
struct ByNccl {
  const char *model, *but_gpu, *but_dtype;
};
constexpr ByNccl kByNccl[] = {{"qwen3-235b", "GB", ""}, {"gpt-oss", "-", "mxfp8"}};
constexpr int kTransformerEngine = 2023;  // the year from which Megatron-LM has it

class CaseReader {
 public:
  CaseReader(const CsvRow& row, const FrameworkCatalogue& frameworks)
      : row_(row), frameworks_(frameworks) {}

  /// Why it is left out; "" if it is not.
  std::string read(StepCase& out) {
    out.id = row_.text("case_id");
    out.group = row_.text("source_group");
    const std::string& mode = row_.text("mode");
    if (mode == "prefill" || mode == "decode_step" || mode == "decode")
      return read_serving(out, mode);
    if (mode != "pretrain" && mode != "sft" && mode != "lora")
      return fmt::format("mode {} is not modelled", mode);
    const std::optional<double> measured = step_time();
    if (!measured) return "no step time";
    out.measured = *measured;
    out.weak = row_.text_or_blank("quality").find("weak") != std::string::npos;
    for (const char* column : {"gpus", "global_batch", "seq_len"})
      if (row_.text(column).empty()) return fmt::format("{} is blank", column);
    const std::optional<Cut> cut = usual_cut();
    for (const char* column : {"tp", "pp"})
      if (row_.text(column).empty() && !cut) return fmt::format("{} is blank", column);
    if (const std::string why = read_machine(out.config); !why.empty()) return why;
    out.note = read_framework(out.config);
    out.dispatch_by_nccl = by_nccl();
    if (out.note.empty() && cut)
      out.note = "tp is blank: as NVIDIA's configurations of MLPerf cut the model on that GPU";
    else if (out.note.empty() && row_.text("micro_batch").empty())
      out.note = "micro_batch is blank: taken for 1, as frameworks do by default";
    read_model(out.config.model);
    return read_layout(out.config, cut);
  }

 private:
  /// What stands in for a layout that is not said.
  struct Cut {
    int tensor = 1, context = 1, micro_batch = 1;
  };

  /// Of MLPerf's logs that were published without their configuration. The logged accumulation says
  /// how many copies there are; the GPUs of a copy are cut as in NVIDIA's configurations
  /// (mlcommons/training_results_v4.0 to v5.1, llama2_70b_lora and llama31_8b, config_*.sh): on
  /// Hopper by TP of up to 4, then CP (two H200 as often by CP alone), on Blackwell by CP.
  std::optional<Cut> usual_cut() const {
    constexpr int kMostTensor = 4;
    if (!row_.text("tp").empty() || !row_.text("framework").starts_with("MLPerf")) return {};
    const int gpus = count("gpus", 1), batch = count("global_batch", 1);
    const int steps = noted("grad accum ").value_or(0);
    if (steps == 0 || batch % steps != 0) return {};
    const int copies = std::min(gpus, batch / steps);
    if (gpus % copies != 0 || batch / steps % copies != 0) return {};
    const int ranks = gpus / copies, context = whole("cp", 0);
    Cut out;
    out.micro_batch = batch / steps / copies;
    if (context > 0 && ranks % context == 0)
      out.tensor = ranks / context;
    else if (row_.text("gpu").starts_with("H"))
      out.tensor = std::gcd(ranks, kMostTensor);
    out.context = ranks / out.tensor;
    return out;
  }

  /// One at least.
  int count(const char* column, int otherwise) const {
    return row_.whole(column, 1, kMost).value_or(otherwise);
  }
  /// Of what 0 says that there is none.
  int whole(const char* column, int otherwise) const {
    return row_.whole(column, 0, kMost).value_or(otherwise);
  }
  /// Nothing: blank, or 0, which is no time.
  std::optional<double> step_time() const {
    const std::optional<double> out = row_.positive("step_time_s");
    return out && *out > 0 ? out : std::nullopt;
  }

  /// Inference: its requests stand in the notes, "input 128, output 2048".
  std::string read_serving(StepCase& out, const std::string& mode) {
    const std::optional<double> measured = step_time();
    if (!measured) return "no step time";
    out.measured = *measured;
    for (const char* column : {"gpus", "tp", "pp", "seq_len"})
      if (row_.text(column).empty()) return fmt::format("{} is blank", column);
    if (const std::string why = read_machine(out.config); !why.empty()) return why;
    read_model(out.config.model);
    out.config.layout.precision = precision(row_.text("dtype"));
    ServeConfig& serving = out.serving;
    serving.site = out.config;
    serving.tensor = count("tp", 1);
    serving.pipeline = count("pp", 1);
    serving.expert = std::max(1, whole("ep", 1));
    serving.batch = count("micro_batch", count("global_batch", 1));
    const int tokens = count("seq_len", 1);
    if (mode == "prefill") {
      out.asks = StepCase::Asks::prompt;
      serving.prompt = tokens;
      return {};
    }
    out.asks = mode == "decode" ? StepCase::Asks::request : StepCase::Asks::token;
    serving.prompt = noted("input ").value_or(tokens / 2);
    serving.output = noted("output ").value_or(tokens - serving.prompt);
    return {};
  }

  /// The number behind `words` in the notes.
  std::optional<int> noted(std::string_view words) const {
    const std::string& notes = row_.text_or_blank("notes");
    std::size_t at = notes.find(words);
    if (at == std::string::npos) return {};
    int out = 0;
    for (at += words.size();
         at < notes.size() && std::isdigit(static_cast<unsigned char>(notes[at])) != 0; ++at)
      out = std::min(out * 10 + (notes[at] - '0'), kMost);
    return out > 0 ? std::optional(out) : std::nullopt;
  }

  bool by_nccl() const {
    if (!row_.text("framework").starts_with("Megatron-Bridge")) return false;
    return std::ranges::any_of(kByNccl, [&](const ByNccl& one) {
      return row_.text("model").starts_with(one.model) &&
             !row_.text("gpu").starts_with(one.but_gpu) && row_.text("dtype") != one.but_dtype;
    });
  }

  bool says(const char* words) const {
    return row_.text_or_blank("notes").find(words) != std::string::npos;
  }

  std::string read_machine(StepConfig& config) {
    const std::string& gpu = row_.text("gpu");
    const int memory = static_cast<int>(row_.positive("gpu_mem_gb").value_or(0));
    const auto found = std::find_if(std::begin(kMachines), std::end(kMachines), [&](auto& m) {
      return gpu == m.gpu && (m.memory_gb == 0 || m.memory_gb == memory);
    });
    if (found == std::end(kMachines)) return fmt::format("GPU {} is not known", gpu);
    config.topology = found->topology;
    config.title = found->part;
    config.version = found->version;
    config.layout.gpus = count("gpus", 1);
    const int per_node = count("gpus_per_node", 8);
    config.gpus_per_node = std::min(per_node, config.layout.gpus);
    config.nodes = std::max(1, config.layout.gpus / per_node);
    read_nics(config);
    return {};
  }

  /// "4x100 Gb/s": where an A100 node has less than the eight NICs of 200 Gbit/s of its preset, so
  /// many of these as carry as much.
  void read_nics(StepConfig& config) const {
    constexpr int kNics = 8, kGbps = 200;
    const std::string& text = row_.text("network");
    const std::size_t end = text.find(" Gb/s"), cross = text.rfind('x', end);
    if (config.topology != "dgx-a100" || end == std::string::npos || cross == std::string::npos ||
        cross == 0)
      return;
    const auto count = to_number<int>(std::string_view(text).substr(cross - 1, 1));
    const auto gbps = to_number<int>(std::string_view(text).substr(cross + 1, end - cross - 1));
    if (!count || !gbps || *gbps <= 0) return;
    const int nics = std::clamp((*count * *gbps + kGbps - 1) / kGbps, 1, kNics);
    if (nics == kNics) return;
    std::string names;
    for (int i = 0; i < nics; ++i)
      names += fmt::format("{}mlx5_{}", i == 0 ? "" : ",", i * kNics / nics);
    config.environment.set("NCCL_IB_HCA", names);
  }

  /// The year of the column date, "2022-03"; 0 where there is none.
  int year() const {
    const std::string& date = row_.text_or_blank("date");
    return to_number<int>(std::string_view(date).substr(0, 4)).value_or(0);
  }

  /// What had to be assumed; "" if nothing. Software that is not known is a mean of what is.
  std::string read_framework(StepConfig& config) const {
    const std::string& name = row_.text("framework");
    const auto found = std::find_if(std::begin(kFrameworks), std::end(kFrameworks),
                                    [&](const Named& one) { return name.starts_with(one.begins); });
    std::string framework = "unknown";
    bool known = found != std::end(kFrameworks);
    if (known) {
      framework =
          found->once != nullptr && year() < kTransformerEngine ? found->once : found->framework;
      if (framework == "torchtitan" && says("eager")) framework = "pytorch";
    } else if (const std::string word = lower_case(name.substr(0, name.find_first_of(" (,+/")));
               frameworks_.contains(word)) {
      known = true;
      framework = word;
    }
    config.framework = release_of(frameworks_, framework, version_in(name)).name;
    if (!known)
      return fmt::format("framework \"{}\" is not known: taken for {}", name, config.framework);
    if (found != std::end(kFrameworks) && found->once != nullptr && year() == 0)
      return fmt::format("framework \"{}\" without a date: taken for {}", name, config.framework);
    return {};
  }

  /// The round of MLPerf, or the last "25.09", "26.02.01" or "24.x" in a name (one of that year, so
  /// the last that it has); "" if there is none.
  static std::string version_in(const std::string& name) {
    constexpr std::string_view kRound = "MLPerf v";
    if (name.starts_with(kRound)) return name.substr(kRound.size(), 3);
    const auto digit = [&](std::size_t at) {
      return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0;
    };
    for (std::size_t at = name.size(); at-- > 0;) {
      const bool begins = at == 0 || (!digit(at - 1) && name[at - 1] != '.');
      if (begins && digit(at) && digit(at + 1) && std::string_view(name).substr(at + 2, 2) == ".x")
        return name.substr(at, 4);
      if (!begins || !digit(at) || !digit(at + 1) || at + 2 >= name.size() || name[at + 2] != '.' ||
          !digit(at + 3) || !digit(at + 4))
        continue;
      std::size_t end = at + 5;
      while (end < name.size() && (name[end] == '.' || digit(end))) ++end;
      return name.substr(at, end - at);
    }
    return {};
  }

  void read_model(Transformer& m) const {
    m.name = row_.text("model");
    m.layers = count("layers", 1);
    m.hidden = count("hidden", 1);
    m.mlp = row_.text("ffn_type") == "swiglu" ? Mlp::swiglu : Mlp::gelu;
    m.rotary = m.mlp == Mlp::swiglu;
    m.ffn = whole("ffn_hidden", 4 * m.hidden);
    m.heads = count("heads", 1);
    m.kv_heads = count("kv_heads", m.heads);
    m.head_dim = count("head_dim", std::max(1, m.hidden / m.heads));
    m.vocabulary = count("vocab", 1);
    m.norm = m.mlp == Mlp::swiglu ? Norm::rms : Norm::layer;
    m.tied_embeddings = m.mlp == Mlp::gelu;
    if (const int experts = whole("experts", 0); experts > 1) {
      Experts e;
      e.count = experts;
      e.per_token = count("topk", 1);
      e.ffn = whole("moe_ffn", m.ffn);
      e.shared_ffn = whole("shared_ffn", 0);
      e.dense_layers = whole("dense_layers", 0);
      m.experts = e;
      if (m.ffn == 0) m.ffn = e.ffn;
    }
    if (m.name.find("deepseek-v3") != std::string::npos ||
        m.name.find("DeepSeek-V3") != std::string::npos)
      m.latent = LatentAttention{1536, 512, 128, 64, 128};
  }

  std::string read_layout(StepConfig& config, const std::optional<Cut>& cut) {
    const Framework& framework = frameworks_.at(config.framework);
    Layout& l = config.layout;
    l.tensor = count("tp", cut ? cut->tensor : 1);
    l.pipeline = count("pp", 1);
    l.virtual_stages = std::max(1, whole("vpp", 1));
    l.context = std::max(1, whole("cp", cut ? cut->context : 1));
    l.expert = std::max(1, whole("ep", 1));
    if (config.model.experts) {
      // NeMo until 25.05 cuts experts by TP; Megatron-Core and Megatron-Bridge do not.
      const bool cuts = row_.text("framework").starts_with("NeMo");
      l.expert_tensor = std::max(1, whole("etp", cuts ? l.tensor : 1));
    }
    l.sequence = count("seq_len", 1);
    l.micro_batch = count("micro_batch", cut ? cut->micro_batch : 1);
    l.global_batch = count("global_batch", 1);
    l.precision = row_.text_or_blank("precision").find("rowwise") != std::string::npos
                      ? Precision::fp8_rows
                      : precision(row_.text("dtype"));
    l.schedule = l.virtual_stages > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
    if (row_.text("mode") == "lora") l.trained = adapters_of(config.framework);
    l.sequence_parallel = framework.sequence_parallel;
    if (const std::string& said = row_.text("sequence_parallel"); !said.empty())
      l.sequence_parallel = said == "1";
    l.overlap = framework.overlap;
    if (says("async TP") || says("AsyncTP")) l.overlap.tensor = true;
    l.recompute = recompute(row_.text("recompute"), framework.recompute);
    const std::string& sharding = row_.text("sharding");
    return read_sharding(sharding.empty() && cut ? "zero1" : sharding, l);
  }

  /// Beside which linear layers a framework has adapters: attention's alone by the rules of MLPerf
  /// and in NVIDIA's recipes (target_modules).
  static Trained adapters_of(const std::string& framework) {
    const std::string family = framework.substr(0, framework.find(' '));
    return family == "mlperf" || family.starts_with("megatron") ? Trained::attention_adapters
                                                                : Trained::adapters;
  }

  /// Of several that a case may have had ("fp8|nvfp4") the first.
  static Precision precision(const std::string& said) {
    const std::string text = said.substr(0, said.find('|'));
    for (int p = 0; p < kPrecisions; ++p)
      if (text == to_text(static_cast<Precision>(p))) return static_cast<Precision>(p);
    return Precision::bf16;
  }

  Recompute recompute(const std::string& text, Recompute otherwise) const {
    if (text == "full") return Recompute::full;
    if (text == "none") return Recompute::none;
    if (text == "selective")
      return row_.text("framework") == "torchtitan" ? Recompute::operators : Recompute::selective;
    return otherwise;
  }

  static std::string read_sharding(const std::string& text, Layout& l) {
    const std::string kind = text.substr(0, text.find('('));
    constexpr std::string_view kGroup = "group=";
    if (const std::size_t group = text.find(kGroup); group != std::string::npos) {
      const std::size_t begin = group + kGroup.size();
      const auto size = to_number<int>(
          std::string_view(text).substr(begin, text.find_first_of(",)", begin) - begin));
      if (!size || *size < 1) return fmt::format("sharding \"{}\" names no size of a group", text);
      l.shard_group = *size;
    }
    for (const Sharding s : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3,
                             Sharding::fsdp, Sharding::hsdp}) {
      if (kind != to_text(s)) continue;
      l.sharding = s;
      return {};
    }
    return fmt::format("sharding \"{}\" is not known", text);
  }

  const CsvRow& row_;
  const FrameworkCatalogue& frameworks_;
};

}  // namespace

StepCases read_step_cases(std::string_view text, const std::string& file,
                          const FrameworkCatalogue& frameworks) {
  const CsvTable table(text, file);
  StepCases out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    StepCase one;
    const CsvRow row = table.row(i);
    if (std::string why = CaseReader(row, frameworks).read(one); why.empty()) {
      out.cases.push_back(std::move(one));
    } else {
      out.left_out.push_back({row.text("case_id"), std::move(why)});
    }
  }
  return out;
}

}  // namespace fabricast
