// How an Error reads, and what stays of it where a place is added.

#include <doctest/doctest.h>

#include <string>

#include "sim/base/error.hpp"
#include "tests/unit/error_text.hpp"

namespace fabricast {
namespace {

std::string said(const Error& error) { return error.what(); }

TEST_CASE("error: place, message, hint") {
  const Error error(Place{"a.yaml", 12, "nodes.rate"}, "unknown unit \"GBs\"", "GB/s?");
  CHECK(said(error) == "a.yaml:12: nodes.rate: unknown unit \"GBs\"\nhint: GB/s?");
  CHECK(error.reason() == "a.yaml:12: nodes.rate: unknown unit \"GBs\"");
  CHECK(error.message() == "unknown unit \"GBs\"");
  CHECK(error.hint() == "GB/s?");
  CHECK(said(Error("no ranks")) == "no ranks");
  CHECK(said(Error(Place{"a.yaml", 0, {}}, "no ranks")) == "a.yaml: no ranks");
}

TEST_CASE("error: a place is added, a file that is named already stays") {
  const Error error = Error("no figure", "name one").with({{}, 0, "software.launch"});
  CHECK(said(error) == "software.launch: no figure\nhint: name one");
  const Error placed_error = error.with({"r.yaml", 4, "parameters[0]"});
  CHECK(said(placed_error) ==
        "r.yaml:4: parameters[0]: software.launch: no figure\nhint: name one");
  CHECK(placed_error.message() == "no figure");
  CHECK(said(placed_error.with({"other.yaml", 1, "x"})) == said(placed_error));
  CHECK(placed({"a.yaml", 3, {}}, [] { return 7; }) == 7);
  CHECK(error_text([] {
          placed({"a.yaml", 3, {}}, [] { throw Error("bad"); });
        }) == "a.yaml:3: bad");
}

TEST_CASE("error: the option that it is about") {
  const Error worded(about("--topology"), "--topology is missing");
  CHECK(said(worded) == "--topology is missing");
  CHECK(worded.place().about == "--topology");
  const Error led(option_place("--nodes"), "0 is too small");
  CHECK(said(led) == "--nodes: 0 is too small");
  CHECK(led.place().about == "--nodes");
  // Who hands an option's value on knows better than who reads it.
  CHECK(worded.with(about("--to-topology")).place().about == "--to-topology");
  CHECK(Error("no figure").with(option_place("--vary")).place().about == "--vary");
  // In a file it is the file that is to be mended, not an option of that name.
  CHECK(worded.with({"a.yaml", 3, "topology"}).place().about.empty());
  const Error in_file(Place{"a.yaml", 3, {}}, "bad");
  CHECK(in_file.with(about("--layout")).place().about == "--layout");
  CHECK(said(in_file.with(about("--layout"))) == "a.yaml:3: bad");
}

}  // namespace
}  // namespace fabricast
