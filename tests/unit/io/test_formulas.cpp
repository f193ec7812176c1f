// Formulas over columns. Goal: each rule of the grammar means what docs/formulas.md says. Method:
// values derived by hand, both sides of each limit; and random formulas beside a second, simpler
// reckoning of them. What is refused: test_formula_errors.cpp.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/io/formulas/formula_units.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/io/formula_cases.hpp"

using namespace fabricast;
using namespace fabricast::formula_test;

TEST_CASE("formulas: products before sums before comparisons before not, and, or") {
  CHECK(value_of("1 + 2 * 3") == "7");
  CHECK(value_of("(1 + 2) * 3") == "9");
  CHECK(value_of("10 - 4 - 3") == "3");  // from the left
  CHECK(value_of("16 / 4 / 2") == "2");
  CHECK(value_of("-2 * -3") == "6");
  CHECK(value_of("2--3") == "5");
  CHECK(value_of("1 + 1 = 2 and 3 > 2") == "true");
  CHECK(value_of("true or true and false") == "true");
  CHECK(value_of("(true or true) and false") == "false");
  CHECK(value_of("not 1 > 2") == "true");
  CHECK(value_of("not true or true") == "true");
  CHECK(value_of("not (true or true)") == "false");
  CHECK(value_of("1.5e2\n+\t0.5") == "150.5");
}

TEST_CASE("formulas: both sides of each comparison") {
  const auto three = [](std::string_view sign) {  // against less, equal and more
    return value_of(fmt::format("1 {} 2", sign)) + " " + value_of(fmt::format("2 {} 2", sign)) +
           " " + value_of(fmt::format("3 {} 2", sign));
  };
  CHECK(three("<") == "true false false");
  CHECK(three("<=") == "true true false");
  CHECK(three(">") == "false false true");
  CHECK(three(">=") == "false true true");
  CHECK(three("=") == "false true false");
  CHECK(three("==") == "false true false");
  CHECK(three("!=") == "true false true");
}

TEST_CASE("formulas: min and max of two or more") {
  CHECK(value_of("min(3, 1, 2)") == "1");
  CHECK(value_of("max(nodes, 2 + 3)") == "5");
  CHECK(value_of("max(1, min(7, 4))") == "4");
  CHECK(value_of("min(nodes, absent)") == "none");
  CHECK(value_of("min", {{"min", 3.0}}) == "3");  // a column where no parenthesis follows
}

TEST_CASE("formulas: columns, those of the base, and with filters") {
  CHECK(holds("step_s <= 1.03 * base.step_s"));
  CHECK_FALSE(holds("step_s <= 1.01 * base.step_s"));
  CHECK(holds("site.nics = 8"));
  CHECK(holds("busbw_GBps[size_bytes=1GiB, collective=all_gather] >= 350"));
  CHECK_FALSE(holds("busbw_GBps[size_bytes = 1 GiB, collective = 'all_gather'] >= 360"));
  CHECK(holds("fits"));
  CHECK_FALSE(holds("not fits"));

  const Formula formula = Formula::parse("b > 1 and base.a[x=1] < b and a[x=1] > base.a[x=1]");
  std::string names;
  for (const FormulaName& name : formula.names()) names += to_text(name) + " ";
  CHECK(names == "b base.a[x=\"1\"] a[x=\"1\"] ");

  int asked = 0;
  formula.value([&](const FormulaName&) -> FormulaValue {
    ++asked;
    return 1.0;
  });
  CHECK(asked == 3);
}

