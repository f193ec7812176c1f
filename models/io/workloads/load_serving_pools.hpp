#pragma once
// workloads/serving_pools.yaml -> how many requests decode engines of published pools take.

#include <string>
#include <vector>

#include "models/io/formats/yaml_tree.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// Decode engines of TensorRT-LLM with a model of latent attention, and the load that they are for.
struct PoolRecipe {
  std::string topology;
  Precision precision{};
  int prompt = 1, output = 1;  ///< tokens of a request, at most
  int workers = 1, gpus = 1;   ///< engines, and of each
  int least = 1, most = 1;     ///< requests at a time, of all
  int places = 1;              ///< of each copy of attention

  /// The same engines for the same lengths, and some number of requests that both are for.
  bool overlaps(const PoolRecipe& other) const;
};

/// The file that travels in the program.
const std::vector<PoolRecipe>& load_serving_pools();
/// The same from text; `file` is used in messages only. Throws Error.
std::vector<PoolRecipe> parse_serving_pools(const YamlText& text, const std::string& file);

}  // namespace fabricast
