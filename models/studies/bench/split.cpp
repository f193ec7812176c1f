#include "models/studies/bench/split.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr const char* kForms =
    "write it like nccl-tests: MOD 8, %8, DIV 8, /8, AND 0x7, &7 or OR 7";

std::string_view without(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// Decimal, 0x.. or 0b..
std::optional<std::uint64_t> number(std::string_view text) {
  if (text.starts_with("0x")) return to_number<std::uint64_t>(text.substr(2), 16);
  if (text.starts_with("0b")) return to_number<std::uint64_t>(text.substr(2), 2);
  return to_number<std::uint64_t>(text);
}

}  // namespace

std::uint64_t Split::colour(std::uint64_t process) const {
  switch (operation) {
    case Operation::bit_and:
      return process & value;
    case Operation::bit_or:
      return process | value;
    case Operation::modulo:
      return process % value;
    case Operation::divide:
      return process / value;
  }
  return 0;
}

Split parse_split(std::string_view text) {
  using enum Split::Operation;
  static constexpr std::pair<std::string_view, Split::Operation> kKnown[] = {
      {"AND", bit_and}, {"&", bit_and}, {"OR", bit_or},  {"|", bit_or},
      {"MOD", modulo},  {"%", modulo},  {"DIV", divide}, {"/", divide}};
  const std::string_view whole = trimmed(text);
  for (const auto& [word, operation] : kKnown) {
    if (!whole.starts_with(word)) continue;
    const auto value = number(trimmed(whole.substr(word.size())));
    if (!value) break;
    if (*value == 0 && (operation == modulo || operation == divide))
      throw Error(fmt::format("\"{}\" divides by 0", text), kForms);
    return {operation, *value, std::string(whole)};
  }
  throw Error(fmt::format("\"{}\" is no split of ranks", text), kForms);
}

std::optional<Split> split_of(const Environment& environment) {
  if (const auto mask = environment.get("NCCL_TESTS_SPLIT_MASK")) {
    const auto value = to_number<std::uint64_t>(without(trimmed(*mask), "0x"), 16);
    if (!value)
      throw Error(fmt::format("NCCL_TESTS_SPLIT_MASK={} is no hexadecimal number", *mask));
    return Split{Split::Operation::bit_and, *value, fmt::format("&0x{:x}", *value)};
  }
  if (const auto text = environment.get("NCCL_TESTS_SPLIT")) return parse_split(*text);
  return std::nullopt;
}

std::vector<SplitGroup> split_groups(const Split& split, int nodes, int gpus_per_node,
                                     int gpus_per_process) {
  std::map<std::uint64_t, std::vector<int>> ranks;
  for (int rank = 0; rank < nodes * gpus_per_node; ++rank)
    ranks[split.colour(static_cast<std::uint64_t>(rank / gpus_per_process))].push_back(rank);
  std::vector<SplitGroup> out;
  for (const auto& [colour, members] : ranks)
    out.push_back({colour, Members::of_job(members, gpus_per_node)});
  return out;
}

}  // namespace fabricast
