// Grids of questions: what the axes of a file become, and which questions are the same.

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "models/studies/sweep/axis_values.hpp"
#include "models/studies/sweep/query.hpp"
#include "models/studies/sweep/sweep.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/io/store_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

const std::string kQuestion =
    "question:\n"
    "  kind: scenario\n"
    "  study: bench\n"
    "  name: x\n"
    "  question: What?\n"
    "  topology: dgx-h100\n"
    "  nodes: 1\n"
    "  nccl: 2.30.7\n"
    "  collective: all_reduce\n"
    "  sizes: 1MiB\n";

Sweep sweep(const std::string& rest) {
  return parse_sweep("kind: sweep\nname: s\n" + kQuestion + rest, "s.yaml");
}

std::vector<std::string> texts(const std::string& rest) {
  std::vector<std::string> out;
  for (const SweepPoint& point : points_of(sweep(rest))) out.push_back(point_text(point));
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("sweep: ranges double, multiply, add, and keep their unit") {
  CHECK(range_values("1..8") == Texts{"1", "2", "4", "8"});
  CHECK(range_values("1..64:x4") == Texts{"1", "4", "16", "64"});
  CHECK(range_values("2..8:+3") == Texts{"2", "5", "8"});
  CHECK(range_values("0.5..1.5:+0.5") == Texts{"0.5", "1", "1.5"});
  CHECK(range_values("100 Gb/s..400 Gb/s") == Texts{"100 Gb/s", "200 Gb/s", "400 Gb/s"});
  CHECK(range_values("256KiB..1MiB") == Texts{"256 KiB", "512 KiB", "1 MiB"});
  CHECK(range_values("64KiB..256KiB:+64KiB") == Texts{"64 KiB", "128 KiB", "192 KiB", "256 KiB"});
  CHECK(range_values("512KiB..2MiB:+512KiB") == Texts{"512 KiB", "1 MiB", "1.5 MiB", "2 MiB"});
  CHECK(range_values("dgx-h100").empty());
  CHECK(error_text([] { range_values("1..8:x1"); }) ==
        "\"x1\" is no stride of a range\nhint: :x4 multiplies by 4, :+1 adds 1; without one it "
        "doubles");
  CHECK(error_text([] { range_values("8..1"); }) ==
        "the range \"8..1\" is empty\nhint: the least first");
}

TEST_CASE("sweep: axes cross, the last one fastest; keys that change together do") {
  CHECK(texts("axes:\n  nodes: 1..2\n  nccl: [2.27.7, 2.30.7]\n") ==
        Texts{"nodes=1, nccl=2.27.7", "nodes=1, nccl=2.30.7", "nodes=2, nccl=2.27.7",
              "nodes=2, nccl=2.30.7"});
  CHECK(texts("axes:\n  topology, nodes: [[dgx-h100, 1], [hgx-b200, 4]]\n") ==
        Texts{"topology=dgx-h100, nodes=1", "topology=hgx-b200, nodes=4"});
  CHECK(texts("axes:\n  nodes: 1..8\nwhere: nodes >= 2 and nodes != 4\n") ==
        Texts{"nodes=2", "nodes=8"});
  CHECK(texts("axes:\n  topology: [dgx-h100, hgx-b200]\nwhere: topology = hgx-b200\n") ==
        Texts{"topology=hgx-b200"});
  CHECK(texts("axes:\n  sizes: [64KiB, 1MiB, 1GiB]\nwhere: sizes >= 1 MiB\n") ==
        Texts{"sizes=1MiB", "sizes=1GiB"});
  CHECK(texts("axes:\n  nodes: [1, 2]\nseeds: 2\n") ==
        Texts{"nodes=1, seed=1", "nodes=1, seed=2", "nodes=2, seed=1", "nodes=2, seed=2"});
}

TEST_CASE("sweep: a key is set, made or taken away where its path leads") {
  const auto question = [](const std::string& rest) {
    return points_of(sweep(rest)).front().question;
  };
  CHECK(question("axes:\n  environment.NCCL_ALGO: [Ring]\n")
            .find("\"environment\":{\"NCCL_ALGO\":\"Ring\"}") != std::string::npos);
  CHECK(question("axes:\n  nodes: [~]\n").find("\"nodes\"") == std::string::npos);
  // Parts of what a question names are changed in the name.
  const auto has = [&](const std::string& axes, const std::string& text) {
    return question("axes:\n" + axes).find(text) != std::string::npos;
  };
  CHECK(has("  site.nics: [4]\n", "\"topology\":\"dgx-h100:nics=4\""));
  CHECK(has("  nics: [4]\n  topology: [hgx-b200]\n", "\"topology\":\"hgx-b200:nics=4\""));
  CHECK(has("  nics: [4]\n  topology: [\"dgx-h100:nics=2\"]\n", "\"dgx-h100:nics=4\""));
  CHECK(has("  fabric.oversubscription: [2]\n", "\"fabric\":\":oversubscription=2\""));
  CHECK(question("axes:\n  nodes: [4]\n").find("\"nodes\":\"4\"") != std::string::npos);
}

TEST_CASE("query: the most of rates and the least of all else is best, unless a word says so") {
  CHECK(parse_aim("busbw_GBps").is_most);
  CHECK(parse_aim("mfu").is_most);
  CHECK_FALSE(parse_aim("step_s").is_most);
  CHECK_FALSE(parse_aim("usd_per_GBps").is_most);  // a price, though its name ends like a rate
  CHECK(parse_aim("nodes:most").is_most);
  CHECK(aim_text(parse_aim("nodes:most")) == "nodes:most");
  CHECK(aim_text(parse_aim("nodes:least")) == "nodes");
  CHECK(aim_text(parse_aim("mfu:most")) == "mfu");
}

TEST_CASE("query: what differs between two versions is told of the rows that fit") {
  const StoreFolder folder;
  Store store(folder.file(), StoreAccess::write);
  double step_s = 1;
  for (const StoreVersion& version : {kBefore, kNow}) {
    store.add_points("grid", points(4), version);
    for (const Claimed& c : store.claim("grid", "w", version, 9, 0, 60)) {
      StoreResult one = result(c);
      one.headline["step_s"] = step_s *= 1.5;
      one.finished_at = version.data;
      store.finish(c, version, one);
    }
  }
  QueryConfig config;
  CHECK(run_diff(store, store, true, config).rows.size() == 4);
  config.where = "site.nodes >= 2";
  config.columns = {"step_s"};
  CHECK(run_diff(store, store, true, config).rows.size() == 2);
  config.where = "site.noodes >= 2";
  CHECK(error_text([&] { run_diff(store, store, true, config); }).find("site.noodes") !=
        std::string::npos);
}

TEST_CASE("sweep: equal questions have one identity, however they are written") {
  const auto points = points_of(sweep("axes:\n  nodes: [1, 2, 1]\n"));
  CHECK(points[0].sha256 == points[2].sha256);
  CHECK(points[0].sha256 != points[1].sha256);
  CHECK(points[0].sha256.size() == 64);
  const std::string other =
      "kind: sweep\nname: t\nquestion: {sizes: 1MiB, nodes: 7, collective: all_reduce, nccl: "
      "2.30.7, topology: dgx-h100, question: \"What?\", name: x, study: bench, kind: scenario}\n"
      "axes:\n  nodes: [1]\n";
  CHECK(points_of(parse_sweep(other, "t.yaml")).front().sha256 == points[0].sha256);
}

TEST_CASE("sweep: all points that are wrong are found before anything runs") {
  const Sweep asked = sweep("axes:\n  topology: [dgx-h100, dgx-h1000]\n  nodes: [1, 0]\n");
  const std::vector<WrongPoint> wrong = wrong_points(asked, points_of(asked));
  REQUIRE(wrong.size() == 3);
  CHECK(std::string(wrong[0].error.what()).starts_with("s.yaml:15: nodes: "));
  CHECK(std::string(wrong[1].error.what()) ==
        "s.yaml:14: topology: unknown topology \"dgx-h1000\"\nhint: did you mean \"dgx-h100\"?");
}

TEST_CASE("sweep: what is wrong with an answer stands where the file says it") {
  const Sweep asked = sweep("axes:\n  environment.NCCL_ALGO: [Ring, CollnetDirect]\n");
  const Question refused = question_at(asked, points_of(asked).back());
  const std::string message = error_text([&] { refused.answer(in_turn, {}); });
  CHECK_MESSAGE(message.starts_with("s.yaml:4: question: all_reduce: NCCL refuses the call"),
                message);
}

TEST_CASE("sweep: what is wrong with its file") {
  CHECK(error_text([] { sweep("axes:\n  nodes: 4\n"); }) ==
        "s.yaml:14: axes.nodes: \"4\" is neither a list nor a range\nhint: [a, b, c], 1..64 "
        "(doubling), 1..8:+1, or {files: [a.yaml]}");
  CHECK(error_text([] { sweep("axes:\n  nodes: []\n"); }) ==
        "s.yaml:14: axes.nodes: has no values");
  CHECK(error_text([] {
          sweep("axes:\n  a, b: [[1]]\n");
        }).starts_with("s.yaml:14: axes.a, b: each value of 2 keys is a list of 2"));
  CHECK(error_text([] { sweep("axes:\n  nodes: [1]\n  a, nodes: [[1, 2]]\n"); }) ==
        "s.yaml: axes: nodes stands there twice");
  CHECK(error_text([] {
          points_of(sweep("axes:\n  nodes: [1, 2]\nwhere: nodes > 9\n"));
        }).find("holds for no combination") != std::string::npos);
  CHECK(error_text([] { points_of(sweep("axes:\n  nodes.more: [1]\n")); }) ==
        "s.yaml:14: axes.nodes.more: \"1\" is a value, it has no key more");
  CHECK(error_text([] {
          sweep("axes:\n  nodes: [1]\nwher: x\n");
        }).find("did you mean \"where\"") != std::string::npos);
  CHECK(error_text([] { sweep("axes:\n  topology: {files: [none-of-it.yaml]}\n"); }) ==
        "s.yaml:14: axes.topology: none-of-it.yaml: no such file");
}
