// Goal: a file that travels in the program is read as the file itself would be. Method: the tree
// that the build made is compared with what the parser makes of the text, value by value and line
// by line.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/io/formats/yaml_pack.hpp"
#include "models/io/shipped/embedded.hpp"

using namespace fabricast;

namespace {

/// Where two trees first differ; "" = nowhere.
std::string difference(const YamlNode& a, const YamlNode& b) {
  const std::string here = "line " + std::to_string(a.line);
  if (a.kind != b.kind || a.line != b.line || a.text != b.text) return here;
  if (a.keys != b.keys || a.key_lines != b.key_lines || a.items.size() != b.items.size())
    return here;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (std::string found = difference(a.items[i], b.items[i]); !found.empty()) return found;
  return {};
}

std::string difference_after_packing(const std::string& text) {
  const YamlNode tree = parse_yaml(text, "t.yaml");
  return difference(tree, unpack_yaml(pack_yaml(tree)));
}

}  // namespace

TEST_CASE("every embedded file of YAML has the tree of its text") {
  for (const auto& files :
       {embedded_topologies(), embedded_workloads(), embedded_tuners(), embedded_variables()}) {
    REQUIRE(!files.empty());
    for (const EmbeddedFile& file : files) {
      CAPTURE(file.name);
      REQUIRE(!file.packed.empty());
      const YamlNode parsed = parse_yaml(std::string(file.text), "t.yaml");
      CHECK(difference(parsed, parse_yaml(file.yaml(), "t.yaml")) == "");
    }
  }
  for (const EmbeddedFile& file : embedded_texts()) CHECK(file.packed.empty());
}

TEST_CASE("packing keeps empty values, empty lists, long texts and lines that go back") {
  CHECK(difference_after_packing("a:\nb: []\nc: {}\nd: ''\n") == "");
  CHECK(difference_after_packing("- [1, [2, 3]]\n- {a: {b: c}, d: e}\n\n\n- x\n") == "");
  CHECK(difference_after_packing("a: |\n  one\n  two\nb: >\n  three\n\n  four\n") == "");
  CHECK(difference_after_packing("a: \"" + std::string(70'000, 'x') + "\"\n") == "");
  CHECK(difference_after_packing(fmt::format("{}a: \"\\u00e9\"\n", std::string(300, '\n'))) == "");
  // A mapping of many keys, each on a line of its own.
  std::string keys;
  for (int i = 0; i < 300; ++i) keys += "key" + std::to_string(i) + ":\n  value\n";
  CHECK(difference_after_packing(keys) == "");
  YamlNode back;  // lines may go back: no parser makes this
  back.kind = YamlNode::Kind::sequence;
  back.line = 1000;
  back.items.resize(2);
  back.items[0].line = 1;
  back.items[1].line = 1'000'000;
  CHECK(difference(back, unpack_yaml(pack_yaml(back))) == "");
}

TEST_CASE("a mistake in a file that was parsed before is named with its line") {
  const std::string text = "kind: parts\n\ngpus:\n  X: {sm: 90, sm_typo: 1}\n";
  const std::string packed = pack_yaml(parse_yaml(text, "t.yaml"));
  const YamlNode tree = parse_yaml(YamlText(text, packed), "t.yaml");
  CHECK(tree.items[1].items[0].line == 4);
  CHECK(tree.key_lines == std::vector<int>{1, 3});
}
