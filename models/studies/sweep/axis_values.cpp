#include "models/studies/sweep/axis_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/range_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

constexpr std::size_t kValuesMax = 100'000;

struct Quantity {
  double number = 0;
  std::string unit;
};

std::optional<Quantity> quantity(std::string_view text) {
  text = trimmed(text);
  std::size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) end = text.size();
  const auto number = finite_number(text.substr(0, end));
  if (!number) return std::nullopt;
  return Quantity{*number, std::string(trimmed(text.substr(end)))};
}

/// How a range goes on.
struct Stride {
  bool adds = false;
  Quantity by;  ///< without a unit: that of the ends
};

Stride stride_of(const RangeText& range) {
  const bool adds = range.adds();
  const auto by = quantity(range.by());
  if (!by || by->number <= (adds ? 0 : 1) || (!adds && !by->unit.empty())) range.fail_stride();
  return {adds, *by};
}

/// Whole numbers in full: sizes have more digits than sums of strides are good for.
std::string value_text(double number, const std::string& unit) {
  const std::string text =
      number == std::floor(number) ? fmt::format("{:.0f}", number) : fmt::format("{:.9g}", number);
  return unit.empty() ? text : text + " " + unit;
}

std::vector<std::string> numbers(const Quantity& first, const Quantity& last, Stride stride) {
  std::vector<std::string> out;
  constexpr double kRounding = 1e-9;
  for (double at = first.number; at <= last.number * (1 + kRounding);
       at = stride.adds ? at + stride.by.number : at * stride.by.number) {
    if (out.size() == kValuesMax)
      throw Error(fmt::format("the range has more than {} values", kValuesMax));
    out.push_back(value_text(at, first.unit));
  }
  return out;
}

/// Of sizes whose ends have units of their own.
std::vector<std::string> sizes(std::string_view first, std::string_view last, Stride stride) {
  const Quantity from{static_cast<double>(parse_bytes(first).count), {}},
      to{static_cast<double>(parse_bytes(last).count), {}};
  if (!stride.by.unit.empty()) {
    const std::string step = fmt::format("{} {}", stride.by.number, stride.by.unit);
    stride.by = {static_cast<double>(parse_bytes(step).count), {}};
  }
  std::vector<std::string> out;
  for (const std::string& bytes : numbers(from, to, stride)) {
    const auto count = static_cast<std::int64_t>(std::llround(*finite_number(bytes)));
    out.push_back(to_text(Bytes{count}));
  }
  return out;
}

YamlNode scalar(const std::string& text, int line) {
  YamlNode out;
  out.kind = YamlNode::Kind::scalar;
  out.line = line;
  out.text = text;
  return out;
}

/// One file, or all of a folder that fit "a*.yaml".
std::vector<std::filesystem::path> files_named(const std::string& text,
                                               const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path path = folder / text;
  const std::string name = path.filename().string();
  const std::size_t star = name.find('*');
  std::error_code ignored;
  if (star == std::string::npos) {
    if (!fs::is_regular_file(path, ignored)) throw Error(fmt::format("{}: no such file", text));
    return {path};
  }
  const std::string before = name.substr(0, star), after = name.substr(star + 1);
  std::vector<fs::path> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(path.parent_path(), ignored)) {
    const std::string own = entry.path().filename().string();
    if (own.size() >= before.size() + after.size() && own.starts_with(before) &&
        own.ends_with(after) && entry.is_regular_file(ignored))
      out.push_back(entry.path());
  }
  if (out.empty()) throw Error(fmt::format("{}: no file of that name", text));
  std::ranges::sort(out);
  return out;
}

std::vector<YamlNode> files(const YamlNode& node, const std::string& folder,
                            const std::string& question_folder) {
  if (node.keys.size() != 1 || node.keys.front() != "files")
    throw Error("is a list of values, a range like 1..64, or {files: [a.yaml, b*.yaml]}");
  const YamlNode& list = node.items.front();
  std::vector<YamlNode> named = list.items;
  if (list.kind == YamlNode::Kind::scalar) named = {list};
  const std::filesystem::path from =
      std::filesystem::absolute(question_folder.empty() ? std::string(".") : question_folder);
  std::vector<YamlNode> out;
  for (const YamlNode& one : named) {
    for (const std::filesystem::path& path : files_named(one.text, folder))
      out.push_back(scalar(std::filesystem::absolute(path)
                               .lexically_normal()
                               .lexically_relative(from.lexically_normal())
                               .string(),
                           one.line));
  }
  return out;
}

}  // namespace

std::vector<std::string> range_values(const std::string& text) {
  const std::optional<RangeText> range = range_of_text(text);
  const auto from = range ? quantity(range->first) : std::nullopt,
             to = range ? quantity(range->last) : std::nullopt;
  if (!from || !to) return {};
  const Stride stride = stride_of(*range);
  Quantity begin = *from;
  if (begin.unit.empty()) begin.unit = to->unit;
  const bool one_unit =
      begin.unit == to->unit && (stride.by.unit.empty() || stride.by.unit == begin.unit);
  std::vector<std::string> out =
      one_unit ? numbers(begin, *to, stride) : sizes(range->first, range->last, stride);
  if (out.empty()) throw Error(fmt::format("the range \"{}\" is empty", text), "the least first");
  return out;
}

std::vector<YamlNode> axis_values(const YamlNode& node, const std::string& folder,
                                  const std::string& question_folder) {
  switch (node.kind) {
    case YamlNode::Kind::sequence:
      if (node.items.empty()) throw Error("has no values");
      return node.items;
    case YamlNode::Kind::mapping:
      return files(node, folder, question_folder);
    case YamlNode::Kind::null:
      break;
    case YamlNode::Kind::scalar: {
      std::vector<YamlNode> out;
      for (const std::string& text : range_values(node.text))
        out.push_back(scalar(text, node.line));
      if (out.empty())
        throw Error(fmt::format("\"{}\" is neither a list nor a range", node.text),
                    "[a, b, c], 1..64 (doubling), 1..8:+1, or {files: [a.yaml]}");
      return out;
    }
  }
  throw Error("has no values");
}

}  // namespace fabricast
