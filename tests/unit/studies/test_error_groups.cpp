// Errors of predictions by group, counted by hand.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/studies/errors/error_groups.hpp"
#include "models/studies/errors/leave_out.hpp"

using namespace fabricast;

namespace {

/// Four figures measured as 10: 11, 8, 10 and 14 predicted, of two systems; a fit without the
/// system says 9 and 12 of the first.
ErrorGroups four() {
  ErrorGroups out(std::vector<Unseen>{{"system"}});
  const auto add = [&](const char* system, double shipped, std::optional<double> unseen) {
    const Compared one{10, shipped, {unseen}};
    out.add("stream", "all", "all", one);
    out.add("stream", "system", system, one);
  };
  add("h100", 11, 9);
  add("h100", 8, 12);
  add("a100", 10, {});
  add("a100", 14, {});
  return out;
}

}  // namespace

TEST_CASE("errors by group: medians and percentiles lie between values as pandas has them") {
  const std::vector<ErrorGroup> groups = four().sorted();
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].by == "all");
  CHECK(groups[1].name == "a100");  // by name, not as it came
  CHECK(groups[2].name == "h100");
  // Errors 0, 0.1, 0.2, 0.4.
  CHECK(median_error(groups[0].ratios) == doctest::Approx(0.15));
  CHECK(p90_error(groups[0].ratios) == doctest::Approx(0.2 + 0.7 * 0.2));
  CHECK(median_error(groups[2].unseen[0]) == doctest::Approx(0.15));
  CHECK(groups[1].unseen[0].empty());
}

TEST_CASE("errors by group: the text names what fits have not seen, and marks what none says") {
  const std::string text = four().text([](std::string_view of) { return std::string(of); });
  CHECK(text.starts_with(
      "stream: errors in %, of the shipped values, and of fits without the system"));
  CHECK(text.find("by system\n") != std::string::npos);
  CHECK(text.find("\n  a100        2    20.0  36.0") != std::string::npos);
  CHECK(text.find("by all") == std::string::npos);
  CHECK(text.find("-     -\n") != std::string::npos);
}

TEST_CASE("errors by group: a fit that predicted nothing has no columns") {
  ErrorGroups groups(std::vector<Unseen>{{"system"}});
  groups.add("", "all", "all", {10, 11, {std::nullopt}});
  const auto title = [](std::string_view) { return std::string(); };
  CHECK(groups.text(title).find("without") == std::string::npos);
  CHECK(groups.text(title).find("leave out") == std::string::npos);
  // Who asked for it is told.
  ErrorGroups asked(std::vector<Unseen>{{"system"}}, true);
  asked.add("", "all", "all", {10, 11, {std::nullopt}});
  CHECK(asked.text(title).find("\nNo row is of another system: there is nothing to leave out.\n") !=
        std::string::npos);
  CHECK(groups.scores().columns().size() == 6);
}

TEST_CASE("rows left out: each group in turn, none where there is one group only") {
  const std::vector<std::string> groups = {"b", "a", "b", "c"};
  const auto group_of = [&](std::size_t row) { return groups[row]; };
  const std::vector<LeaveOut> all = leave_each_out(4, group_of);
  REQUIRE(all.size() == 3);
  CHECK(all[0].group == "a");
  CHECK(all[1].group == "b");
  CHECK(all[1].seen == std::vector<std::size_t>{1, 3});
  CHECK(all[1].unseen == std::vector<std::size_t>{0, 2});
  CHECK(leave_each_out(1, group_of).empty());
}

TEST_CASE("errors by group: a report has a pair of columns for each fit") {
  const ReportTable table = four().scores("launch");
  std::vector<std::string> names;
  for (const ReportColumn& column : table.columns()) names.emplace_back(column.name);
  CHECK(names == std::vector<std::string>{"launch", "by", "name", "rows", "median_error",
                                          "p90_error", "median_ratio", "unseen_median_error",
                                          "unseen_p90_error"});
  REQUIRE(table.rows().size() == 3);
  CHECK(table.rows()[1][7].is_null());
  CHECK(table.rows()[2][6].get<double>() == doctest::Approx(0.95));
  CHECK(four().scores().columns().front().name == "by");
}