TEST_CASE("formulas: what a filter's value becomes") {
  const auto wanted = [](const std::string& filter) {
    return Formula::parse("x[" + filter + "]").names()[0].filter[0].second;
  };
  CHECK(wanted("size_bytes=1GiB") == "1073741824");
  CHECK(wanted("size_bytes=\"4 MiB\"") == "4194304");
  CHECK(wanted("size_bytes=1000") == "1000");
  CHECK(wanted("step_s = 1500 ms") == "1.5");
  CHECK(wanted("loss=3 %") == "0.03");
  CHECK(wanted("loss=\"3 %\"") == "3 %");
  CHECK(wanted("topology=dgx-h100:x") == "dgx-h100:x");
  CHECK(wanted("nccl=2.30.7") == "2.30.7");
  CHECK(wanted("uplink=400 Gb/s") == "400 Gb/s");
  CHECK(wanted("x='a \"b\", [c]'") == "a \"b\", [c]");

  CHECK(is_filter_value(1073741824.0, "1073741824"));
  CHECK(is_filter_value(0.5, "0.50"));
  CHECK_FALSE(is_filter_value(0.5, "half"));
  CHECK(is_filter_value(std::string("2.30"), "2.30"));
  CHECK_FALSE(is_filter_value(std::string("2.30"), "2.3"));  // both texts
  CHECK(is_filter_value(true, "true"));
  CHECK_FALSE(is_filter_value({}, ""));
}

TEST_CASE("formulas: words that are no column are texts beside one") {
  CHECK(holds("topology = dgx-h100"));
  CHECK(holds("dgx-h100 = topology"));
  CHECK(holds("topology != dgx-b200"));
  CHECK(holds("topology=dgx-h100 and collective==all_gather"));
  CHECK(holds("topology = (dgx-h100)"));
  CHECK(holds("nccl = 2.30.7"));
  CHECK(holds("nccl != 2.30.7-1"));
  CHECK(known_value("algo = 4:1", {{"algo", std::string("4:1")}}) == "true");
  CHECK(known_value("algo = a:b", {{"algo", std::string("a:b")}}) == "true");
  CHECK(known_value("algo = 2026-11-30", {{"algo", std::string("2026-11-30")}}) == "true");
  // Behind a column a "-" is a minus; in the name of one it is none.
  CHECK(known_value("nodes-1") == "3");
  CHECK(known_value("over-sub") == "2");
  CHECK(known_value("nodes-over-sub-1") == "1");
  CHECK(known_value("over-sub-over-sub") == "0");
  // Where any name is a column, texts stand in quotes.
  CHECK(value_of("topology = \"dgx-h100\"") == "true");
  CHECK(value_of("nodes-site.nics") == "-4");
  CHECK(value_of("topology = 'dgx-h100' and nccl = 2.30.7") == "true");
}

TEST_CASE("formulas: units become those of the columns") {
  CHECK(canonical("time_us < 2 ms") == "time_us < 2000");
  CHECK(canonical("time_us < 700ns") == "time_us < 0.7");
  CHECK(canonical("wait_ns > 1.5 us") == "wait_ns > 1500");
  CHECK(canonical("1.5 s >= step_s") == "1.5 >= step_s");
  CHECK(canonical("base.step_s > 3 ms") == "base.step_s > 0.003");
  CHECK(canonical("size_bytes = 4 MiB") == "size_bytes = 4194304");
  CHECK(canonical("memory_GB <= 80 GB") == "memory_GB <= 80");
  CHECK(canonical("busbw_GBps >= 400 Gb/s") == "busbw_GBps >= 50");
  CHECK(canonical("busbw_GBps >= \"400 Gb/s\"") == "busbw_GBps >= 50");
  CHECK(canonical("usd_per_step < 4 USD") == "usd_per_step < 4");
  CHECK(canonical("mfu > 45 %") == "mfu > 0.45");
  CHECK(canonical("step_s < base.step_s * (1 + 3%)") == "step_s < base.step_s * (1 + 0.03)");
  CHECK(canonical("time_us - 3 us <= max(1 ms, nodes * 2 us)") ==
        "time_us - 3 <= max(1000, nodes * 2)");
  CHECK(canonical("size_bytes / time_us > 1 MiB / 2 us") == "size_bytes / time_us > 1048576 / 2");
  CHECK(canonical("time_us + 1 ms") == "time_us + 1000");
  CHECK(canonical("time_us < 2 ms and step_s < 2 ms") == "time_us < 2000 and step_s < 0.002");
  CHECK(canonical("nodes > 4and fits") == "nodes > 4 and fits");
  CHECK(canonical("size_bytes > 1 GB/step_s") == "size_bytes > 1000000000 / step_s");
}

