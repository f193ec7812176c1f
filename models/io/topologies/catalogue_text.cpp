#include "models/io/topologies/catalogue_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "models/io/shipped/embedded.hpp"
#include "models/io/topologies/load.hpp"
#include "sim/base/error.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

constexpr const char* kFile = "topologies/parts.yaml";

template <class Node>
Node* child(Node& node, std::string_view key) {
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    if (node.keys[i] == key) return &node.items[i];
  }
  return nullptr;
}

/// The paths of all figures.
void list_figures(const YamlNode& node, const std::string& path, std::vector<std::string>& out) {
  if (child(node, "value") != nullptr) out.push_back(path);
  for (std::size_t i = 0; i < node.keys.size(); ++i)
    list_figures(node.items[i], path.empty() ? node.keys[i] : path + "." + node.keys[i], out);
}

/// A quantity in base units, and which kind it is.
enum class Kind : std::uint8_t { number, time, rate, size };
struct Quantity {
  Kind kind{};
  double value = 0;
};

Quantity quantity(std::string_view text) {
  const std::string plain(trimmed(text));
  char* end = nullptr;
  const double number = std::strtod(plain.c_str(), &end);
  if (!plain.empty() && *end == '\0') return {Kind::number, number};
  try {
    if (plain.ends_with("/s"))
      return {Kind::rate, static_cast<double>(parse_bandwidth(plain).bytes_per_s)};
    if (plain.ends_with('B')) return {Kind::size, static_cast<double>(parse_bytes(plain).count)};
    return {Kind::time, static_cast<double>(parse_duration(plain).ps)};
  } catch (const Error&) {
    throw Error(fmt::format("\"{}\" is no time, rate, size or number", text));
  }
}

/// The value of a figure; null if there is none.
template <class Node>
Node* find(Node& tree, std::string_view path) {
  Node* node = &tree;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = child(*node, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node == nullptr ? nullptr : child(*node, "value");
}

}  // namespace

CatalogueText::CatalogueText()
    : tree_(parse_yaml(find_embedded(embedded_topologies(), "parts")->yaml(), kFile)) {}

const std::string& CatalogueText::value(std::string_view path) const {
  if (const YamlNode* found = find(tree_, path)) return found->text;
  std::vector<std::string> known;
  list_figures(tree_, {}, known);
  throw Error(fmt::format("the catalogue has no figure \"{}\"", path),
              nearest(path, known).empty() ? "a dotted path into topologies/parts.yaml"
                                           : hint_nearest(path, known));
}

void CatalogueText::set(std::string_view path, std::string text) {
  find(tree_, path)->text = std::move(text);
}

void CatalogueText::scale(std::span<const std::string> paths, double factor, int digits) {
  for (const std::string& path : paths) set(path, scaled(value(path), factor, digits));
}

PartsCatalogue CatalogueText::parts() const { return read_parts(tree_, kFile); }

std::string scaled(std::string_view value, double factor, int digits) {
  const std::string plain(trimmed(value));
  if (const Quantity size = quantity(plain); size.kind == Kind::size)
    return fmt::format("{:.0f} B", size.value * factor);
  char* unit = nullptr;
  const double number = std::strtod(plain.c_str(), &unit) * factor;
  std::string text = fmt::format("{:.{}g}", number, digits);
  // Quantities are read without exponents.
  if (text.find('e') != std::string::npos)
    text = fmt::format("{:.{}f}", std::strtod(text.c_str(), nullptr), number < 1 ? 12 : 0);
  return text + unit;
}

double ratio(std::string_view a, std::string_view b) {
  const Quantity over = quantity(a), under = quantity(b);
  if (over.kind != under.kind)
    throw Error(fmt::format("\"{}\" and \"{}\" are not of one kind", a, b));
  return over.value / under.value;
}

}  // namespace fabricast
