#include "models/hardware/parts/gpu_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// Maker, family, edition and memory: words of a product's name that tell no two GPUs apart which
/// NCCL would.
bool is_beside(std::string_view word) {
  constexpr std::array beside = std::to_array<std::string_view>(
      {"nvidia", "tesla", "geforce", "gpu", "gpus", "tensor", "core", "generation", "edition",
       "blackwell", "server", "workstation", "hbm2", "hbm2e", "hbm3", "hbm3e"});
  if (std::ranges::find(beside, word) != beside.end()) return true;
  const bool is_number = take_number<int>(word).has_value();
  return is_number && (word == "x" || word == "g" || word == "gb" || word == "gib");
}

/// Without those: "NVIDIA A100 40GB SXM4" is "a100sxm4", "8xH100" "h100".
std::string bare_name(std::string_view name) {
  std::string out, word;
  const auto end_word = [&] {
    if (!is_beside(word)) out += word;
    word.clear();
  };
  for (const char c : lower_case(name)) {
    const bool is_in_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!is_in_word) end_word();
    if (is_in_word) word += c;
  }
  end_word();
  std::string_view rest = out;
  if (take_number<int>(rest) && rest.starts_with('x')) return std::string(rest.substr(1));
  return out;
}

/// The part that is called so; "" for none. `form` is what of two names must be equal.
std::string part_called(std::string_view name, bool is_card, const PartsCatalogue& parts,
                        std::string (*form)(std::string_view)) {
  const std::string wanted = form(name);
  for (const GpuName& one : parts.gpu_names) {
    if (one.is_product || form(one.name) != wanted) continue;
    return is_card && !one.card.empty() ? one.card : one.gpu;
  }
  for (const auto& [part, unused] : parts.gpus)
    if (form(part) == wanted) return part;
  return {};
}

/// Of other makers, whose GPUs NCCL does not run on.
bool is_foreign(std::string_view name) {
  constexpr std::array others =
      std::to_array<std::string_view>({"amd", "instinct", "radeon", "mi", "gaudi", "tpu", "intel"});
  const std::string plain = plain_word(name);
  return std::ranges::any_of(others, [&](std::string_view maker) {
    if (!plain.starts_with(maker)) return false;
    const char next = plain.size() > maker.size() ? plain[maker.size()] : '0';
    return maker != "mi" || (next >= '0' && next <= '9');
  });
}

}  // namespace

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
  if (std::string part = part_called(name, is_card, parts, plain_word); !part.empty()) return part;
  if (std::string product = gpu_named_in(name, parts); !product.empty()) return product;
  if (std::string part = part_called(name, is_card, parts, bare_name); !part.empty()) return part;
  const std::string message = fmt::format("GPU \"{}\" is not in the parts catalogue", name);
  if (is_foreign(name))
    throw Error(message, "NCCL runs on NVIDIA's GPUs; other makers' libraries are not simulated");
  std::vector<std::string> known;
  for (const GpuName& one : parts.gpu_names)
    if (!one.is_product) known.push_back(one.name);
  for (const auto& [part, unused] : parts.gpus) known.push_back(part);
  const std::string near = nearest(name, known);
  throw Error(message, near.empty() ? std::string{} : fmt::format("near: {}", near));
}

}  // namespace fabricast
