#pragma once
// The files of web/ as they were when the program was built.

#include <array>
#include <span>
#include <string_view>

namespace fabricast {

struct EmbeddedScript {
  std::string_view text;
  std::string_view sha256;  ///< of the text, in hexadecimal
};

/// A page with places for its title, policy, style, data and scripts: `{{title}}` and so on.
struct EmbeddedPage {
  std::string_view page;
  std::array<std::string_view, 2> styles;
  std::array<EmbeddedScript, 3> scripts;  ///< in this order
};

/// A layout of scenarios/steps to begin with.
struct EmbeddedLayout {
  std::string_view name;  ///< without folder and extension
  std::string_view text;
};

std::span<const EmbeddedLayout> example_layouts();
EmbeddedPage embedded_report_page();
EmbeddedPage embedded_ui_page();

}  // namespace fabricast
