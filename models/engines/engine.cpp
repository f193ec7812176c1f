#include "models/engines/engine.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

constexpr int kPartMax = 9999;

/// "1.2.0rc5" -> 1, 2, 0; false if it is no release. The last part may be missing.
bool read_release(std::string_view text, EngineRelease& out) {
  int parts = 0;
  for (int* const part : {&out.major, &out.minor, &out.patch}) {
    if (parts > 0) {
      if (text.empty() && parts == 2) return true;
      if (!text.starts_with('.')) return false;
      text.remove_prefix(1);
    }
    const std::optional<int> number = take_number<int>(text);
    if (!number || *number < 0 || *number > kPartMax) return false;
    *part = *number;
    ++parts;
  }
  if (!text.starts_with("rc")) return text.empty();
  const std::optional<int> candidate = to_number<int>(text.substr(2));
  return candidate && *candidate >= 0;
}

}  // namespace

EngineRelease newest(Engine engine) {
  switch (engine) {
    case Engine::vllm:
      return {engine, 0, 24, 0};
    case Engine::sglang:
      return {engine, 0, 5, 14};
    case Engine::trtllm:
      return {engine, 1, 3, 0};
    case Engine::flashinfer:
      return {engine, 0, 6, 0};
  }
  return {engine};
}

EngineRelease parse_engine(std::string_view text) {
  const std::size_t colon = text.find(':');
  const Engine engine = kEngineWords.parse("engine", text.substr(0, colon));
  if (colon == std::string_view::npos) return newest(engine);
  EngineRelease out{engine};
  const std::string_view release = text.substr(colon + 1);
  if (!read_release(release, out))
    throw Error(fmt::format("\"{}\" is no release of {}", release, kEngineWords[engine]),
                fmt::format("write one like {}:{}.{}.{}", kEngineWords[engine],
                            newest(engine).major, newest(engine).minor, newest(engine).patch));
  return out;
}

std::string to_text(const EngineRelease& release) {
  return fmt::format("{} {}.{}.{}", kEngineWords[release.engine], release.major, release.minor,
                     release.patch);
}

}  // namespace fabricast