TEST_CASE("formulas: each unit of a column's name, and each that a number may carry") {
  const auto any = [](const char* text) { return Formula::parse(text).canonical(); };
  CHECK(any("x_ns > 2 us") == "x_ns > 2000");
  CHECK(any("x_us > 2 us") == "x_us > 2");
  CHECK(any("x_ms > 2 us") == "x_ms > 0.002");
  CHECK(any("x_s > 2 us") == "x_s > 2e-06");
  CHECK(any("x_bytes > 2 kB") == "x_bytes > 2000");
  CHECK(any("x_GB > 2 TB") == "x_GB > 2000");
  CHECK(any("x_gb > 1 GiB") == "x_gb > 1.073741824");  // 2^30
  CHECK(any("x_GBps > 8 Gb/s") == "x_GBps > 1");
  CHECK(any("x_USD > 2.5 USD") == "x_USD > 2.5");
  CHECK(any("a.usd_x > 2 USD") == "a.usd_x > 2");
  CHECK(any("usd_a.x > 2 USD") == "usd_a.x > 2 USD");  // the last part of a name counts
  for (const std::string& unit : formula_units()) {
    if (unit == "%") continue;
    CAPTURE(unit);
    const auto dimension = dimension_of_unit(unit);
    REQUIRE(dimension.has_value());
    CHECK(read_quantity("8 " + unit, *dimension) > 0);  // 8 b/s is 1 B/s
    CHECK(dimension_of_text("0.5" + unit) == dimension);
  }
}

TEST_CASE("formulas: texts with units, where the column's name tells none") {
  CHECK(holds("uplink >= 400 Gb/s"));
  CHECK(holds("50 GB/s = uplink"));
  CHECK_FALSE(holds("uplink < 50 GB/s"));
  CHECK(holds("uplink > 200 Gb/s and uplink = \"400 Gb/s\""));
  CHECK(canonical("uplink >= 400Gb/s") == "uplink >= 400 Gb/s");
  CHECK_FALSE(holds("uplink >= 400 Gb/s", {}));
  CHECK_FALSE(holds("uplink = 400 Gb/s", {{"uplink", std::string("fast")}}));
  CHECK(holds("uplink != 400 Gb/s", {{"uplink", std::string("1 GiB")}}));
}

TEST_CASE("formulas: what has no value decides nothing") {
  CHECK(value_of("nothing > 1") == "none");
  CHECK(value_of("not nothing > 1") == "none");
  CHECK(value_of("nothing + 1") == "none");
  CHECK(value_of("-nothing") == "none");
  CHECK(value_of("nothing = nothing") == "none");
  CHECK(value_of("nothing > 1 or true") == "true");
  CHECK(value_of("nothing > 1 or false") == "none");
  CHECK(value_of("false and nothing > 1") == "false");
  CHECK(value_of("true and nothing > 1") == "none");
  CHECK_FALSE(holds("algo = ring"));
  CHECK_FALSE(holds("not algo = ring"));
  CHECK_FALSE(holds("fits", {}));
}

TEST_CASE("formulas: numbers are finite") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  CHECK(value_of("1 / 0") == "none");
  CHECK(value_of("0 / 0") == "none");
  CHECK(value_of("nodes / (nodes - 4)") == "none");
  CHECK(value_of("1e308 * 10") == "none");
  CHECK(value_of("-1e308 - 1e308") == "none");
  CHECK(value_of("x - x", {{"x", infinite}}) == "none");
  CHECK(value_of("x > 1", {{"x", infinite}}) == "none");
  CHECK(value_of("x", {{"x", std::nan("")}}) == "none");
  CHECK(value_of("min(x, 1)", {{"x", std::nan("")}}) == "none");
  CHECK(value_of("x != x", {{"x", std::nan("")}}) == "none");
}

