#include "models/training/model/framework.hpp"

namespace fabricast {

const Framework& release_of(const FrameworkCatalogue& catalogue, const std::string& name,
                            std::string_view version) {
  const Framework* out = &catalogue.at(name);
  if (version.empty()) return *out;
  // Releases are written YY.MM[.PATCH], so that their order is that of the text.
  const std::string prefix = name + " ";
  bool first = true;
  for (auto it = catalogue.lower_bound(prefix);
       it != catalogue.end() && it->first.starts_with(prefix); ++it) {
    const std::string_view release = std::string_view(it->first).substr(prefix.size());
    if (!first && release > version) break;
    out = &it->second;
    first = false;
  }
  return *out;
}

}  // namespace fabricast
