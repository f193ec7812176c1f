// Prints a .cpp that holds data files: embed [@TABLE FILE ...] ...
// Each table is a function of models/io/shipped/embedded.hpp, embedded_TABLE(). YAML is parsed
// here, so that the program need not do it each time it starts.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/formats/text_file.hpp"
#include "models/io/formats/yaml_pack.hpp"

namespace fabricast {
namespace {

constexpr std::size_t kLiteralMax = 8000;  // one may hold at most 65,535 characters portably

/// String literals side by side, which are one.
std::string literals(std::string_view content) {
  std::string out = "\"";
  std::size_t in_literal = 0;
  for (const char c : content) {
    if (++in_literal > kLiteralMax) {
      out += "\"\n\"";
      in_literal = 1;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"sv";
}

std::string entry(const std::filesystem::path& path) {
  const std::string text = read_text_file(path.string());
  const bool is_yaml = path.extension() == ".yaml";
  const bool by_stem = is_yaml || path.extension() == ".json";
  const std::string name = by_stem ? path.stem().string() : path.filename().string();
  const std::string packed = is_yaml ? pack_yaml(parse_yaml(text, path.string())) : "";
  return fmt::format("    {{{},\n{},\n{}}},\n", literals(name), literals(text), literals(packed));
}

std::string embedded(std::span<const std::string> tables_and_files) {
  std::string out =
      "// Generated from data files by models/io/shipped/embed/embed.cpp.\n"
      // Literals side by side are longer than the standard asks for, not than gcc and clang take.
      "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
      "#include \"models/io/shipped/embedded.hpp\"\n\n"
      "namespace fabricast {\n"
      "using namespace std::string_view_literals;\n";
  std::string table;
  const auto close = [&] {
    if (!table.empty())
      out += fmt::format("}};\nstd::span<const EmbeddedFile> embedded_{0}() {{ return k_{0}; }}\n",
                         table);
  };
  for (const std::string& word : tables_and_files) {
    if (!word.starts_with('@')) {
      out += entry(word);
      continue;
    }
    close();
    table = word.substr(1);
    out += fmt::format("\nstatic constexpr EmbeddedFile k_{}[] = {{\n", table);
  }
  close();
  return out + "\n}  // namespace fabricast\n";
}

}  // namespace
}  // namespace fabricast

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string text = fabricast::embedded(words);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "embed: %s\n", error.what());
  return 1;
}
