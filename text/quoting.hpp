#pragma once
// How text that came from outside (names, titles, paths, values) is put into what is written for a
// terminal, a shell, YAML or CSV: one rule for each, used by everything that writes it.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fabricast {

/// Bytes of the character of UTF-8 that begins at `at`, as RFC 3629 has them: in no longer form
/// than it takes, no surrogates, none beyond U+10FFFF. 0 = none does. REQUIRES: at < text.size().
std::size_t utf8_length(std::string_view text, std::size_t at);
/// As it is, for who reads nothing but UTF-8: bytes that are none become U+FFFD.
std::string utf8_text(std::string_view text);

/// Nothing that a terminal acts on: control characters except line break and tab as "\u001b",
/// which is what JSON's strings take, too. Bytes that are no UTF-8 are kept, as "\u009b" where one
/// alone is a control character of ISO 8859-1.
std::string terminal_text(std::string_view text);
/// The same in one line, for comments: line breaks, also those of Unicode, as "\u000a".
std::string line_text(std::string_view text);
/// What a terminal or a reader of lines would act on; nothing: none. Line breaks and tabs are.
std::optional<std::string> control_in(std::string_view text);

/// One word of a POSIX shell, in single quotes where it needs them.
std::string shell_word(std::string_view text);
/// A line of a shell script that prints `text`. Not with echo, which acts on backslashes.
std::string shell_print(std::string_view text);
/// In double quotes, as YAML and JSON both read it. Bytes that are no UTF-8 become U+FFFD.
std::string yaml_text(std::string_view text);
/// Text between or in the attributes of the tags of XML and HTML.
std::string markup_text(std::string_view text);
/// A field as RFC 4180 writes it: in quotes where it needs them.
std::string csv_field(std::string_view text);
/// A line of nccl.conf, which knows no quotes: the value is all that follows "=" (NCCL 2.30.7,
/// src/misc/param.cc, setEnvFile). REQUIRES: no line break in it.
std::string nccl_conf_line(std::string_view name, std::string_view value);
/// JSON (of nlohmann's library) in one line. Bytes that are no UTF-8 become U+FFFD.
template <class Json>
std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
/// The same as a document of many lines.
template <class Json>
std::string json_document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fabricast
