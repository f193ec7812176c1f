#include "models/io/formats/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "models/io/formats/text_file.hpp"
#include "models/io/formats/yaml_pack.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

static_assert(kYamlSizeMax == kTextSizeMax);
constexpr std::size_t kDepthMax = 64;          // the parser and this tree recurse once per level
constexpr std::size_t kLineMax = 1u << 20;     // the parser looks ahead to the end of a line
constexpr std::size_t kValuesMax = 1'000'000;  // about 100 B each in memory
constexpr std::size_t kKeysMax = 10'000;       // of one mapping; bounds the search for duplicates

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 0 : mark.line + 1; }

/// Builds the tree from the parser's events. Events come before the parser goes one level deeper,
/// so the depth limit here also bounds the parser's own recursion.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}

  YamlNode root;
  bool seen = false;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, "", anchor, YamlNode::Kind::null, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add(mark, tag, anchor, YamlNode::Kind::scalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::mapping);
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, std::string what, std::string hint = {}) const {
    throw Error(Place{file_, line_of(mark), {}}, std::move(what), std::move(hint));
  }
  [[noreturn]] void refuse_anchor(const YAML::Mark& mark) const {
    fail(mark, "anchors and aliases (&name, *name) are not allowed here", "write the value out");
  }

  /// A list or mapping that is not closed yet.
  struct Open {
    YamlNode node;
    bool as_key;  ///< refused when it closes, so that excessive depth is named first
  };

  bool awaits_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::mapping &&
           open_.back().node.keys.size() == open_.back().node.items.size();
  }

  /// What an escape like "\\e" makes: bytes of the file are looked at before.
  void refuse_control(const YAML::Mark& mark, const std::string& text, bool is_key) const {
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t end = is_key ? rest.size() : rest.find_first_of("\n\t");
      if (const auto control = control_in(rest.substr(0, end)))
        fail(mark, fmt::format("{} in a {}", *control, is_key ? "key" : "text"), "leave it out");
      rest.remove_prefix(end == std::string_view::npos ? rest.size()
                                                       : std::min(end + 1, rest.size()));
    }
  }

  void add_key(const YAML::Mark& mark, const std::string& key) {
    refuse_control(mark, key, true);
    YamlNode& mapping = open_.back().node;
    const auto found = std::find(mapping.keys.begin(), mapping.keys.end(), key);
    if (found != mapping.keys.end()) {
      const auto index = static_cast<std::size_t>(found - mapping.keys.begin());
      fail(mark, fmt::format("duplicate key \"{}\"", key),
           fmt::format("it stands already in line {}", mapping.key_lines[index]));
    }
    if (mapping.keys.size() == kKeysMax) fail(mark, fmt::format("more than {} keys", kKeysMax));
    mapping.keys.push_back(key);
    mapping.key_lines.push_back(line_of(mark));
  }

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (++values_ > kValuesMax) fail(mark, fmt::format("more than {} values", kValuesMax));
    if (anchor != 0) refuse_anchor(mark);
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(mark, fmt::format("the tag \"{}\" is not allowed here", tag), "write the value alone");
    }
  }

  void add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
           YamlNode::Kind kind, const std::string& text) {
    check(mark, tag, anchor);
    if (awaits_key()) {
      if (kind == YamlNode::Kind::null) fail(mark, "a key is missing before \":\"");
      return add_key(mark, text);
    }
    refuse_control(mark, text, false);
    YamlNode node;
    node.kind = kind;
    node.line = line_of(mark);
    node.text = text;
    keep(std::move(node));
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    check(mark, tag, anchor);
    if (open_.size() == kDepthMax)
      fail(mark, fmt::format("nested deeper than {} levels", kDepthMax));
    YamlNode node;
    node.kind = kind;
    node.line = line_of(mark);
    open_.push_back({std::move(node), awaits_key()});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.as_key) {
      throw Error(Place{file_, closed.node.line, {}},
                  "a key must be a word, not a list or a mapping");
    }
    keep(std::move(closed.node));
  }

  void keep(YamlNode node) {
    if (open_.empty()) {
      root = std::move(node);
      seen = true;
    } else {
      open_.back().node.items.push_back(std::move(node));
    }
  }

  const std::string& file_;
  std::vector<Open> open_;
  std::size_t values_ = 0;
};

/// Refuses what is not text before the parser sees it.
void check_text(const std::string& text, const std::string& file) {
  if (text.size() > kYamlSizeMax) {
    throw Error(Place{file, 0, {}}, fmt::format("larger than {} MiB", kYamlSizeMax >> 20));
  }
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != std::string::npos && text[first] == '<') {
    throw Error(Place{file, 1, {}}, "this is XML", "a YAML file is expected");
  }
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const bool control = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    const std::size_t length = control ? 0 : utf8_length(text, at);
    if (length == 0) {
      throw Error(Place{file, line, {}},
                  fmt::format("byte 0x{:02x} does not belong in a text file", c),
                  "a YAML file in UTF-8 is expected");
    }
    at += length;
    if (c == '\n') {
      ++line;
      line_start = at;
    } else if (at - line_start > kLineMax) {
      throw Error(Place{file, line, {}}, "the line is longer than 1 MiB");
    }
  }
}

}  // namespace

YamlNode parse_yaml(const YamlText& yaml, const std::string& file) {
  if (!yaml.packed.empty()) return unpack_yaml(yaml.packed);
  const std::string text(yaml.text);
  check_text(text, file);
  std::istringstream stream(text);
  TreeBuilder builder(file);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      if (builder.seen && parser) {
        throw Error(Place{file, 0, {}}, "more than one YAML document",
                    "write one document per file");
      }
    }
  } catch (const YAML::Exception& e) {
    throw Error(Place{file, line_of(e.mark), {}}, "not valid YAML: " + e.msg);
  }
  if (builder.root.kind == YamlNode::Kind::null)
    throw Error(Place{file, 0, {}}, "the file is empty");
  return std::move(builder.root);
}

}  // namespace fabricast
