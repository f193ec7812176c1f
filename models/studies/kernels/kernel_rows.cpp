#include "models/studies/kernels/kernel_rows.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/required_cell.hpp"
#include "sim/base/random.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

constexpr int kMost = 1 << 28;
// MLA of DeepSeek-V2 and V3: dimensions of a head, and of the latent that is cached.
constexpr double kLatentKey = 192, kLatentValue = 128, kLatent = 512, kLatentRope = 64;
constexpr double kNope = 128;

class RowReader {
 public:
  RowReader(const CsvRow& row, const ComputeCatalogue& compute) : row_(row), compute_(compute) {}

  /// Why it is left out; "" if it is not.
  std::string read(KernelRow& out) {
    out.place = row_.place();
    const std::string gpu = gpu_name(row_.text("gpu"));
    const auto known = compute_.find(gpu);
    if (known == compute_.end()) return fmt::format("what a {} computes is not known", gpu);
    out.gpu = known->second.kernels();
    out.name.generation = out.gpu.generation;
    out.name.library = row_.text("backend");
    out.name.kernel = row_.text("kernel");
    out.time_us = required(row_.positive("latency_us"), row_, "latency_us");
    const std::string why = read_work(out);
    out.shape = shape_;
    return why;
  }

 private:
  /// A card by its part's name.
  static std::string gpu_name(const std::string& name) {
    return name == "RTX_PRO_6000_Server" ? "RTX_PRO_6000" : name;
  }

  /// DeepGEMM takes scales of weights as packed powers of two on Blackwell. An engine packs them
  /// once, when it loads the weights; SGLang's measured products do so in each call: 12 us and more
  /// of few tokens and weights where TensorRT-LLM's take 5 (ai-dynamo/aiconfigurator,
  /// collector/sglang/collect_gemm.py at 2ec2c274 hands over fp32 scales; later versions pack them
  /// ahead, in _prepare_fp8_block_weights(), and say why. That the times are of the former is
  /// inferred from how long they are.)
  static bool packs_scales(const KernelName& name) {
    constexpr int kDatacentreBlackwell = 100;  // compute capability 10.0
    return name.library == "sglang" && name.dtype == "fp8_block" &&
           name.generation == kDatacentreBlackwell;
  }

  double whole(std::string_view column, int least) {
    const int value = required(row_.whole(column, least, kMost), row_, column);
    shape_ = mixed(shape_ ^ static_cast<std::uint64_t>(value)) + 1;
    return value;
  }

  Operands operands(std::string_view column) {
    try {
      return operands_of(row_.text(column));
    } catch (const Error& error) {
      throw error.with(row_.place(column));
    }
  }

  std::string read_work(KernelRow& out) {
    const std::string& op = row_.text("op");
    if (op == "gemm") return gemm(out);
    if (op == "mla_gen_pre") return batched(out, kNope, kLatent);
    if (op == "mla_gen_post") return batched(out, kLatent, kLatentValue);
    if (op == "context_attention") return context(out);
    if (op == "encoder_attention") return encoder(out);
    if (op == "generation_attention") return decode(out);
    if (op == "mla_context") return latent_context(out);
    if (op == "mla_generation") return latent_decode(out);
    if (op == "moe") return experts(out);
    if (op == "scale_matrix") return scale(out);
    if (op == "gdn") return delta(out);
    return fmt::format("op {} is not modelled", op);
  }

  std::string gemm(KernelRow& out) {
    GemmWork w;
    w.m = whole("m", 1), w.n = whole("n", 1), w.k = whole("k", 1);
    w.operands = operands("dtype");
    out.name.family = family_of_product(w.m);
    out.name.dtype = row_.text("dtype");
    if (packs_scales(out.name)) out.name.dtype += ", scales packed";
    // How many copies of the weights take turns (ai-dynamo/aiconfigurator, collector/*/): six,
    // until they exceed L2; one where vLLM's block and 4-bit kernels are timed.
    const bool one =
        out.name.library == "vllm" && (out.name.dtype == "nvfp4" || out.name.dtype == "fp8_block");
    w.copies = one ? 1 : 6;
    out.work = w;
    if (out.name.library == "vllm" && out.name.dtype == "fp8_block")
      return "block-scaled products of vLLM are launched by Python: the time is the CPU's";
    return {};
  }

