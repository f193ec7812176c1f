#include "models/studies/serving/inferencex_pools.hpp"

#include <algorithm>

#include "models/io/workloads/load_serving_pools.hpp"

namespace fabricast {

std::optional<int> decode_places(const ServeConfig& config) {
  if (config.engine->engine != Engine::trtllm || !config.site.model.latent) return std::nullopt;
  PoolRecipe asked;
  asked.topology = config.site.topology;
  asked.precision = config.site.layout.precision;
  asked.prompt = config.prompt;
  asked.output = config.output;
  asked.workers = config.workers;
  asked.gpus = config.gpus();
  asked.least = asked.most = config.load->concurrency;
  const std::vector<PoolRecipe>& recipes = load_serving_pools();
  const auto found = std::ranges::find_if(
      recipes, [&](const PoolRecipe& recipe) { return recipe.overlaps(asked); });
  if (found == recipes.end()) return std::nullopt;
  return found->places;
}

}  // namespace fabricast
