// Goal: what is no formula, or has no answer in a row, is refused with its place and what to write.
// Method: every message once, each with the character that a reader counts.

#include <doctest/doctest.h>

#include "tests/unit/io/formula_cases.hpp"

using namespace fabricast;
using namespace fabricast::formula_test;

TEST_CASE("formulas: conditions are told from numbers and texts") {
  CHECK(Formula::parse("nodes > 4").is_condition());
  CHECK(Formula::parse("fits").is_condition());  // as far as can be told
  CHECK_FALSE(Formula::parse("nodes + 4").is_condition());
  CHECK_FALSE(Formula::parse("\"x\"").is_condition());
  CHECK(refused_in_row("nodes + 4") ==
        "\"nodes + 4\" is no condition\nhint: compare it, like step_s < 1.5");
  CHECK(refused_in_row("nodes") ==
        "\"nodes\" is the number 4, no condition\nhint: compare it, like step_s < 1.5");
  CHECK(refused_in_row("topology") ==
        "\"topology\" is the text \"dgx-h100\", no condition\nhint: compare it, like step_s < 1.5");
}

TEST_CASE("formulas: unknown columns") {
  CHECK(refused("stepp_s < 3") ==
        "character 1: unknown column \"stepp_s\"\nhint: did you mean \"step_s\"?");
  CHECK(refused("nodes > 3 and base.stepp_s < 3") ==
        "character 15: unknown column \"base.stepp_s\"\nhint: did you mean \"base.step_s\"?");
  CHECK(refused("stepp_s-base.step_s < 3") ==
        "character 1: unknown column \"stepp_s-base.step_s\"\nhint: did you mean \"step_s\"?");
  CHECK(refused("toplogy = \"dgx-h100\"") ==
        "character 1: unknown column \"toplogy\"\nhint: did you mean \"topology\"?");
  CHECK(refused("toplogy = dgx-h100") ==
        "character 1: unknown column \"toplogy\"\nhint: did you mean \"topology\"?");
  CHECK(refused("node < nodes") ==
        "character 1: unknown column \"node\"\nhint: did you mean \"nodes\"?");
  CHECK(refused("nodes + node > 3") ==
        "character 9: unknown column \"node\"\nhint: did you mean \"nodes\"?");
  CHECK(refused("fits and fit") ==
        "character 10: unknown column \"fit\"\nhint: did you mean \"fits\"?");
  CHECK(refused("true = fit") ==
        "character 8: unknown column \"fit\"\nhint: did you mean \"fits\"?");
  CHECK(refused("fit") == "character 1: unknown column \"fit\"\nhint: did you mean \"fits\"?");
  CHECK(refused("-fit < 1") == "character 2: unknown column \"fit\"\nhint: did you mean \"fits\"?");
  CHECK(refused("busbw[size_bytes=1] > 1") ==
        "character 1: unknown column \"busbw\"\nhint: did you mean \"busbw_GBps\"?");
  CHECK(refused("busbw_GBps[size=1] > 1") ==
        "character 12: unknown column \"size\"\nhint: did you mean \"size_bytes\"?");
  CHECK(error_text([] {
          Formula::parse("zzz > 1", {"a", "b"});
        }) == "character 1: unknown column \"zzz\"\nhint: known: a, b");
}

TEST_CASE("formulas: what is no formula") {
  CHECK(refused("") ==
        "character 1: an empty formula\nhint: write a condition, like busbw_GBps >= 350");
  CHECK(refused(" \n") ==
        "character 1: an empty formula\nhint: write a condition, like busbw_GBps >= 350");
  CHECK(refused("nodes >") == "character 8: expected a column, a number or a text, found the end");
  CHECK(refused("nodes > and fits") ==
        "character 9: expected a column, a number or a text, found \"and\"");
  CHECK(refused("nodes > * 3") ==
        "character 9: expected a column, a number or a text, found \"*\"");
  CHECK(refused("(nodes > 1") == "character 11: expected \")\", found the end");
  CHECK(refused("nodes > 1)") == "character 10: expected the end, found \")\"");
  CHECK(refused("nodes > 1 \"") == "character 11: expected the end, found '\"'");
  CHECK(refused("nodes > 1 fits") == "character 11: expected the end, found \"fits\"");
  CHECK(refused("nodes > .5") == "character 9: expected a column, a number or a text, found \".\"");
  CHECK(refused("topology = \"\u00e9\u00e9\" \u00e9") ==
        "character 17: expected the end, found \"\u00e9\"");
  CHECK(refused("topology = \"dgx") ==
        "character 12: a text begins here whose quote never ends\n"
        "hint: a text ends with the same quote");
  CHECK(refused("1 < nodes < 3") ==
        "character 11: a second comparison without \"and\"\nhint: write 1 < x and x < 3");
  CHECK(refused("not not fits") ==
        "character 5: expected a column, a number or a text, found \"not\"");
  CHECK(refused("sum(nodes, 3) > 1") ==
        "character 1: unknown function \"sum\"\nhint: known: min, max");
  CHECK(refused("mix(nodes, 3) > 1") ==
        "character 1: unknown function \"mix\"\nhint: did you mean \"min\"?");
  CHECK(refused("min(nodes) > 1") ==
        "character 1: \"min\" of one number\nhint: two or more, with commas between them");
  CHECK(refused("min(nodes, 1 > 1") == "character 14: expected \",\" or \")\", found \">\"");
}