  std::string batched(KernelRow& out, double k, double n) {
    GemmWork w;
    w.m = whole("tokens", 1);
    w.batch = whole("local_heads", 1);
    w.n = n, w.k = k;
    w.operands = operands("dtype");
    out.name.family = KernelFamily::batched;
    out.name.dtype = row_.text("dtype");
    out.work = w;
    return {};
  }

  void read_cache(KernelRow& out, std::string_view math, double& cache_bytes) const {
    const bool narrow = row_.text("kv_cache_dtype") == "fp8";
    cache_bytes = narrow ? 1 : 2;
    out.name.dtype = fmt::format("{}{}", row_.text(math), narrow ? ", fp8 cache" : "");
  }

  std::string context(KernelRow& out) {
    ContextWork w;
    if (whole("past_tokens", 0) > 0) return "new tokens beside a cache are not modelled";
    w.batch = whole("batch_size", 1), w.tokens = whole("new_tokens", 1);
    w.heads = whole("num_heads", 1), w.kv_heads = whole("kv_heads", 1);
    w.key_dim = w.value_dim = whole("head_dim", 1);
    w.window = whole("window", 0);
    w.math = operands("attn_dtype").math;
    read_cache(out, "attn_dtype", w.cache_bytes);
    out.name.family = KernelFamily::context;
    out.work = w;
    return {};
  }

  std::string encoder(KernelRow& out) {
    ContextWork w;
    w.batch = whole("batch_size", 1), w.tokens = whole("tokens", 1);
    w.heads = w.kv_heads = whole("num_heads", 1);
    w.key_dim = w.value_dim = whole("head_dim", 1);
    w.causal = false;
    w.cache_bytes = 0;
    w.math = operands("attn_dtype").math;
    out.name.dtype = row_.text("attn_dtype");
    out.name.family = KernelFamily::encoder;
    out.work = w;
    return {};
  }

  std::string decode(KernelRow& out) {
    DecodeWork w;
    w.batch = whole("batch_size", 1), w.tokens = whole("past_tokens", 0) + 1;
    w.heads = whole("num_heads", 1), w.kv_heads = whole("kv_heads", 1);
    w.key_dim = w.value_dim = whole("head_dim", 1);
    w.window = whole("window", 0);
    read_cache(out, "attn_dtype", w.cache_bytes);
    out.name.family = KernelFamily::decode;
    out.work = w;
    return {};
  }

  std::string latent_context(KernelRow& out) {
    ContextWork w;
    if (whole("past_tokens", 0) > 0) return "new tokens beside a cache are not modelled";
    w.batch = whole("batch_size", 1), w.tokens = whole("new_tokens", 1);
    w.heads = w.kv_heads = whole("local_heads", 1);
    w.key_dim = kLatentKey, w.value_dim = kLatentValue;
    w.math = operands("mla_dtype").math;
    read_cache(out, "mla_dtype", w.cache_bytes);
    out.name.family = KernelFamily::latent_context;
    out.work = w;
    return {};
  }

  std::string latent_decode(KernelRow& out) {
    DecodeWork w;
    w.batch = whole("batch_size", 1), w.tokens = whole("past_tokens", 0) + 1;
    w.heads = whole("local_heads", 1);
    w.key_dim = kLatent + kLatentRope, w.value_dim = kLatent;
    w.latent = true;
    read_cache(out, "mla_dtype", w.cache_bytes);
    out.name.family = KernelFamily::latent_decode;
    out.work = w;
    return {};
  }

