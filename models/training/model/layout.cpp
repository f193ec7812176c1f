#include "models/training/model/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/error.hpp"

namespace fabricast {

namespace {

/// Embedding and output may have a chunk of their own.
constexpr int kEnds = 2;

/// As Megatron spells them, by Axis.
constexpr std::string_view kAxisNames[] = {"tp", "cp", "dp", "pp"};

void check_divides(int part, std::string_view part_name, int whole, std::string_view whole_name) {
  if (whole % part == 0) return;
  throw Error(fmt::format("{} {} does not divide {} {}", part_name, part, whole_name, whole));
}

void check_experts(const Transformer& model, const Layout& layout) {
  if (!model.experts) {
    if (layout.expert > 1 || layout.expert_tensor > 1)
      throw Error(fmt::format("{} has no experts: EP {} means nothing", model.name, layout.expert),
                  "leave ep away");
    return;
  }
  check_divides(layout.expert, "EP", model.experts->count, "experts");
  check_divides(layout.expert_tensor, "expert TP", model.experts->ffn, "expert ffn");
  check_divides(layout.expert * layout.expert_tensor, "EP x expert TP",
                layout.data() * layout.context * layout.tensor, "TP x CP x DP");
}

void check_stage_layers(const Transformer& model, const Layout& layout, int chunks) {
  const std::vector<int>& layers = layout.stage_layers;
  if (layers.empty()) return;
  if (static_cast<int>(layers.size()) != chunks)
    throw Error(fmt::format("stage_layers has {} figures, PP {} x VPP {} makes {} chunks",
                            layers.size(), layout.pipeline, layout.virtual_stages, chunks));
  const std::int64_t sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (sum != model.layers)
    throw Error(
        fmt::format("stage_layers adds up to {} layers, the model has {}", sum, model.layers));
}

void check_pipeline(const Transformer& model, const Layout& layout) {
  const int chunks = layout.pipeline * layout.virtual_stages;
  if (chunks > model.layers + kEnds) {
    throw Error(fmt::format("PP {} x VPP {} makes {} chunks of {} layers", layout.pipeline,
                            layout.virtual_stages, chunks, model.layers));
  }
  check_stage_layers(model, layout, chunks);
  if (layout.virtual_stages == 1) return;
  if (layout.pipeline == 1) throw Error(fmt::format("VPP {} needs PP > 1", layout.virtual_stages));
  if (layout.schedule == Schedule::gpipe || layout.schedule == Schedule::zero_bubble)
    throw Error(fmt::format("VPP {} is of the interleaved schedule, not of {}",
                            layout.virtual_stages, to_text(layout.schedule)));
  if (layout.micro_batches() % layout.pipeline != 0) {
    throw Error(fmt::format("the interleaved schedule takes {} micro-batches in rounds of PP {}",
                            layout.micro_batches(), layout.pipeline),
                "change the global batch, or leave vpp away");
  }
}

void check_batch(const Layout& layout) {
  const int replicas = layout.data();
  const std::int64_t round = std::int64_t{replicas} * layout.micro_batch;
  const std::int64_t below = layout.global_batch / round * round;
  if (layout.global_batch != below) {
    throw Error(fmt::format("a global batch of {} is no multiple of DP {} x micro-batch {}",
                            layout.global_batch, replicas, layout.micro_batch),
                below == 0 ? fmt::format("the least is {}", round)
                           : fmt::format("the nearest are {} and {}", below, below + round));
  }
}

}  // namespace

int Layout::shards(int replicas) const {
  switch (sharding) {
    case Sharding::none:
      return 1;
    case Sharding::hsdp:
      return std::min(shard_group, replicas);
    case Sharding::zero1:
      return shard_group > 0 ? std::min(shard_group, replicas) : replicas;
    case Sharding::zero2:
    case Sharding::zero3:
    case Sharding::fsdp:
      return replicas;
  }
  return 1;
}

int Layout::size(Axis axis) const {
  switch (axis) {
    case Axis::tensor:
      return tensor;
    case Axis::context:
      return context;
    case Axis::data:
      return data();
    case Axis::pipeline:
      return pipeline;
  }
  return 1;
}

int Layout::stride(Axis axis) const {
  int out = 1;
  for (const Axis faster : order) {
    if (faster == axis) break;
    out *= size(faster);
  }
  return out;
}

AxisOrder parse_order(std::string_view text) {
  AxisOrder out{};
  std::size_t known = 0;
  std::string_view rest = text;
  bool valid = true;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('-'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word == "ep" && (rest == "dp" || rest.starts_with("dp-"))) continue;
    const auto* const axis = std::find(std::begin(kAxisNames), std::end(kAxisNames), word);
    valid = valid && axis != std::end(kAxisNames) && known < out.size();
    if (!valid) break;
    out[known++] = static_cast<Axis>(axis - std::begin(kAxisNames));
  }
  AxisOrder sorted = out;
  std::sort(sorted.begin(), sorted.end());
  if (!valid || known != out.size() || sorted != kMegatronOrder)
    throw Error(fmt::format("\"{}\" is no order of ranks", text),
                "each of tp, cp, dp and pp once, fastest first, like tp-cp-ep-dp-pp");
  return out;
}

