#include "models/hardware/parts/gpu_names.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

std::string gpu_named_in(std::string_view text, const PartsCatalogue& parts) {
  std::string found;
  std::set<std::size_t> named;  // where a name begins: "H200 NVL" is no "H200"
  for (const GpuName& one : parts.gpu_names) {
    if (!one.is_product) continue;
    for (std::size_t at = text.find(one.name); at != std::string_view::npos;
         at = text.find(one.name, at + 1)) {
      // "GH200" has "H200" in it, "A100" "A10".
      if (!is_whole_word(text, at, one.name.size())) continue;
      if (!named.insert(at).second) continue;
      if (!found.empty() && found != one.gpu) return {};
      found = one.gpu;
    }
  }
  return found;
}

std::string gpu_called(std::string_view name, bool is_card, const PartsCatalogue& parts) {
  const std::string wanted = plain_word(name);
  std::vector<std::string> known;
  for (const GpuName& one : parts.gpu_names) {
    if (one.is_product) continue;
    if (plain_word(one.name) == wanted) return is_card && !one.card.empty() ? one.card : one.gpu;
    known.push_back(one.name);
  }
  for (const auto& [part, unused] : parts.gpus) {
    if (plain_word(part) == wanted) return part;
    known.push_back(part);
  }
  if (std::string product = gpu_named_in(name, parts); !product.empty()) return product;
  const std::string near = nearest(name, known);
  throw Error(fmt::format("GPU \"{}\" is not in the parts catalogue", name),
              near.empty() ? std::string{} : fmt::format("near: {}", near));
}

}  // namespace fabricast
