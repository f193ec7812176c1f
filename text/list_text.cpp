// Lists on the command line: sizes and counts, as ranges or comma lists.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/range_text.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

std::optional<RangeText> range_of_text(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  RangeText out{trimmed(text.substr(0, dots)), trimmed(text.substr(dots + 2))};
  if (const std::size_t colon = out.last.find(':'); colon != std::string_view::npos) {
    out.stride = trimmed(out.last.substr(colon + 1));
    out.last = trimmed(out.last.substr(0, colon));
  }
  return out;
}

std::string_view RangeText::by() const {
  return adds() || stride.starts_with('x') ? trimmed(stride.substr(1)) : std::string_view();
}

void RangeText::fail_stride() const {
  throw Error(fmt::format("\"{}\" is no stride of a range", stride),
              ":x4 multiplies by 4, :+1 adds 1; without one it doubles");
}

namespace {

constexpr std::size_t kItemsMax = 10'000;

/// A whole number >= 0, or -1 when `text` is none; the largest value stands for all beyond it.
std::int64_t whole_number(std::string_view text) {
  if (!is_whole_number(text) || text.starts_with('-')) return -1;
  return to_number<std::int64_t>(text).value_or(std::numeric_limits<std::int64_t>::max());
}

/// The values of a range, or the one that `piece` is; of more than kItemsMax no more.
template <class Parse>
void append_piece(std::string_view piece, Parse parse, std::vector<std::int64_t>& out) {
  const std::optional<RangeText> range = range_of_text(piece);
  if (!range) {
    out.push_back(parse(piece));
    return;
  }
  const bool adds = range->adds();
  const std::int64_t by = adds ? parse(range->by()) : whole_number(range->by());
  if (!adds && by < 2) range->fail_stride();
  const std::int64_t from = parse(range->first), to = parse(range->last);
  if (from > to) throw Error(fmt::format("the range \"{}\" runs backwards", piece));
  for (std::int64_t value = from; out.size() <= kItemsMax;) {
    out.push_back(value);
    if (adds ? value > to - by : value > to / by) return;
    value = adds ? value + by : value * by;
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
