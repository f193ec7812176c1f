#include "models/training/step/step_chunks.hpp"

#include <algorithm>

namespace fabricast {

namespace {

/// Adam on a shard reads the gradient, reads and writes moments and the weight it updates, and
/// writes the 16-bit copy where that is another: 4 + 16 + 8 + 2 with all in fp32.
double optimizer_bytes(const Layout& l) {
  const double gradient = l.gradients_are_16bit() ? 2 : 4;
  const double weight = l.master_weights == MasterWeights::none ? 2 * 2 : 2 * l.master_bytes() + 2;
  return gradient + 2 * l.moments_bytes() + weight;
}

/// Tasks of a step are whole picoseconds.
constexpr double kRounded = 1 - 1e-6;

void add_layers(Chunk& chunk, int times, const LayerTime& layer) {
  chunk.forward += times * layer.forward;
  chunk.backward += times * layer.backward;
  chunk.weight += times * layer.weight;
}

}  // namespace

std::vector<Chunk> make_chunks(const StepSetup& setup, CollectiveTimes& collectives) {
  const Transformer& m = setup.model;
  const int dense_layers = m.layers - m.moe_layers();
  const LayerTime dense = dense_layers > 0 ? layer_time(setup, false, collectives) : LayerTime{};
  const LayerTime moe = m.experts ? layer_time(setup, true, collectives) : LayerTime{};
  const std::vector<LocalParameters> parameters = chunk_parameters(m, setup.layout);
  std::vector<Chunk> out;
  int at = 0;
  for (const int layers : layers_of_chunks(m, setup.layout)) {
    Chunk chunk;
    chunk.layers = layers;
    chunk.parameters = parameters[out.size()];
    const int plain = std::clamp(dense_layers - at, 0, layers);
    at += layers;
    add_layers(chunk, plain, dense);
    add_layers(chunk, layers - plain, moe);
    out.push_back(chunk);
  }
  add_layers(out.front(), 1, embedding_time(setup, collectives));
  add_layers(out.back(), 1, output_time(setup, collectives));
  return out;
}

double optimizer_time(const StepSetup& setup, int stage) {
  const Layout& l = setup.layout;
  if (!l.trains_weights()) return 0;
  const LocalParameters local = local_parameters(setup.model, l, stage);
  const double shard = static_cast<double>(local.dense) / l.shards(l.dense_replicas()) +
                       static_cast<double>(local.expert) / l.shards(l.expert_replicas());
  return elementwise_time(setup.gpu, optimizer_bytes(l) * shard);
}

double least_step_time(const StepSetup& setup, CollectiveTimes& collectives) {
  const std::vector<Chunk> chunks = make_chunks(setup, collectives);
  const auto stages = static_cast<std::size_t>(setup.layout.pipeline);
  double most = 0, before = 0;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double micro = 0;
    for (std::size_t c = stage; c < chunks.size(); c += stages)
      micro += chunks[c].forward.total() + chunks[c].backward.total();
    most = std::max(most, before + setup.layout.micro_batches() * micro +
                              optimizer_time(setup, static_cast<int>(stage)));
    before += chunks[stage].forward.total();
  }
  return kRounded * most;
}

}  // namespace fabricast
