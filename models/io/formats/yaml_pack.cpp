#include "models/io/formats/yaml_pack.hpp"

#include <cstdint>
#include <utility>

namespace fabricast {
namespace {

constexpr std::uint32_t kMore = 0x80;  // another byte with seven higher bits follows

/// Each value: its kind, its line, then the text, or how many there are and they themselves; of a
/// mapping each with its key and the key's line before it.
class Packer {
 public:
  std::string out;

  void node(const YamlNode& node) {
    number(static_cast<std::uint32_t>(node.kind));
    line(node.line);
    if (node.kind == YamlNode::Kind::scalar) return text(node.text);
    number(static_cast<std::uint32_t>(node.items.size()));
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (node.kind == YamlNode::Kind::mapping) {
        text(node.keys[i]);
        line(node.key_lines[i]);
      }
      this->node(node.items[i]);
    }
  }

 private:
  void number(std::uint32_t value) {
    for (; value >= kMore; value >>= 7) out += static_cast<char>(value % kMore + kMore);
    out += static_cast<char>(value);
  }
  void line(int at) {
    const int step = at - line_;
    line_ = at;
    number(step < 0 ? static_cast<std::uint32_t>(-step) * 2 - 1
                    : static_cast<std::uint32_t>(step) * 2);
  }
  void text(const std::string& text) {
    number(static_cast<std::uint32_t>(text.size()));
    out += text;
  }

  int line_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view packed) : at_(packed.data()) {}

  void node(YamlNode& out) {
    out.kind = static_cast<YamlNode::Kind>(number());
    out.line = line();
    if (out.kind == YamlNode::Kind::scalar) {
      out.text = text();
      return;
    }
    const std::size_t count = number();
    out.items.resize(count);
    const bool has_keys = out.kind == YamlNode::Kind::mapping;
    if (has_keys) {
      out.keys.reserve(count);
      out.key_lines.reserve(count);
    }
    for (YamlNode& item : out.items) {
      if (has_keys) {
        out.keys.emplace_back(text());
        out.key_lines.push_back(line());
      }
      node(item);
    }
  }

 private:
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint32_t byte = static_cast<unsigned char>(*at_++);
      value |= byte % kMore << shift;
      if (byte < kMore) return value;
    }
  }
  int line() {
    const std::uint32_t step = number();
    line_ += step % 2 == 0 ? static_cast<int>(step / 2) : -static_cast<int>(step / 2) - 1;
    return line_;
  }
  std::string_view text() {
    const std::size_t size = number();
    const std::string_view text(at_, size);
    at_ += size;
    return text;
  }

  const char* at_;
  int line_ = 0;
};

}  // namespace

std::string pack_yaml(const YamlNode& tree) {
  Packer packer;
  packer.node(tree);
  return std::move(packer.out);
}

YamlNode unpack_yaml(std::string_view packed) {
  YamlNode out;
  Unpacker(packed).node(out);
  return out;
}

}  // namespace fabricast
