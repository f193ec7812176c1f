// Lists on the command line: sizes and counts, as ranges or comma lists.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr std::size_t kItemsMax = 10'000;

/// A whole number >= 0, or -1 when `text` is none; the largest value stands for all beyond it.
std::int64_t whole_number(std::string_view text) {
  if (!is_whole_number(text) || text.starts_with('-')) return -1;
  return to_number<std::int64_t>(text).value_or(std::numeric_limits<std::int64_t>::max());
}

/// Cuts "from..to:xF" and appends from, from*F, ... <= to; a piece without ".." is one item.
template <class Parse>
void append_piece(std::string_view piece, Parse parse, std::vector<std::int64_t>& out) {
  const std::size_t dots = piece.find("..");
  if (dots == std::string_view::npos) {
    out.push_back(parse(piece));
    return;
  }
  std::string_view upper = piece.substr(dots + 2);
  std::int64_t factor = 2;
  if (const std::size_t colon = upper.find(':'); colon != std::string_view::npos) {
    const std::string_view step = trimmed(upper.substr(colon + 1));
    factor = step.starts_with('x') ? whole_number(step.substr(1)) : -1;
    upper = upper.substr(0, colon);
    if (factor < 2) {
      throw Error(fmt::format("\"{}\" is not a factor of at least 2", step),
                  "write the factor of a range like 8B..1GiB:x4");
    }
  }
  const std::int64_t from = parse(trimmed(piece.substr(0, dots)));
  const std::int64_t to = parse(trimmed(upper));
  if (from > to) throw Error(fmt::format("the range \"{}\" runs backwards", piece));
  for (std::int64_t value = from;; value *= factor) {
    out.push_back(value);
    if (value > to / factor) return;
  }
}

template <class Parse>
std::vector<std::int64_t> parse_list(std::string_view text, std::string_view what, Parse parse) {
  if (trimmed(text).empty()) throw Error(fmt::format("the list of {} is empty", what));
  std::vector<std::int64_t> out;
  for (const std::string_view item : comma_items(text)) {
    append_piece(item, parse, out);
    if (out.size() > kItemsMax) {
      throw Error(fmt::format("more than {} {} in one list", kItemsMax, what));
    }
  }
  return out;
}

/// "1G", "32k": a number with a letter that nccl-tests reads as a power of 1024.
bool ends_as_in_nccl_tests(std::string_view item) {
  const bool letter =
      item.size() > 1 && std::string_view("KkMmGg").find(item.back()) != std::string_view::npos;
  return letter && item[item.size() - 2] >= '0' && item[item.size() - 2] <= '9';
}

}  // namespace

std::vector<Bytes> parse_sizes(std::string_view text) {
  const auto parse = [](std::string_view item) {
    const Bytes size =
        ends_as_in_nccl_tests(item) ? parse_nccl_tests_size(item) : parse_bytes(item);
    if (size.count < 1) throw Error("size must be at least 1 B");
    return size.count;
  };
  std::vector<Bytes> sizes;
  for (const std::int64_t count : parse_list(text, "sizes", parse)) sizes.push_back({count});
  return sizes;
}

std::vector<int> parse_counts(std::string_view text, std::string_view what, int max) {
  const auto parse = [&](std::string_view item) {
    const std::int64_t count = whole_number(item);
    if (count == 0) throw Error(fmt::format("{} must be at least 1", what));
    if (count < 0) {
      const bool negative = item.starts_with('-') && whole_number(item.substr(1)) >= 0;
      throw Error(negative ? fmt::format("\"{}\" is negative: {} must be at least 1", item, what)
                           : fmt::format("\"{}\" is not a number of {}", item, what));
    }
    if (count > max) throw Error(fmt::format("{} {} are too many: at most {}", item, what, max));
    return count;
  };
  std::vector<int> counts;
  for (const std::int64_t count : parse_list(text, what, parse)) {
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

}  // namespace fabricast