TEST_CASE("formulas: equal across types") {
  CHECK(value_of("fits = true") == "true");
  CHECK(value_of("fits = 1") == "true");  // a store keeps flags as 0 and 1
  CHECK(value_of("x = true", {{"x", 1.0}}) == "true");
  CHECK(value_of("x != false", {{"x", 0.0}}) == "false");
  CHECK(value_of("x = true", {{"x", std::string("true")}}) == "true");
  CHECK(value_of("x = 2.3", {{"x", std::string("2.30")}}) == "true");
  CHECK(value_of("x = 4", {{"x", std::string("dgx")}}) == "false");
  CHECK(value_of("nodes = \"4\"") == "true");
  CHECK(value_of("(1 < 2) = (2 < 3)") == "true");
  CHECK(known_value("true", {}) == "true");
  CHECK(value_of(Formula::parse("true", {"true"}), {{"true", 3.0}}) == "3");
}

TEST_CASE("formulas: written again") {
  CHECK(Formula::parse(" a<1 ").text() == " a<1 ");
  CHECK(canonical("((nodes))>(1+(2*3))") == "nodes > 1 + 2 * 3");
  CHECK(canonical("nodes-(1-2)>-(-3)") == "nodes - (1 - 2) > -(-3)");
  CHECK(canonical("(fits and fits) or not (fits or fits)") ==
        "fits and fits or not (fits or fits)");
  CHECK(canonical("(nodes > 1) = (not fits)") == "(nodes > 1) = (not fits)");
  CHECK(canonical("topology==dgx-h100") == "topology = \"dgx-h100\"");
  CHECK(canonical("topology='say \"x\"'") == "topology = 'say \"x\"'");
  CHECK(canonical("base.time_us[ size_bytes = 1KiB ] + 1 > 2") ==
        "base.time_us[size_bytes=\"1024\"] + 1 > 2");
}

TEST_CASE("formulas: the examples of docs/formulas.md") {
  const std::vector<std::string> known = {
      "busbw_GBps", "step_s", "size_bytes", "collective", "topology", "algorithm",    "nccl",
      "fits",       "mfu",    "time_us",    "latency_us", "nodes",    "usd_per_step", "uplink"};
  const auto canonical = [&](const char* text) { return Formula::parse(text, known).canonical(); };
  CHECK(canonical("busbw_GBps >= 350") == "busbw_GBps >= 350");
  CHECK(canonical("busbw_GBps >= 400 Gb/s") == "busbw_GBps >= 50");
  CHECK(canonical("step_s <= 1.03 * base.step_s") == "step_s <= 1.03 * base.step_s");
  CHECK(canonical("step_s - base.step_s < 3 ms") == "step_s - base.step_s < 0.003");
  CHECK(canonical("busbw_GBps[size_bytes=1GiB, collective=all_gather] >= 350") ==
        "busbw_GBps[size_bytes=\"1073741824\", collective=\"all_gather\"] >= 350");
  CHECK(canonical("topology = dgx-h100 and not algorithm = \"Ring\"") ==
        "topology = \"dgx-h100\" and not algorithm = \"Ring\"");
  CHECK(canonical("nccl = 2.30.7 or nccl = 2.27.3") == "nccl = \"2.30.7\" or nccl = \"2.27.3\"");
  CHECK(canonical("fits and mfu > 45 %") == "fits and mfu > 0.45");
  CHECK(canonical("max(time_us, 2 * latency_us) < 1 ms") == "max(time_us, 2 * latency_us) < 1000");
  CHECK(canonical("usd_per_step < 4 USD and (nodes <= 16 or size_bytes / time_us > 10000)") ==
        "usd_per_step < 4 and (nodes <= 16 or size_bytes / time_us > 10000)");
}

namespace {

/// Random formulas, each with the value that it has by plain recursion.
class RandomFormulas {
 public:
  explicit RandomFormulas(std::uint64_t seed) : random_(seed) {}

  template <class Value>
  struct Drawn {
    std::string text;
    std::optional<Value> value;
    int bound;  ///< 1 or, 2 and, 3 not, 4 comparison, 5 sum, 6 product, 7 sign, 8 all else
  };
  using Condition = Drawn<bool>;
  using Number = Drawn<double>;

