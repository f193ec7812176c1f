#include "models/io/workloads/load_serving_pools.hpp"

#include <algorithm>
#include <tuple>

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/io/workloads/load_workloads.hpp"

namespace fabricast {
namespace {

constexpr int kTokensMax = 1 << 24, kWorkersMax = 10'000, kGpusMax = 100'000,
              kRequestsMax = 1'000'000;

/// Of the engines and lengths that `of` has.
PoolRecipe recipe(Reader in, PoolRecipe of) {
  of.workers = in.whole("workers", 1, kWorkersMax);
  of.gpus = in.whole("gpus", 1, kGpusMax);
  of.least = in.whole("from", 1, kRequestsMax);
  of.most = in.whole("to", 1, kRequestsMax);
  if (of.most < of.least)
    in.fail("to", "a recipe for no number of requests", "say from and to in this order");
  of.places = in.whole("places", 1, kRequestsMax);
  in.finish();
  return of;
}

}  // namespace

bool PoolRecipe::overlaps(const PoolRecipe& other) const {
  const auto engines = [](const PoolRecipe& of) {
    return std::tie(of.topology, of.precision, of.prompt, of.output, of.workers, of.gpus);
  };
  return engines(*this) == engines(other) && least <= other.most && other.least <= most;
}

const std::vector<PoolRecipe>& load_serving_pools() {
  static const std::vector<PoolRecipe> recipes = parse_serving_pools(
      find_embedded(embedded_workloads(), "serving_pools")->yaml(), "workloads/serving_pools.yaml");
  return recipes;
}

std::vector<PoolRecipe> parse_serving_pools(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"serving_pools"});
  std::map<std::string, Source> sources;
  read_sources(root, sources);
  const Figures figures(sources);
  std::vector<PoolRecipe> out;
  for (Reader& pool : root.children("pools")) {
    PoolRecipe of;
    of.topology = pool.text("topology");
    of.precision = read_precision(pool, "precision");
    of.prompt = pool.whole("prompt", 1, kTokensMax);
    of.output = pool.whole("output", 1, kTokensMax);
    figures.check_source(pool);
    for (Reader& in : pool.children("recipes")) {
      const PoolRecipe one = recipe(in, of);
      if (std::ranges::any_of(out, [&](const PoolRecipe& other) { return one.overlaps(other); }))
        in.fail("from", "an earlier recipe is for some of these requests, too",
                "give each number of requests one recipe of the same engines");
      out.push_back(one);
    }
    pool.finish();
  }
  root.finish();
  return out;
}

}  // namespace fabricast
