#pragma once
// Words the user wrote: trimming them, and "did you mean ...?" for the known word closest to one.

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);

/// With small letters for capitals, those of ASCII.
std::string lower_case(std::string_view text);
bool same_in_any_case(std::string_view a, std::string_view b);

/// Its letters and digits, small: "RTX 2080-Ti" is "rtx2080ti".
std::string plain_word(std::string_view text);

/// Whether what stands in `text` at `at`, so many characters long, is no piece of a longer word:
/// there is no letter or digit right before or behind it.
bool is_whole_word(std::string_view text, std::size_t at, std::size_t size);

/// The items between commas, each trimmed: "a, b" is two, "" is one that is empty.
std::vector<std::string_view> comma_items(std::string_view text);
/// The same as strings, which outlive the text; none of "".
std::vector<std::string> comma_words(std::string_view text);

/// The known word closest to `word`, or "" when nothing is near. Edit distance where a change of
/// case counts half; a word that begins a known one ("H100") is near, too. Ties: the shorter one,
/// then the first.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// `did you mean "GB/s"?`, or all known words when none is near, or "" when there are none.
std::string hint_nearest(std::string_view word, const std::vector<std::string>& known);

/// Throws Error: `unknown WHAT "wrod"`, with that hint.
[[noreturn]] void fail_unknown(std::string_view what, std::string_view word,
                               const std::vector<std::string>& known);

}  // namespace fabricast
