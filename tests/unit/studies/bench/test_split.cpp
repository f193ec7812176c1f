// Goal: bench --split runs the groups that nccl-tests would, at the same time.
// Method: nccl-tests' own forms and examples (its README.md), groups by colour, and rows of groups
// that share nothing are those of one group alone; groups on one NIC share it.

#include <doctest/doctest.h>

#include "models/studies/bench/bench.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

std::vector<Members> members(const char* split, int nodes, int gpus, int gpus_per_process = 1) {
  std::vector<Members> out;
  for (const SplitGroup& group : split_groups(parse_split(split), nodes, gpus, gpus_per_process))
    out.push_back(group.members);
  return out;
}

BenchConfig bench_config(const char* topology, int nodes, const char* split) {
  BenchConfig out;
  out.topology = topology;
  out.nodes = {nodes};
  out.sizes = {Bytes{4 << 20}};
  out.split = parse_split(split);
  return out;
}

}  // namespace

TEST_CASE("split: nccl-tests' forms") {
  for (const char* text : {"AND 0x7", "&7", "& 0b111", "AND7"}) {
    CHECK(parse_split(text).colour(13) == 5);
  }
  CHECK(parse_split("OR 0x7").colour(13) == 15);
  CHECK(parse_split("|0x7").colour(8) == 15);
  CHECK(parse_split("MOD72").colour(73) == 1);
  CHECK(parse_split(" % 8 ").colour(13) == 5);
  CHECK(parse_split("DIV 8").colour(13) == 1);
  CHECK(parse_split("/4").colour(13) == 3);
  const std::string hint =
      "\nhint: write it like nccl-tests: MOD 8, %8, DIV 8, /8, AND 0x7, &7 or OR 7";
  CHECK(error_text([] { parse_split("8"); }) == "\"8\" is no split of ranks" + hint);
  CHECK(error_text([] { parse_split("%"); }) == "\"%\" is no split of ranks" + hint);
  CHECK(error_text([] { parse_split("mod 8"); }) == "\"mod 8\" is no split of ranks" + hint);
  CHECK(error_text([] { parse_split("%-1"); }) == "\"%-1\" is no split of ranks" + hint);
  CHECK(error_text([] { parse_split("/0"); }) == "\"/0\" divides by 0" + hint);

  Environment environment;
  CHECK_FALSE(split_of(environment));
  environment.set("NCCL_TESTS_SPLIT=MOD 8");
  CHECK(split_of(environment)->text == "MOD 8");
  environment.set("NCCL_TESTS_SPLIT_MASK=10");  // hexadecimal
  CHECK(split_of(environment)->colour(31) == 16);
  environment.set("NCCL_TESTS_SPLIT_MASK=x");
  CHECK(error_text([&] { split_of(environment); }) ==
        "NCCL_TESTS_SPLIT_MASK=x is no hexadecimal number");
}

TEST_CASE("split: groups by colour") {
  CHECK(members("MOD 8", 2, 8).size() == 8);
  CHECK(members("AND 0x7", 2, 8)[5] == Members({0, 1}, {5}));
  CHECK(members("DIV 8", 2, 8) == std::vector<Members>{Members({0}, {0, 1, 2, 3, 4, 5, 6, 7}),
                                                       Members({1}, {0, 1, 2, 3, 4, 5, 6, 7})});
  CHECK(members("OR 7", 2, 8) == members("/8", 2, 8));
  CHECK(members("%2", 2, 4)[1] == Members({0, 1}, {1, 3}));
  CHECK(members("/16", 4, 8)[1] == Members({2, 3}, {0, 1, 2, 3, 4, 5, 6, 7}));
  // Colours are those of processes, not of GPUs.
  CHECK(members("%2", 2, 8, 4)[1] == Members({0, 1}, {4, 5, 6, 7}));
  CHECK(error_text([] { members("/12", 2, 8); }).starts_with("ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"));
}

TEST_CASE("split: groups with NICs of their own run as alone, groups on one NIC share it") {
  const PartsCatalogue parts = load_catalogue();
  const BenchResult rails = run_bench(bench_config("dgx-h100", 2, "%8"), parts);
  const BenchRow& row = rails.blocks[0].rows[0];
  REQUIRE(row.split);
  CHECK(row.split->groups == 8);
  CHECK(row.ranks == 2);
  CHECK(row.size.count == 4 << 20);
  CHECK(row.split->alone == row.result.time);
  CHECK(row.split->fastest == row.result.time);

  const BenchResult shared = run_bench(bench_config("hgx-h200-2nic", 2, "%8"), parts);
  const BenchRow& slow = shared.blocks[0].rows[0];
  CHECK(slow.result.time > slow.split->alone * 2);
  CHECK(slow.busbw() < row.busbw());
  // All groups together: 8 messages of two ranks cross two NICs each way.
  const LinkLoad& busiest = slow.result.links.front();
  CHECK(busiest.utilisation <= 1);
  CHECK(busiest.utilisation > 0.8);
}

TEST_CASE("split: slow GPUs and links are those of the job") {
  const PartsCatalogue parts = load_catalogue();
  BenchConfig config = bench_config("dgx-h100", 2, "%8");
  config.faults = {parse_fault("nic node1:mlx5_0 rate 25%")};
  const BenchResult got = run_bench(config, parts);
  const BenchRow& row = got.blocks[0].rows[0];
  CHECK(row.split->slowest == 0);  // GPU 0 of both nodes
  REQUIRE(row.healthy);
  CHECK(*row.healthy == row.split->fastest);
  CHECK(row.result.time > *row.healthy * 2);

  const auto error = [&](auto change) {
    BenchConfig wrong = bench_config("dgx-h100", 2, "%8");
    change(wrong);
    return error_text([&] { run_bench(wrong, parts); });
  };
  CHECK(error([](BenchConfig& c) { c.gpus_per_node = 9; }) ==
        "9 GPUs per node asked for, but dgx-h100 has 8\n"
        "hint: lower --gpus-per-node, or raise --nodes");
  CHECK(error([](BenchConfig& c) { c.root = 2; }) ==
        "root 2 is not a rank: there are 2\nhint: take a root from 0 to 1");
}
