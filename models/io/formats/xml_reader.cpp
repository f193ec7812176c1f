#include "models/io/formats/xml_reader.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fabricast {
namespace {

constexpr int kElementDepthMax = 64;           // who reads the tree recurses once per level
constexpr std::size_t kSizeMax = 4u << 20;     // a node of 64 GPUs is some 100 kB
constexpr std::size_t kElementsMax = 100'000;  // pugixml takes about 64 B each

/// Visits elements, parents first, without recursion, until one nests too deep or holds what no
/// name may: such as a terminal's escapes.
struct Measure final : pugi::xml_tree_walker {
  pugi::xml_node too_deep, with_control;
  std::size_t elements = 0;
  std::string control;  ///< what that one holds, and where

  bool for_each(pugi::xml_node& node) override {
    if (depth() >= kElementDepthMax || ++elements > kElementsMax) too_deep = node;
    for (const pugi::xml_attribute attribute : node.attributes()) {
      if (const auto found = control_in(attribute.value())) {
        with_control = node;
        control = fmt::format("{} in the attribute \"{}\"", *found, line_text(attribute.name()));
      }
    }
    return !too_deep && !with_control;
  }
};

/// "pci[1]" when there are several of that name, else "pci".
std::string step_to(pugi::xml_node node) {
  const char* name = node.name();
  int before = 0;
  for (auto n = node.previous_sibling(name); n; n = n.previous_sibling(name)) ++before;
  return before == 0 && !node.next_sibling(name) ? name : fmt::format("{}[{}]", name, before);
}

}  // namespace

XmlReader::XmlReader(const std::string& text, std::string file)
    : text_(text), file_(std::move(file)) {
  if (text.size() > kSizeMax) {
    throw Error(Place{file_, 0, {}}, fmt::format("larger than {} MiB", kSizeMax >> 20));
  }
  const pugi::xml_parse_result result =
      document_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    throw Error(Place{file_, line_of(result.offset), {}},
                fmt::format("not valid XML: {}", result.description()));
  }
  Measure measure;
  document_.traverse(measure);
  if (measure.elements > kElementsMax) {
    throw Error(Place{file_, 0, {}}, fmt::format("more than {} elements", kElementsMax));
  }
  if (measure.too_deep) {
    throw Error(Place{file_, line_of(measure.too_deep.offset_debug()), {}},
                fmt::format("nested deeper than {} levels", kElementDepthMax));
  }
  if (measure.with_control) {
    throw Error(Place{file_, line_of(measure.with_control.offset_debug()), {}}, measure.control,
                "leave it out");
  }
}

int XmlReader::line_of(std::ptrdiff_t offset) const {
  if (offset < 0) return 0;
  const auto end = text_.begin() + std::min(offset, static_cast<std::ptrdiff_t>(text_.size()));
  return 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
}

Place XmlReader::place(pugi::xml_node node) const {
  std::string path;
  for (pugi::xml_node n = node; n.type() == pugi::node_element; n = n.parent()) {
    path = path.empty() ? step_to(n) : step_to(n) + "." + path;
  }
  return {file_, line_of(node.offset_debug()), std::move(path)};
}

void XmlReader::fail(pugi::xml_node node, std::string what, std::string hint) const {
  throw Error(place(node), std::move(what), std::move(hint));
}

std::string_view XmlReader::text(pugi::xml_node node, const char* name) const {
  return node.attribute(name).value();
}

std::string_view XmlReader::required(pugi::xml_node node, const char* name) const {
  if (text(node, name).empty()) fail(node, fmt::format("the attribute \"{}\" is missing", name));
  return text(node, name);
}

int XmlReader::whole(pugi::xml_node node, const char* name, int min, int max) const {
  const std::string_view word = required(node, name);
  const bool is_hex = word.starts_with("0x");
  const auto value = to_number<long long>(word.substr(is_hex ? 2 : 0), is_hex ? 16 : 10);
  if (!value) fail(node, fmt::format("{}=\"{}\" is not a whole number", name, word));
  if (*value < min || *value > max) {
    fail(node, fmt::format("{}=\"{}\" is out of range: {} to {}", name, word, min, max));
  }
  return static_cast<int>(*value);
}

int XmlReader::whole(pugi::xml_node node, const char* name, int min, int max, int otherwise) const {
  return text(node, name).empty() ? otherwise : whole(node, name, min, max);
}

std::optional<std::uint64_t> XmlReader::hex(pugi::xml_node node, const char* name) const {
  std::string_view word = text(node, name);
  if (word.empty()) return std::nullopt;
  if (word.starts_with("0x")) word.remove_prefix(2);
  const auto value = to_number<std::uint64_t>(word, 16);
  if (!value) fail(node, fmt::format("{}=\"{}\" is not a number like 0x1f", name, word));
  return value;
}

float XmlReader::number(pugi::xml_node node, const char* name, float max) const {
  const std::string_view word = text(node, name);
  if (word.empty()) return 0;
  const auto value = to_number<float>(word);
  if (!value || !(*value >= 0 && *value <= max)) {
    fail(node, fmt::format("{}=\"{}\" is not a number from 0 to {}", name, word, max));
  }
  return *value;
}

}  // namespace fabricast
