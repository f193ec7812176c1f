#include "cli/options/engine_option.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/values.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

std::vector<CallingEngine> engines_from_option(const std::string& text) {
  std::vector<CallingEngine> out;
  if (text == kNoEngine) return out;
  for (const std::string_view item : comma_items(text)) {
    const EngineRelease release = of_option("--engine", [&] { return parse_engine(item); });
    if (std::ranges::find(out, release, &CallingEngine::release) != out.end())
      throw Error(option_place("--engine"), fmt::format("{} is listed twice", item));
    out.push_back({release, load_engines()});
  }
  return out;
}

}  // namespace fabricast
