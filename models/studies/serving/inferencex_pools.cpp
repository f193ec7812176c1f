#include "models/studies/serving/inferencex_pools.hpp"

#include <algorithm>
#include <string_view>

namespace fabricast {
namespace {

/// Recipes are called by prompts', decode engines' and their GPUs' numbers and a batch:
/// ctx1_gen4_tep8_batch32. Which belongs to which load: additional-settings and conc-list of
/// dsr1-{fp4,fp8}-{b200,gb200}-dynamo-trt in .github/configs/nvidia-master.yaml
/// (SemiAnalysisAI/InferenceX at 0004cf5f), those without drafts. Left out: ctx1_gen5_tep8_batch8
/// of 8k/1k on B200, whose 40 places its loads of 50 and 100 did not wait for in January 2026.
struct Recipe {
  std::string_view topology;
  bool is_4bit;
  int prompt, output, workers, gpus;
  int least, most;  ///< requests at a time
  int batch;
};
constexpr int k1 = 1024, k8 = 8192;
constexpr std::string_view kB200 = "hgx-b200", kGb200 = "gb200-nvl72";
constexpr Recipe kRecipes[] = {{kB200, true, k1, k1, 5, 8, 6, 6, 1},
                               {kB200, true, k1, k1, 5, 8, 10, 180, 32},
                               {kB200, true, k1, k1, 6, 8, 450, 450, 64},
                               {kB200, true, k1, k1, 2, 8, 2192, 2192, 128},
                               {kB200, true, k1, k1, 5, 8, 1365, 1365, 32},
                               {kB200, true, k1, k1, 1, 8, 4096, 4096, 512},
                               {kB200, true, k8, k1, 5, 8, 6, 6, 1},
                               {kB200, true, k8, k1, 5, 8, 370, 370, 64},
                               {kB200, true, k8, k1, 1, 8, 1606, 1606, 192},
                               {kB200, true, k8, k1, 3, 8, 837, 837, 32},
                               {kB200, true, k8, k1, 2, 8, 2222, 2222, 128},
                               {kB200, false, k1, k1, 3, 8, 4, 128, 1024},
                               {kB200, false, k1, k1, 5, 8, 1920, 1920, 48},
                               {kB200, false, k1, k1, 1, 8, 4096, 4096, 512},
                               {kB200, false, k1, k1, 5, 8, 5152, 5152, 128},
                               {kB200, false, k8, k1, 1, 8, 1, 1, 1},
                               {kB200, false, k8, k1, 4, 8, 32, 128, 32},
                               {kB200, false, k8, k1, 6, 8, 96, 96, 16},
                               {kB200, false, k8, k1, 1, 8, 128, 128, 128},
                               {kB200, false, k8, k1, 1, 8, 256, 256, 256},
                               {kB200, false, k8, k1, 2, 8, 128, 128, 64},
                               {kB200, false, k8, k1, 1, 8, 640, 640, 640},
                               {kGb200, true, k1, k1, 1, 8, 4301, 4301, 512},
                               {kGb200, true, k1, k1, 1, 32, 666, 666, 16},
                               {kGb200, true, k1, k1, 2, 4, 6144, 6144, 768},
                               {kGb200, true, k1, k1, 4, 8, 12, 192, 32},
                               {kGb200, true, k1, k1, 4, 8, 5, 5, 1},
                               {kGb200, true, k1, k1, 1, 16, 4301, 4301, 256},
                               {kGb200, true, k1, k1, 1, 32, 2253, 2253, 64},
                               {kGb200, true, k1, k8, 7, 8, 5, 5, 1},
                               {kGb200, true, k1, k8, 15, 4, 60, 60, 4},
                               {kGb200, true, k1, k8, 15, 4, 135, 135, 8},
                               {kGb200, true, k1, k8, 1, 32, 563, 563, 16},
                               {kGb200, true, k1, k8, 1, 32, 2048, 2048, 64},
                               {kGb200, true, k1, k8, 1, 32, 4096, 4096, 128},
                               {kGb200, true, k1, k8, 1, 32, 8192, 8192, 256},
                               {kGb200, true, k8, k1, 4, 8, 12, 76, 16},
                               {kGb200, true, k8, k1, 4, 8, 5, 5, 1},
                               {kGb200, true, k8, k1, 1, 32, 333, 333, 8},
                               {kGb200, true, k8, k1, 1, 32, 1229, 1229, 32},
                               {kGb200, true, k8, k1, 1, 16, 2253, 2253, 128},
                               {kGb200, true, k8, k1, 1, 16, 4096, 4096, 256},
                               {kGb200, false, k1, k1, 1, 8, 6144, 6144, 768},
                               {kGb200, false, k1, k1, 1, 8, 4301, 4301, 512},
                               {kGb200, false, k1, k1, 1, 16, 2151, 2151, 128},
                               {kGb200, false, k1, k1, 1, 32, 1127, 1127, 32},
                               {kGb200, false, k1, k1, 1, 32, 256, 256, 8},
                               {kGb200, false, k1, k1, 3, 8, 27, 27, 8},
                               {kGb200, false, k1, k1, 3, 8, 3, 3, 1},
                               {kGb200, false, k1, k8, 2, 16, 8192, 8192, 256},
                               {kGb200, false, k1, k8, 1, 32, 2048, 2048, 64},
                               {kGb200, false, k1, k8, 1, 32, 564, 564, 16},
                               {kGb200, false, k1, k8, 4, 8, 36, 36, 8},
                               {kGb200, false, k1, k8, 4, 8, 4, 4, 1},
                               {kGb200, false, k8, k1, 1, 16, 1229, 1229, 64},
                               {kGb200, false, k8, k1, 1, 32, 666, 666, 16},
                               {kGb200, false, k8, k1, 1, 16, 615, 615, 32},
                               {kGb200, false, k8, k1, 1, 32, 333, 333, 8},
                               {kGb200, false, k8, k1, 3, 8, 63, 63, 16},
                               {kGb200, false, k8, k1, 3, 8, 18, 18, 4},
                               {kGb200, false, k8, k1, 3, 8, 6, 6, 1}};

}  // namespace

std::optional<int> decode_places(const ServeConfig& config) {
  if (config.engine->engine != Engine::trtllm || !config.site.model.latent) return std::nullopt;
  const int concurrency = config.load->concurrency;
  const bool is_4bit = config.site.layout.precision == Precision::nvfp4;
  const auto* const found = std::ranges::find_if(kRecipes, [&](const Recipe& one) {
    return one.topology == config.site.topology && one.is_4bit == is_4bit &&
           one.prompt == config.prompt && one.output == config.output &&
           one.workers == config.workers && one.gpus == config.gpus() && one.least <= concurrency &&
           concurrency <= one.most;
  });
  if (found == std::end(kRecipes)) return std::nullopt;
  return found->batch;
}

}  // namespace fabricast
