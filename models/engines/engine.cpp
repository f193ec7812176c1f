#include "models/engines/engine.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// "1.2.0rc5" -> 1, 2, 0; false if it is no release.
bool read_release(std::string_view text, EngineRelease& out) {
  std::array<int*, 3> parts = {&out.major, &out.minor, &out.patch};
  const char *at = text.data(), *const end = text.data() + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return i > 1 && at == end;
    const auto [next, error] = std::from_chars(at, end, *parts[i]);
    if (error != std::errc{} || *parts[i] < 0 || *parts[i] > 9999) return false;
    at = next;
    if (i > 0 && at == end) return true;
  }
  if (std::string_view(at, end).starts_with("rc")) {
    int candidate = 0;
    const auto [next, error] = std::from_chars(at + 2, end, candidate);
    return error == std::errc{} && next == end;
  }
  return at == end;
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
