// Any bytes as measured runs of engines, as their costs, as a question of serve: an error, or
// something that can be worked on.

#include "input.hpp"
#include "models/io/workloads/load_serving.hpp"
#include "models/io/workloads/load_serving_pools.hpp"
#include "models/studies/serving/serving_rows.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    for (const ServingRow& row : read_serving_rows(text, "s.csv").rows) {
      const ServeConfig& config = row.config;
      fuzz::require(config.engine && config.load && config.load->concurrency > 0);
      fuzz::require(config.prompt > 0 && config.output > 0 && config.gpus() > 0);
    }
  });
  fuzz::runs([&] { fuzz::require(parse_serving(text, "s.yaml").of(Engine::vllm).pass >= 0); });
  fuzz::runs([&] {
    for (const PoolRecipe& one : parse_serving_pools(text, "p.yaml"))
      fuzz::require(one.places > 0 && one.overlaps(one));
  });
  fuzz::runs([&] {
    const ServeConfig config = parse_serve(text, "q.yaml");
    fuzz::require(config.prompt > 0 && config.output > 0 && config.workers > 0);
    fuzz::require(!config.load || (config.load->rate > 0) != (config.load->concurrency > 0));
  });
  return 0;
}