TEST_CASE("formulas: what other languages write") {
  CHECK(refused("fits && fits") == "character 6: expected the end, found \"&\"\nhint: write and");
  CHECK(refused("fits || fits") == "character 6: expected the end, found \"|\"\nhint: write or");
  CHECK(refused("fits AND fits") ==
        "character 6: expected the end, found \"AND\"\nhint: write and");
  CHECK(refused("NOT fits") ==
        "character 1: expected a column, a number or a text, found \"NOT\"\nhint: write not");
  CHECK(refused("!fits") ==
        "character 1: expected a column, a number or a text, found \"!\"\n"
        "hint: write not, or !=");
  CHECK(refused("nodes <> 3") ==
        "character 8: expected a value, found \">\"\nhint: the comparisons are < <= > >= = !=");
  CHECK(refused("nodes =< 3") ==
        "character 8: expected a value, found \"<\"\nhint: the comparisons are < <= > >= = !=");
}

TEST_CASE("formulas: numbers and units that are none") {
  CHECK(refused("nodes > 1e999") == "character 9: \"1e999\" is too large or too small");
  CHECK(refused("size_bytes > 4 KB") ==
        "character 16: unknown unit \"KB\"\nhint: did you mean \"kB\"?");
  CHECK(refused("time_us > 3 fortnights") ==
        "character 13: unknown unit \"fortnights\"\n"
        "hint: units are like us, GiB, Gb/s, USD, %; a text stands in quotes");
  CHECK(refused("time_us > 1e3 ms") ==
        "character 11: \"1e3 ms\" has an exponent and a unit\n"
        "hint: write all digits, or another unit");
  CHECK(refused("time_us > 0.0001 ns") ==
        "character 11: \"0.0001 ns\" is not a whole number of ps");
  CHECK(refused("busbw_GBps > \"99999999999 GB/s\"") ==
        "character 14: \"99999999999 GB/s\" is too large");
  CHECK(refused("time_us > 3 nodes") == "character 13: expected the end, found \"nodes\"");
  const std::string hint =
      "\nhint: a column's name ends in its unit, like time_us; beside others write the number "
      "alone";
  CHECK(refused("time_us > 1 GiB") ==
        "character 11: no column here is a size as \"1 GiB\" is" + hint);
  CHECK(refused("nodes * 2 > 1 us") ==
        "character 13: no column here is a time as \"1 us\" is" + hint);
  CHECK(refused("size_bytes / time_us > 50 GB/s") ==
        "character 24: no column here is a rate as \"50 GB/s\" is" + hint);
  CHECK(refused("1 USD + 2") == "character 1: no column here is a price as \"1 USD\" is" + hint);
  CHECK(refused("tokens_per_s * 2 > 1 s") ==
        "character 20: no column here is a time as \"1 s\" is" + hint);
  CHECK(refused("time_us > step_s + 3 ms") ==
        "character 20: \"3 ms\" stands beside columns in us and in s\n"
        "hint: write the number alone, in the unit that is meant");
}

