// Goal: what is written as UTF-8 is UTF-8. Method: the first and the last character of each length
// that RFC 3629 (section 4) has, and what lies beside them.
#include "text/quoting.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string_view>

using namespace fabricast;

TEST_CASE("UTF-8: the first and the last character of each length") {
  const auto length = [](std::string_view text) { return utf8_length(text, 0); };
  CHECK(length(std::string_view("\0", 1)) == 1);
  CHECK(length("\x7f") == 1);
  for (const char* two : {"\xc2\x80", "\xdf\xbf"}) CHECK(length(two) == 2);
  // U+0800, the last before surrogates, the first behind them, U+FFFF.
  for (const char* three : {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf"})
    CHECK(length(three) == 3);
  for (const char* four : {"\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) CHECK(length(four) == 4);
  CHECK(utf8_length("a\xc3\xbc", 1) == 2);
}

TEST_CASE("UTF-8: forms too long, surrogates, what is beyond the last, and halves are none") {
  for (const char* none :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82",
        "\xf0\x9f\x98", "\xc3 ", "\xe2\x82 ", "\xf0\x9f\x98 "}) {
    CAPTURE(none);
    CHECK(utf8_length(none, 0) == 0);
  }
}

TEST_CASE("UTF-8: bytes that are none are replaced, each") {
  CHECK(utf8_text("a\xfc z\xc3\xbc") == "a\uFFFD z\xc3\xbc");
  CHECK(utf8_text("\xed\xa0\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(yaml_text("\xed\xb0\xb1") == "\"\uFFFD\uFFFD\uFFFD\"");
}
