// Text of any kind, put into YAML, CSV, JSON, a shell's word, a comment and onto a terminal: it
// comes back as it was, or is one harmless line. Method: strings of characters that mean something
// to one of these, seeded; each is read back by the readers of this program, and the shell's by its
// rules.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/yaml_tree.hpp"
#include "sim/base/random.hpp"
#include "tests/invariants/cases.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

const std::vector<std::string> kPieces = {
    "a",    " ",        "\"",   "'",        "\\",     "$(x)",   "`x`",
    "\n",   "\t",       "\r",   ",",        "#",      ": ",     "- ",
    "\x01", "\x1b[31m", "\x7f", "\xc2\x9b", ";",      "|",      "&",
    "%",    "{",        "}",    "[",        "]",      "*",      "!",
    "=",    "@",        "null", "\u00e4",   "\u2028", "\u2029", "\xf0\x9f\x98\x80"};

std::string random_text(Random& lots) {
  std::string out;
  for (std::uint32_t left = lots.below(8) + 1; left > 0; --left)
    out += kPieces[lots.below(static_cast<std::uint32_t>(kPieces.size()))];
  return out;
}

/// What a POSIX shell makes of one word in which only single quotes and \' quote.
std::string of_shell(const std::string& word) {
  std::string out;
  bool in_quotes = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      in_quotes = !in_quotes;
    } else if (!in_quotes && word[i] == '\\') {
      out += word[++i];
    } else {
      CHECK(
          (in_quotes || std::string(" \"$`;|&#*!{}[]()<>\n\t").find(word[i]) == std::string::npos));
      out += word[i];
    }
  }
  CHECK_FALSE(in_quotes);
  return out;
}

/// Line breaks and tabs aside, and those of Unicode, which a terminal does not act on.
bool is_harmless(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  const auto found = control_in(text);
  return !found || *found == "a line break";
}

/// In one line for any reader, tabs aside.
bool is_one_line(std::string text) {
  std::ranges::replace(text, '\t', ' ');
  return !control_in(text);
}

TEST_CASE("quoting: text comes back as it was") {
  Random lots(20);
  for (int i = 0; i < testing::random_cases(4000); ++i) {
    const std::string text = random_text(lots);
    CAPTURE(text);
    // JSON reads what YAML's double quotes hold; YAML itself refuses control characters.
    const std::string quoted = yaml_text(text);
    CHECK(nlohmann::json::parse(quoted).get<std::string>() == text);
    CHECK(is_one_line(quoted));
    if (!control_in(text)) CHECK(parse_yaml("k: " + quoted, "t").items[0].text == text);
    const CsvTable table("a,b\n" + csv_field(text) + ",x\n", "t");
    CHECK(table.row(0).text("a") == text);
    CHECK(table.row(0).text("b") == "x");
    CHECK(of_shell(shell_word(text)) == text);
    CHECK(is_harmless(terminal_text(text)));
    CHECK(is_one_line(line_text(text)));
    // What is printed twice is no longer changed.
    CHECK(terminal_text(terminal_text(text)) == terminal_text(text));
  }
}

}  // namespace
}  // namespace fabricast
