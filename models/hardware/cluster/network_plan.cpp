#include "models/hardware/cluster/network_plan.hpp"

#include <algorithm>
#include <array>

namespace fabricast {
namespace {

constexpr std::array kRungs = {"chunk", "flow", "packet"};
constexpr std::array kRoutings = {"static", "ecmp", "adaptive", "spray"};

template <class T, std::size_t n>
std::optional<T> from_text(const std::array<const char*, n>& words, std::string_view text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<T>(found - words.begin());
}

}  // namespace

const char* to_text(Rung rung) { return kRungs[static_cast<std::size_t>(rung)]; }
const char* to_text(Routing routing) { return kRoutings[static_cast<std::size_t>(routing)]; }
std::vector<std::string> rung_words() { return {kRungs.begin(), kRungs.end()}; }
std::vector<std::string> routing_words() { return {kRoutings.begin(), kRoutings.end()}; }
std::optional<Rung> rung_from_text(std::string_view text) { return from_text<Rung>(kRungs, text); }
std::optional<Routing> routing_from_text(std::string_view text) {
  return from_text<Routing>(kRoutings, text);
}

}  // namespace fabricast