TEST_CASE("formulas: texts, numbers and conditions where they have no place") {
  const std::string text_hint = "\nhint: texts, true and false compare with = and != only";
  const std::string number_hint = "\nhint: only numbers go there, and columns that hold numbers";
  const std::string condition_hint = "\nhint: compare it, like step_s < 1.5";
  CHECK(refused("topology < \"dgx\"") == "character 12: \"<\" of a text" + text_hint);
  CHECK(refused("nccl >= 2.30.7") == "character 9: \">=\" of a text" + text_hint);
  CHECK(refused("\"dgx\" = \"hgx\"") ==
        "character 1: a text is compared with what is no column\n"
        "hint: one side names a column");
  CHECK(refused("\"a\" + 1 > 2") == "character 1: \"+\" of a text" + number_hint);
  CHECK(refused("2 * (fits = true)") == "character 6: \"*\" of a condition" + number_hint);
  CHECK(refused("-\"a\" > 2") == "character 2: \"-\" of a text" + number_hint);
  CHECK(refused("max(1, \"a\") > 2") == "character 8: \"max\" of a text" + number_hint);
  CHECK(refused("fits and 3") == "character 10: \"and\" of a number" + condition_hint);
  CHECK(refused("nodes + 1 or fits") == "character 1: \"or\" of a number" + condition_hint);
  CHECK(refused("not \"a\"") == "character 5: \"not\" of a text" + condition_hint);
  CHECK(refused("(nodes > 1) = 3") ==
        "character 13: \"=\" of a number and a condition" + text_hint);
  CHECK(refused("\"x\" = (nodes > 1)") ==
        "character 5: \"=\" of a text and a condition" + text_hint);
  CHECK(refused("(nodes > 1) < fits") == "character 13: \"<\" of a condition" + text_hint);

  CHECK(refused_in_row("topology < 3") ==
        "character 10: \"<\" of the text \"dgx-h100\"" + text_hint);
  CHECK(refused_in_row("fits > nodes") == "character 6: \">\" of true" + text_hint);
  CHECK(refused_in_row("topology * 2 > 3") ==
        "character 10: \"*\" of the text \"dgx-h100\"" + number_hint);
  CHECK(refused_in_row("-fits > 3") == "character 1: \"-\" of true" + number_hint);
  CHECK(refused_in_row("min(1, topology) > 3") ==
        "character 1: \"min\" of the text \"dgx-h100\"" + number_hint);
  CHECK(refused_in_row("fits and nodes") ==
        "character 6: \"and\" of the number 4" + condition_hint);
  CHECK(refused_in_row("not topology") ==
        "character 1: \"not\" of the text \"dgx-h100\"" + condition_hint);
  CHECK(refused_in_row("uplink > 1 GB/s", {{"uplink", 400.0}}) ==
        "character 1: \"uplink\" holds the number 400 without a unit\n"
        "hint: compare it with a number alone");
  CHECK(refused_in_row("uplink > 1 GB/s", {{"uplink", std::string("fast")}}) ==
        "character 8: \">\" of the text \"fast\"" + text_hint);
  CHECK(refused_in_row("uplink > 1 us", {{"uplink", std::string("99999999999 s")}}) ==
        "character 1: \"99999999999 s\" is too large");
}

TEST_CASE("formulas: filters that are none") {
  CHECK(refused("mfu[] > 1") == "character 5: expected a column, found \"]\"");
  CHECK(
      refused("mfu[nodes] > 1") ==
      "character 10: expected \"=\" behind \"nodes\"\nhint: a filter names one row: column=value");
  CHECK(
      refused("mfu[nodes==3] > 1") ==
      "character 11: expected \"=\" behind \"nodes\"\nhint: a filter names one row: column=value");
  CHECK(
      refused("mfu[nodes>3] > 1") ==
      "character 10: expected \"=\" behind \"nodes\"\nhint: a filter names one row: column=value");
  CHECK(refused("mfu[nodes=] > 1") ==
        "character 11: expected a value of \"nodes\", found \"\"\n"
        "hint: a value with other signs stands in quotes");
  CHECK(refused("mfu[nodes=a\"b] > 1") ==
        "character 11: expected a value of \"nodes\", found \"a\"b\"\n"
        "hint: a value with other signs stands in quotes");
  CHECK(refused("mfu[nodes=3 > 1") == "character 16: expected \",\" or \"]\", found the end");
  CHECK(refused("mfu[algo='x' y] > 1") == "character 14: expected \",\" or \"]\", found \"y\"");
  CHECK(refused("mfu[nodes=3, nodes=4] > 1") ==
        "character 14: \"nodes\" stands twice in the filter");
  CHECK(refused("mfu[base.nodes=3] > 1") ==
        "character 5: \"base.nodes\" in a filter\n"
        "hint: \"base.\" stands before the column that is filtered");
  CHECK(refused("mfu[size_bytes=4KB] > 1") ==
        "character 16: unknown unit \"KB\"\nhint: did you mean \"kB\"?");
  CHECK(refused("mfu[time_us=-5 us] > 1") ==
        "character 13: \"-5 us\" is negative\nhint: a time is zero or more");
  CHECK(refused("mfu[usd_per_step=4 EUR] > 1") ==
        "character 18: \"4 EUR\" is not a price\nhint: write it like 4 USD");
}

TEST_CASE("formulas: limits") {
  const std::string most(Formula::kCharactersMost, ' ');
  CHECK(refused(most + " ") == "a formula of 4097 characters\nhint: at most 4096");
  CHECK(Formula::parse("1" + most.substr(1)).canonical() == "1");
  const int nesting = Formula::kNestingMost;
  CHECK(value_of(repeated("(", nesting) + "1" + repeated(")", nesting)) == "1");
  CHECK(value_of(repeated("max(", nesting) + "1" + repeated(", 2)", nesting)) == "2");
  CHECK(refused(repeated("(", nesting + 1) + "1" + repeated(")", nesting + 1)) ==
        "character 65: more than 64 parentheses in each other");
  CHECK(value_of(repeated("(1) + ", 600) + "1") == "601");  // side by side: no limit
}

TEST_CASE("formulas: the place stays behind that of the file") {
  const std::string text = error_text([] {
    placed(Place{"a.yaml", 7, "where"}, [] { Formula::parse("nodes >"); });
  });
  CHECK(text ==
        "a.yaml:7: where: character 8: expected a column, a number or a text, found the end");
}
