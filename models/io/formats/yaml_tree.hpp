#pragma once
// YAML text as a plain tree in which every value knows its line. Strict on purpose: what a reader
// could misunderstand (duplicate keys, anchors, tags, several documents) is refused.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// A cluster description is a few kB; this bounds what hostile input can cost.
inline constexpr std::size_t kYamlSizeMax = 16u << 20;

struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  int line = 0;                   ///< 1-based
  std::string text;               ///< scalar
  std::vector<std::string> keys;  ///< mapping: keys[i] stands for items[i]
  std::vector<int> key_lines;     ///< mapping
  std::vector<YamlNode> items;    ///< sequence and mapping
};

/// YAML as text, or as the tree that was made of it when the program was built.
struct YamlText {
  YamlText(const std::string& content) : text(content) {}
  YamlText(const char* content) : text(content) {}
  YamlText(std::string_view content, std::string_view tree) : text(content), packed(tree) {}

  std::string_view text;
  std::string_view packed;  ///< pack_yaml() of it; "" = not parsed yet
};

/// Throws Error with file and line: not text, too large, empty, bad syntax, nested too deep,
/// duplicate key, alias, tag, more than one document. `file` is used in messages only.
YamlNode parse_yaml(const YamlText& yaml, const std::string& file);

}  // namespace fabricast
