#include <doctest/doctest.h>

#include <string>

#include "models/io/formats/csv_table.hpp"
#include "tests/unit/error_text.hpp"
#include "text/quoting.hpp"

using namespace fabricast;

namespace {

std::string csv_error(const std::string& text) {
  return error_text([&] { CsvTable(text, "a.csv"); });
}

}  // namespace

TEST_CASE("CSV: quotes, doubled quotes, line breaks in quotes, either line end") {
  const CsvTable table("a,\"b c\"\r\n1,\"x, \"\"y\"\"\"\r\n,\"two\nlines\"\n\n3,4", "a.csv");
  REQUIRE(table.rows() == 3);
  CHECK(table.row(0).text("a") == "1");
  CHECK(table.row(0).text("b c") == "x, \"y\"");
  CHECK(table.row(1).text("a").empty());
  CHECK(table.row(1).text("b c") == "two\nlines");
  CHECK(table.row(1).place("a").line == 3);
  CHECK(table.row(2).place("a").line == 6);  // the record before took two lines, one is blank
  CHECK(table.row(2).whole("a", 1, 9) == 3);
  CHECK_FALSE(table.row(1).whole("a", 1, 9));
  CHECK_FALSE(table.row(1).whole("no such column", 1, 9));
  CHECK(csv_field("x, \"y\"") == "\"x, \"\"y\"\"\"");
}

TEST_CASE(
    "CSV: rows that are broken are left out where that is asked for, and what follows is read") {
  // A row too short, a stray quote, a quote that never ends: the line after each is read.
  std::vector<Error> broken;
  const CsvTable table("a,b\n1,2\n3\nx\"y,4\n5,6\n\"7,8\n9,10\n", "a.csv", &broken);
  REQUIRE(table.rows() == 3);
  CHECK(table.row(1).text("a") == "5");
  CHECK(table.row(1).place().line == 5);
  CHECK(table.row(2).text("b") == "10");
  CHECK(table.row(2).place().line == 7);
  REQUIRE(broken.size() == 3);
  CHECK(broken[0].reason() == "a.csv:3: 1 fields, the header has 2");
  CHECK(broken[1].reason() == "a.csv:4: a quote inside a field that does not begin with one");
  CHECK(broken[2].reason() == "a.csv:6: a quote that never ends");
  CHECK(error_text([&] { CsvTable("a,a\n", "a.csv", &broken); }) == "a.csv:1: column \"a\" twice");
}

TEST_CASE("CSV: what is broken is named with its line") {
  CHECK(csv_error("") == "a.csv: the file is empty: a header is missing");
  CHECK(csv_error("a,a\n") == "a.csv:1: column \"a\" twice");
  CHECK(csv_error("a,b\n1,2\n3\n") == "a.csv:3: 1 fields, the header has 2");
  CHECK(csv_error("a\n\"x\ny") == "a.csv:2: a quote that never ends");
  CHECK(csv_error("a\n\"x\"y\n") == "a.csv:2: text after the closing quote of a field");
  CHECK(csv_error("a\nx\"y\n") == "a.csv:2: a quote inside a field that does not begin with one");
  const CsvTable table("size,b\nx,-1\n", "a.csv");
  CHECK(error_text([&] { table.row(0).text("sizes"); }) ==
        "a.csv:1: no column \"sizes\"\nhint: \"size\" is there");
  CHECK(error_text([&] { table.row(0).whole("size", 1, 9); }) ==
        "a.csv:2: size: \"x\" is not a whole number from 1 to 9");
  CHECK(error_text([&] { table.row(0).positive("b"); }) ==
        "a.csv:2: b: \"-1\" is not a number from 0");
}
