#pragma once
// How a model is spread over GPUs, and what of its state and activations is kept where.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/training/model/transformer.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class Sharding : std::uint8_t { none, zero1, zero2, zero3, fsdp, hsdp };
inline constexpr auto kShardingWords =
    enum_words<Sharding>("none", "zero1", "zero2", "zero3", "fsdp", "hsdp");
constexpr std::string_view to_text(Sharding s) { return kShardingWords[s]; }

/// What is computed again in backward. lean: norms and the activation function; selective: the
/// attention core (nothing to gain with a fused kernel); operators: every second matrix product
/// of linear layers and all elementwise work (torchtitan's op-level selective); automatic: the
/// first of none, lean, full that fits, where between lean and full only as many layers are
/// computed again as it takes.
enum class Recompute : std::uint8_t { automatic, none, lean, selective, operators, full };
inline constexpr auto kRecomputeWords =
    enum_words<Recompute>("auto", "none", "lean", "selective", "operators", "full");
constexpr std::string_view to_text(Recompute r) { return kRecomputeWords[r]; }

/// fp8 scales whole tensors or blocks of them, fp8_rows each row (PyTorch's float8 rowwise).
enum class Precision : std::uint8_t { fp16, bf16, fp8, mxfp8, nvfp4, fp8_rows };
inline constexpr auto kPrecisionWords =
    enum_words<Precision>("fp16", "bf16", "fp8", "mxfp8", "nvfp4", "fp8-rows");
constexpr std::string_view to_text(Precision p) { return kPrecisionWords[p]; }
inline constexpr int kPrecisions = kPrecisionWords.words.size();

enum class Schedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zero_bubble };
inline constexpr auto kScheduleWords =
    enum_words<Schedule>("gpipe", "1f1b", "interleaved", "zero-bubble");
constexpr std::string_view to_text(Schedule s) { return kScheduleWords[s]; }

/// How attention sees the whole sequence with context parallelism.
enum class ContextExchange : std::uint8_t { ring, all_gather, all_to_all };
inline constexpr auto kContextExchangeWords =
    enum_words<ContextExchange>("ring", "all-gather", "all-to-all");
constexpr std::string_view to_text(ContextExchange e) { return kContextExchangeWords[e]; }

/// Weights, or adapters alone (LoRA: no gradients of weights), which are beside all linear layers
/// or those of attention.
enum class Trained : std::uint8_t { weights, adapters, attention_adapters };
inline constexpr auto kTrainedWords = enum_words<Trained>("all", "adapters", "attention-adapters");

/// The optimizer's own copy of a weight. bf16: DeepSpeed's bf16_master_weights_and_grads
/// (deepspeed/runtime/precision_config.py). none: it updates the 16-bit weights themselves, as
/// torch.optim does of a model in bf16. With either gradients are 16-bit, too.
enum class MasterWeights : std::uint8_t { fp32, bf16, none };
inline constexpr auto kMasterWeightsWords = enum_words<MasterWeights>("fp32", "bf16", "none");

/// Adam's two moments. bf16: those of torch.optim on parameters in bf16, which have their type
/// (torch/optim/adam.py, _init_group: zeros_like), DeepSpeed's bf16_optimizer_states, and
/// Megatron-Core's exp_avg_dtype and exp_avg_sq_dtype beside fp32 master weights.
enum class OptimizerStates : std::uint8_t { fp32, bf16 };
inline constexpr auto kOptimizerStatesWords = enum_words<OptimizerStates>("fp32", "bf16");

constexpr bool is_8bit_or_less(Precision p) { return p >= Precision::fp8; }

/// What is hidden behind compute where there is something to hide it behind.
struct Overlap {
  bool tensor = false;     ///< TP collectives pipelined with their GEMMs
  bool gradients = true;   ///< reduced by bucket during the last backward
  bool parameters = true;  ///< gathered by bucket during the first forward
  bool pipeline = true;    ///< sends between stages, where a schedule leaves room: not in 1F1B
  bool expert = false;     ///< all-to-alls beside another micro-batch's compute
  bool expert_between_nodes = false;  ///< the same where they leave the node and stages interleave
  bool operator==(const Overlap&) const = default;
};

