#include "models/io/workloads/load_workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/io/workloads/load_step_fits.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr std::string_view kGpus = "gpus", kFrameworks = "frameworks", kPrices = "prices";
constexpr std::array<std::string_view, 9> kNoModels = {kGpus,     kFrameworks, kPrices,
                                                       "engines", "experts",   "serving",
                                                       "kernels", "step_fits", "serving_pools"};

YamlText shipped(std::string_view name) {
  return find_embedded(embedded_workloads(), name)->yaml();
}

std::string path_of(std::string_view name) { return fmt::format("workloads/{}.yaml", name); }

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_workloads()) {
    if (std::ranges::find(kNoModels, file.name) == kNoModels.end()) names.emplace_back(file.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Transformer load_transformer(const std::string& model) {
  const std::vector<std::string> names = model_names();
  if (std::binary_search(names.begin(), names.end(), model))
    return parse_transformer(shipped(model), path_of(model));
  std::error_code ignored;
  if (!model.empty() && std::filesystem::exists(model, ignored))
    return parse_transformer(read_text_file(model), model);
  if (model.find('/') != std::string::npos || model.ends_with(".yaml"))
    throw Error(Place{model, 0, {}}, "no such file");
  throw Error(fmt::format("unknown model \"{}\"", model), hint_nearest(model, names));
}

ComputeCatalogue unfitted_compute() {
  static const ComputeCatalogue compute = parse_compute(shipped(kGpus), path_of(kGpus));
  return compute;
}

FrameworkCatalogue unfitted_frameworks() {
  return parse_frameworks(shipped(kFrameworks), path_of(kFrameworks));
}

ComputeCatalogue load_compute() {
  static const ComputeCatalogue fitted = [] {
    ComputeCatalogue out = unfitted_compute();
    for (auto& [name, gpu] : out) gpu = with_factors(gpu, load_step_fits().all.factors);
    return out;
  }();
  return fitted;
}

FrameworkCatalogue load_frameworks() {
  static const FrameworkCatalogue fitted = [] {
    FrameworkCatalogue out = unfitted_frameworks();
    for (auto& [name, framework] : out)
      framework = with_factors(framework, load_step_fits().all.factors);
    return out;
  }();
  return fitted;
}

Prices load_prices() { return parse_prices(shipped(kPrices), path_of(kPrices)); }

Prices load_prices(const std::string& own_file, const PartsCatalogue& parts) {
  Prices shipped = load_prices();
  if (own_file.empty()) return shipped;
  return parse_own_prices(read_text_file(own_file), own_file, shipped, parts);
}

}  // namespace fabricast