std::string to_text(const AxisOrder& order) {
  std::string out;
  for (const Axis axis : order)
    out += fmt::format("{}{}", out.empty() ? "" : "-", kAxisNames[static_cast<int>(axis)]);
  return out;
}

void check_layout(const Transformer& model, const Layout& layout) {
  if (layout.order != kMegatronOrder && (layout.expert > 1 || layout.sharding == Sharding::hsdp))
    throw Error(fmt::format("order {} with EP or hsdp is not modelled", to_text(layout.order)),
                "leave order away: tp-cp-ep-dp-pp");
  const std::int64_t model_gpus = std::int64_t{layout.tensor} * layout.context * layout.pipeline;
  if (layout.gpus % model_gpus != 0) {
    throw Error(fmt::format("TP {} x CP {} x PP {} = {} GPUs do not divide {}", layout.tensor,
                            layout.context, layout.pipeline, model_gpus, layout.gpus),
                fmt::format("take a multiple of {} GPUs", model_gpus));
  }
  check_divides(layout.tensor, "TP", model.heads, "heads");
  check_divides(layout.tensor, "TP", model.ffn, "ffn");
  check_divides(layout.context, "CP", layout.sequence, "sequence");
  if (layout.document > layout.sequence)
    throw Error(fmt::format("documents of {} tokens do not fit into sequences of {}",
                            layout.document, layout.sequence));
  if (layout.context > 1 && layout.context_exchange == ContextExchange::all_to_all) {
    const int parts = layout.tensor * layout.context;
    check_divides(parts, "TP x CP by all-to-all", model.heads, "heads");
    // Latent attention makes keys and values of all heads before.
    if (!model.latent)
      check_divides(parts, "TP x CP by all-to-all", model.kv_heads, "key/value heads");
  }
  if (layout.sequence_is_sharded())
    check_divides(layout.tensor, "TP", layout.sequence / layout.context * layout.micro_batch,
                  "tokens of a micro-batch");
  check_experts(model, layout);
  check_batch(layout);
  check_pipeline(model, layout);
  if (layout.sharding == Sharding::hsdp) {
    if (layout.shard_group < 1) throw Error("hsdp needs shard_group: the GPUs of one copy");
    check_divides(std::min(layout.shard_group, layout.dense_replicas()), "shard_group",
                  layout.dense_replicas(), "replicas");
  }
  if (layout.shards_weights() && layout.pipeline > 1 && layout.virtual_stages > 1 &&
      layout.sharding == Sharding::zero3)
    throw Error("zero3 with interleaved stages is not modelled", "use zero1, or leave vpp away");
}

std::vector<int> layers_of_chunks(const Transformer& model, const Layout& layout) {
  if (!layout.stage_layers.empty()) return layout.stage_layers;
  const int chunks = layout.pipeline * layout.virtual_stages;
  std::vector<int> out(static_cast<std::size_t>(chunks), model.layers / chunks);
  const int left = model.layers % chunks;
  const int first = (chunks - left + 1) / 2;
  for (int i = 0; i < left; ++i) ++out[static_cast<std::size_t>(first + i)];
  return out;
}

}  // namespace fabricast