/// What ranks are numbered along; experts lie along all but the pipeline.
enum class Axis : std::uint8_t { tensor, context, data, pipeline };
using AxisOrder = std::array<Axis, 4>;
/// Megatron's, fastest first.
inline constexpr AxisOrder kMegatronOrder = {Axis::tensor, Axis::context, Axis::data,
                                             Axis::pipeline};

struct Layout {
  int gpus = 1;
  int tensor = 1;          ///< TP
  int context = 1;         ///< CP
  int pipeline = 1;        ///< PP
  int virtual_stages = 1;  ///< VPP: model chunks of a stage
  int expert = 1;          ///< EP
  int expert_tensor = 1;   ///< TP inside an expert
  int sequence = 0;        ///< tokens
  int document = 0;        ///< tokens of each that is packed into a sequence; 0 = one fills it
  int micro_batch = 1;     ///< sequences
  int global_batch = 1;    ///< sequences
  Precision precision = Precision::bf16;
  Sharding sharding = Sharding::zero1;
  int shard_group = 0;  ///< hsdp: GPUs that share one copy of the state
  double bucket = 0;    ///< bytes of gradients that are reduced at a time; 0 = the framework's
  Recompute recompute = Recompute::automatic;
  double full_share = 0;                      ///< with lean: layers computed again as a whole, 0..1
  Schedule schedule = Schedule::one_f_one_b;  ///< interleaved where virtual_stages > 1
  ContextExchange context_exchange = ContextExchange::ring;
  std::vector<int> stage_layers;  ///< of every chunk of the model, in order; empty = alike
  bool sequence_parallel = true;
  AxisOrder order = kMegatronOrder;  ///< fastest first: neighbours share a node
  Trained trained = Trained::weights;
  Overlap overlap;
  MasterWeights master_weights = MasterWeights::fp32;
  OptimizerStates optimizer_states = OptimizerStates::fp32;

  int data() const { return gpus / (tensor * context * pipeline); }  ///< ranks with own data
  int micro_batches() const { return global_batch / (data() * micro_batch); }
  /// Tokens that see each other.
  int attended() const { return document > 0 ? document : sequence; }
  /// Ranks that hold the same dense weights: gradients are reduced over them.
  int dense_replicas() const { return data() * context; }
  int expert_replicas() const { return data() * context * tensor / (expert * expert_tensor); }
  /// Ranks over which optimizer state (ZeRO), or all state (FSDP), is cut.
  int shards(int replicas) const;
  bool shards_weights() const { return sharding >= Sharding::zero3; }
  int size(Axis axis) const;
  /// Ranks from one to the next along an axis.
  int stride(Axis axis) const;
  bool trains_weights() const { return trained == Trained::weights; }
  // Bytes of a parameter.
  int master_bytes() const {
    return master_weights == MasterWeights::fp32   ? 4
           : master_weights == MasterWeights::bf16 ? 2
                                                   : 0;
  }
  int moments_bytes() const { return optimizer_states == OptimizerStates::fp32 ? 8 : 4; }
  bool gradients_are_16bit() const { return master_weights != MasterWeights::fp32; }
  bool sequence_is_sharded() const { return sequence_parallel && tensor > 1; }
};

/// Throws Error, which says what does not go together and what would.
void check_layout(const Transformer& model, const Layout& layout);

/// Layers of each chunk of the model, in order: pipeline * virtual_stages of them. What is left
/// over goes to the middle: the ends have embedding and output as well.
std::vector<int> layers_of_chunks(const Transformer& model, const Layout& layout);

/// "tp-cp-dp-pp"; "ep" may stand before "dp", inside of which it lies. Throws Error.
AxisOrder parse_order(std::string_view text);
std::string to_text(const AxisOrder& order);

}  // namespace fabricast
