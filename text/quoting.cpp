#include "text/quoting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>

namespace fabricast {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

constexpr std::string_view kLineSeparator = "\u2028", kParagraphSeparator = "\u2029",
                           kReplacement = "\uFFFD";

/// The control character that begins here, of ASCII or of ISO 8859-1, where it is one.
std::optional<unsigned> control_at(std::string_view text, std::size_t i, std::size_t bytes) {
  const unsigned lead = byte_at(text, i);
  if (bytes == 1 && lead < 0x20 && lead != '\n' && lead != '\t') return lead;
  if (bytes == 1 && lead >= 0x7f && lead < 0xa0) return lead;
  if (bytes == 2 && lead == 0xc2 && byte_at(text, i + 1) < 0xa0) return byte_at(text, i + 1);
  return std::nullopt;
}

/// Each character by `write(character, control)`, where `control` is its number or nothing.
template <class Write>
void for_each_character(std::string_view text, Write write) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = std::max<std::size_t>(1, utf8_length(text, i));
    write(text.substr(i, bytes), control_at(text, i, bytes));
    i += bytes;
  }
}

bool is_line_break(std::string_view character) {
  return character == "\n" || character == kLineSeparator || character == kParagraphSeparator;
}

std::string visible(unsigned control) { return fmt::format("\\u{:04x}", control); }

bool is_broken(std::string_view character) {
  return character.size() == 1 && byte_at(character, 0) >= 0x80;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xc2   ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  // The second byte of some says whether the form is too long, a surrogate or beyond the last.
  const unsigned second = byte_at(text, at + 1);
  const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (std::size_t k = 2; k < length; ++k) {
    if ((byte_at(text, at + k) & 0xc0U) != 0x80U) return 0;
  }
  return length;
}

std::string utf8_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view character, std::optional<unsigned>) {
    out += is_broken(character) ? kReplacement : character;
  });
  return out;
}

std::string terminal_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view character, std::optional<unsigned> control) {
    out += control ? visible(*control) : std::string(character);
  });
  return out;
}

std::string line_text(std::string_view text) {
  std::string out;
  for_each_character(text, [&](std::string_view character, std::optional<unsigned> control) {
    if (is_line_break(character)) control = '\n';
    out += control ? visible(*control) : std::string(character);
  });
  return out;
}

std::optional<std::string> control_in(std::string_view text) {
  std::optional<std::string> out;
  for_each_character(text, [&](std::string_view character, std::optional<unsigned> control) {
    if (out) return;
    if (is_line_break(character)) out = "a line break";
    if (character == "\t") out = "a tab";
    if (control) out = fmt::format("a control character (0x{:02x})", *control);
  });
  return out;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/=@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_print(std::string_view text) {
  return fmt::format("printf '%s\\n' {}", shell_word(text));
}

std::string yaml_text(std::string_view text) {
  std::string out = "\"";
  for_each_character(text, [&](std::string_view character, std::optional<unsigned> control) {
    if (character == "\n" || character == "\t") {
      out += character == "\n" ? "\\n" : "\\t";
    } else if (is_line_break(character)) {
      out += character == kLineSeparator ? "\\u2028" : "\\u2029";
    } else if (control) {
      out += visible(*control);
    } else if (is_broken(character)) {
      out += kReplacement;
    } else {
      if (character == "\"" || character == "\\") out += '\\';
      out += character;
    }
  });
  return out + '"';
}

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string nccl_conf_line(std::string_view name, std::string_view value) {
  assert(value.find('\n') == std::string_view::npos);
  return fmt::format("{}={}\n", name, value);
}

}  // namespace fabricast