  /// "power_law_1.2" -> 1.2, "balanced" -> 0
  double skew() const {
    constexpr std::string_view kLaw = "power_law_";
    const std::string& text = row_.text("distribution");
    if (text == "balanced") return 0;
    if (text.starts_with(kLaw)) {
      const std::optional<double> power =
          to_number<double>(std::string_view(text).substr(kLaw.size()));
      if (power && *power > 0 && *power <= 10) return *power;
    }
    throw Error(row_.place("distribution"), fmt::format("unknown distribution \"{}\"", text),
                "write balanced, or power_law_A with A above 0 and up to 10");
  }

  std::string experts(KernelRow& out) {
    ExpertWork w;
    constexpr int kExpertsMost = 1 << 14;
    w.tokens = whole("tokens", 1), w.hidden = whole("hidden", 1);
    const auto topk = static_cast<int>(whole("topk", 1));
    const int all = required(row_.whole("experts", 1, kExpertsMost), row_, "experts");
    const double cut = whole("moe_tp", 1);
    const auto ranks = static_cast<int>(whole("moe_ep", 1));
    if (ranks > all || topk > all)
      throw Error(row_.place("experts"),
                  "there are fewer experts than a token takes, or than ranks");
    const double power = skew();
    shape_ = mixed(shape_ ^ static_cast<std::uint64_t>(all) ^
                   static_cast<std::uint64_t>(std::llround(100 * power)));
    w.ffn = std::max(1.0, whole("expert_ffn", 1) / cut);
    w.experts = std::max(1, all / ranks);
    w.up = row_.text("kernel").find("nongated") == std::string::npos ? 2 : 1;
    w.operands = operands("dtype");
    w.loads = expert_loads(w.tokens, topk, all, ranks, power);
    out.name.family = KernelFamily::experts;
    out.name.dtype = row_.text("dtype");
    out.work = w;
    return {};
  }

  std::string scale(KernelRow& out) {
    const double elements = whole("m", 1) * whole("k", 1);
    out.work = MoveWork{2 * elements, elements};
    out.name.dtype = row_.text("dtype");
    out.name.family = KernelFamily::scale;
    return {};
  }

  /// Gated delta nets, by what their kernels are called.
  std::string delta(KernelRow& out) {
    const std::string& kernel = out.name.kernel;
    const double batch = whole("batch_size", 1), tokens = whole("seq_len", 1);
    const double key_heads = whole("k_heads", 1), key_dim = whole("k_head_dim", 1);
    const double value_heads = whole("v_heads", 1), value_dim = whole("v_head_dim", 1);
    out.name.dtype = "bfloat16";
    if (kernel.starts_with("chunk_gated_delta_rule")) {
      out.name.family = KernelFamily::delta_context;
      out.work = DeltaWork{batch, tokens, key_heads, value_heads, key_dim, value_dim};
      return {};
    }
    if (kernel.starts_with("fused_recurrent_gated_delta_rule")) {
      const double states = delta_states(batch, value_heads, key_dim, value_dim);
      out.name.family = KernelFamily::delta_decode;
      out.work = MoveWork{states, states, true};
      return {};
    }
    return fmt::format("kernel {} is not modelled", kernel);
  }

  const CsvRow& row_;
  const ComputeCatalogue& compute_;
  std::uint64_t shape_ = 1;
};

}  // namespace

KernelRows read_kernel_rows(const std::string& text, const std::string& file,
                            const ComputeCatalogue& compute) {
  const CsvTable table(text, file);
  for (const std::string_view column : {"gpu", "backend", "op", "kernel", "latency_us"})
    static_cast<void>(table.column(column));
  KernelRows out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    KernelRow one;
    if (std::string why = RowReader(row, compute).read(one); why.empty()) {
      out.rows.push_back(std::move(one));
    } else {
      ++out.left_out[why];
    }
  }
  return out;
}

}  // namespace fabricast
