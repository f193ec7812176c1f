// Goal: a text is a number of a type or it is none; nothing is read that is not there.
// Method: both sides of every limit, and all that other readers of numbers let pass.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "text/numbers.hpp"

using namespace fabricast;

TEST_CASE("whole numbers: all of the text, within the type") {
  CHECK(to_number<int>("0") == 0);
  CHECK(to_number<int>("-0") == 0);
  CHECK(to_number<int>("-12") == -12);
  CHECK(to_number<int>("007") == 7);
  for (const char* none : {"", "+1", " 1", "1 ", "1,", "1.0", "1e3", "0x10", "--1", "-", "- 1",
                           "1_000", "1'000", "x", "\t1", "1\n"}) {
    CAPTURE(none);
    CHECK_FALSE(to_number<int>(none).has_value());
  }
  CHECK_FALSE(to_number<int>(std::string_view("1\0", 2)).has_value());
  CHECK_FALSE(to_number<int>(std::string_view()).has_value());
  CHECK(to_number<int>(std::string_view("123").substr(0, 2)) == 12);
}

TEST_CASE("limits of types, and one beyond") {
  CHECK(to_number<int>("2147483647") == 2'147'483'647);
  CHECK_FALSE(to_number<int>("2147483648").has_value());
  CHECK(to_number<int>("-2147483648") == std::numeric_limits<int>::min());
  CHECK_FALSE(to_number<int>("-2147483649").has_value());
  CHECK(to_number<std::int16_t>("32767") == 32'767);
  CHECK_FALSE(to_number<std::int16_t>("32768").has_value());
  CHECK(to_number<std::int64_t>("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(to_number<std::int64_t>("9223372036854775808").has_value());
  CHECK(to_number<std::int64_t>("-9223372036854775808") ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(to_number<std::uint64_t>("18446744073709551615") ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(to_number<std::uint64_t>("18446744073709551616").has_value());
  CHECK_FALSE(to_number<std::uint64_t>("-0").has_value());
  CHECK_FALSE(to_number<std::uint64_t>("-1").has_value());
}

TEST_CASE("other bases have no prefix") {
  CHECK(to_number<std::uint64_t>("fFfF", 16) == 0xffff);
  CHECK(to_number<std::uint64_t>("ffffffffffffffff", 16) == ~std::uint64_t{0});
  CHECK_FALSE(to_number<std::uint64_t>("10000000000000000", 16).has_value());
  CHECK_FALSE(to_number<std::uint64_t>("0xff", 16).has_value());
  CHECK_FALSE(to_number<std::uint64_t>("fg", 16).has_value());
  CHECK(to_number<std::uint64_t>("101", 2) == 5);
  CHECK_FALSE(to_number<std::uint64_t>("102", 2).has_value());
}

TEST_CASE("numbers with a fraction") {
  CHECK(to_number<double>("2.5") == 2.5);
  CHECK(to_number<double>("-2.5e-3") == -0.0025);
  CHECK(to_number<double>("1e5") == 100'000);
  CHECK(to_number<double>(".5") == 0.5);
  CHECK(to_number<double>("5.") == 5);
  CHECK(std::signbit(to_number<double>("-0").value()));
  CHECK(to_number<double>("1.7976931348623157e308") == std::numeric_limits<double>::max());
  for (const char* none : {"", ".", "+1", " 1", "1 ", "1,5", "1e", "0x10", "1e400", "-1e400",
                           "1e-400", "e5", "1.2.3"}) {
    CAPTURE(none);
    CHECK_FALSE(to_number<double>(none).has_value());
  }
  CHECK(to_number<float>("3e38") == 3e38f);
  CHECK_FALSE(to_number<float>("4e38").has_value());
}

TEST_CASE("infinity and nan are numbers, but not finite ones") {
  CHECK(to_number<double>("inf") == std::numeric_limits<double>::infinity());
  CHECK(to_number<double>("-inf") == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(to_number<double>("nan").value()));
  for (const char* none : {"inf", "-inf", "infinity", "nan", "-nan", "NaN", "1e400", "", "1 "}) {
    CAPTURE(none);
    CHECK_FALSE(finite_number(none).has_value());
  }
  CHECK(finite_number("1e300") == 1e300);
  CHECK(finite_number("-7") == -7);
}

TEST_CASE("a number in front of other text") {
  std::string_view text = "12.5 GB/s";
  CHECK(take_number<double>(text) == 12.5);
  CHECK(text == " GB/s");
  CHECK_FALSE(take_number<double>(text).has_value());
  CHECK(text == " GB/s");

  text = "3-7";
  CHECK(take_number<int>(text) == 3);
  CHECK(take_number<int>(text) == -7);
  CHECK(text.empty());
  CHECK_FALSE(take_number<int>(text).has_value());

  text = "99999999999:";
  CHECK_FALSE(take_number<int>(text).has_value());
  CHECK(text == "99999999999:");
  CHECK(take_number<std::int64_t>(text) == 99'999'999'999);
  CHECK(text == ":");

  CHECK(leading_number<int>("8x4") == 8);
  CHECK(leading_number<int>("0x10") == 0);
  CHECK(leading_number<int>("1.5") == 1);
  CHECK(leading_number<std::uint64_t>("ff:1", 16) == 255);
  CHECK_FALSE(leading_number<int>("x4").has_value());
  CHECK_FALSE(leading_number<int>(" 8").has_value());
  CHECK_FALSE(leading_number<int>("+8").has_value());
  CHECK_FALSE(leading_number<int>("").has_value());
}

TEST_CASE("a whole number may be larger than any type") {
  for (const char* whole : {"0", "-0", "12", "-5", "99999999999999999999999999"}) {
    CAPTURE(whole);
    CHECK(is_whole_number(whole));
  }
  for (const char* none : {"", "-", "--1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "inf"}) {
    CAPTURE(none);
    CHECK_FALSE(is_whole_number(none));
  }
}