  Condition condition(int depth) {
    const std::uint32_t kind = depth == 0 ? 3 : random_.below(4);
    if (kind == 3) return comparison(depth);
    const Condition left = condition(depth - 1);
    if (kind == 2) {
      Condition out = {"not " + at_least(left, 4), {}, 3};
      if (left.value) out.value = !*left.value;
      return out;
    }
    const Condition right = condition(depth - 1);
    const bool decisive = kind == 0;
    Condition out = {{}, {}, decisive ? 1 : 2};
    out.text =
        at_least(left, out.bound) + (decisive ? " or " : " and ") + at_least(right, out.bound + 1);
    if (left.value == decisive || right.value == decisive) {
      out.value = decisive;
    } else if (left.value && right.value) {
      out.value = !decisive;
    }
    return out;
  }

 private:
  /// The text, in parentheses where it is bound less than that, and sometimes where it is not.
  template <class Value>
  std::string at_least(const Drawn<Value>& drawn, int bound) {
    return drawn.bound < bound || random_.below(8) == 0 ? "(" + drawn.text + ")" : drawn.text;
  }

  Condition comparison(int depth) {
    const Number left = number(depth), right = number(depth);
    const char* const signs[] = {" < ", "<=", " >", ">=", "=", "!="};
    const std::uint32_t sign = random_.below(6);
    Condition out = {at_least(left, 5) + signs[sign] + at_least(right, 5), {}, 4};
    if (left.value && right.value) {
      const double a = *left.value, b = *right.value;
      const bool found[] = {a<b, a <= b, a> b, a >= b, a == b, a != b};
      out.value = found[sign];
    }
    return out;
  }

  Number number(int depth) {
    const std::uint32_t kind = depth == 0 ? 7 : random_.below(8);
    if (kind >= 6) return leaf();
    const Number left = number(depth - 1), right = number(depth - 1);
    const std::optional<double> none;
    if (kind == 5) return {"-" + at_least(left, 8), left.value ? -*left.value : none, 7};
    const bool both = left.value && right.value;
    const double a = left.value.value_or(0), b = right.value.value_or(0);
    if (kind == 4) {
      const bool least = random_.below(2) == 0;
      const double found = least ? std::fmin(a, b) : std::fmax(a, b);
      const std::string text = (least ? "min(" : "max( ") + left.text + "," + right.text + ")";
      return {text, both ? found : none, 8};
    }
    const char* const signs[] = {" + ", " - ", "*", " / "};
    const int bound = kind < 2 ? 5 : 6;
    const double found[] = {a + b, a - b, a * b, b == 0 ? 0 : a / b};
    const bool divides_by_zero = kind == 3 && b == 0;
    return {at_least(left, bound) + signs[kind] + at_least(right, bound + 1),
            both && !divides_by_zero ? found[kind] : none, bound};
  }

  Number leaf() {
    switch (random_.below(6)) {
      case 0:
        return {"nodes", 4, 8};
      case 1:
        return {"base.step_s", 1, 8};
      case 2:
        return {"over-sub", 2, 8};
      case 3:
        return {"tokens_per_s", {}, 8};
      default: {
        const double number = random_.below(7) * 0.5;
        return {fmt::format("{}", number), number, 8};
      }
    }
  }

  Random random_;
};

std::string answer(std::optional<bool> value) {
  return value ? shown(FormulaValue(*value)) : shown(FormulaValue());
}

}  // namespace

TEST_CASE("formulas: random ones have the value of a plain reckoning, also when written again") {
  RandomFormulas random(26);
  int held = 0, without_value = 0;
  constexpr int cases = 4000;
  for (int i = 0; i < cases; ++i) {
    const RandomFormulas::Condition drawn = random.condition(i % 5);
    if (drawn.text.size() > Formula::kCharactersMost) continue;
    CAPTURE(drawn.text);
    const Formula formula = Formula::parse(drawn.text, kKnown);
    REQUIRE(value_of(formula) == answer(drawn.value));
    const Formula again = Formula::parse(formula.canonical(), kKnown);
    REQUIRE(again.canonical() == formula.canonical());
    REQUIRE(again.names() == formula.names());
    REQUIRE(value_of(again) == answer(drawn.value));
    held += answer(drawn.value) == "true";
    without_value += answer(drawn.value) == "none";
  }
  // All three answers are well represented.
  CHECK(held > cases / 5);
  CHECK(without_value > cases / 10);
  CHECK(held + without_value < cases * 4 / 5);
}
