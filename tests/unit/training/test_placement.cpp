// Where ranks lie: what a list of hosts and GPUs says, how widely groups are spread, what it costs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/step.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/training/training_cases.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

/// DGX H100 on InfiniBand with rails: 32 nodes on a leaf of each, racks of four.
struct Hall {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster = load_cluster({"dgx-h100", 1, "fabric-ndr-rail"}, parts);
};

std::vector<RankRange> ranges(std::initializer_list<const char*> texts) {
  std::vector<RankRange> out;
  for (const char* text : texts) out.push_back(parse_rank_range(text));
  return out;
}

StepConfig config_of(int nodes, int tensor, int pipeline, int batch) {
  StepConfig out;
  out.model = gpt(8, 2048, 16);
  out.topology = "dgx-h100";
  out.nodes = nodes;
  out.layout = layout(8 * nodes, tensor, pipeline, 1, 1, batch);
  out.layout.precision = Precision::bf16;
  return out;
}

}  // namespace

TEST_CASE("placement: what a list of ranks says") {
  for (const char* same : {"12", "0-7", "3:4", "3:0-3", "0-1:4-7", "rack2", "rack0-3"})
    CHECK(to_text(parse_rank_range(same)) == same);
  CHECK(parse_rank_range("0-7").last == 7);
  CHECK(parse_rank_range("rack2").racks);
  for (const char* wrong : {"", "a", "7-0", "-1", "3:", "3:x", "rack", "rack1:2", "1-2-3", "1.5"})
    CHECK(error_text([&] { parse_rank_range(wrong); }) ==
          std::string("\"") + wrong +
              "\" says no GPUs\nhint: a host or several (12, 0-7), GPUs of one (3:4, 3:0-3), or a "
              "rack (rack2)");
}

TEST_CASE("placement: every rank has a GPU of its own") {
  Hall hall;
  const auto place = [&](std::initializer_list<const char*> texts, int gpus) {
    return place_ranks(ranges(texts), hall.cluster, 8, gpus);
  };
  CHECK(place({"1", "0"}, 16) == RankSlots{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(place({"0-1:6-7"}, 4) == RankSlots{6, 7, 14, 15});
  // Racks hold four nodes: rack 2 begins at node 8.
  CHECK(place({"rack2"}, 32).front() == 64);
  CHECK(error_text([&] { place({"0"}, 16); }) ==
        "ranks: 8 GPUs for 16 ranks\nhint: say one for each rank; `nodes` and `gpus_per_node` say "
        "how "
        "many ranks there are");
  CHECK(
      error_text([&] { place({"0-99"}, 16); }).starts_with("ranks: 17 or more GPUs for 16 ranks"));
  CHECK(error_text([&] { place({"0", "0"}, 16); }) == "ranks: GPU 0 of host 0 twice");
  CHECK(error_text([&] { place({"0:8"}, 1); }) ==
        "ranks: host 0 has no GPU 8: the job uses 8 of each");
}

TEST_CASE("placement: the group that is spread most widely stands for all") {
  Hall hall;
  GroupShapes shapes(hall.cluster, 8);
  const auto nodes = [&](const RankGroup& group) {
    const GroupShape shape = shapes.of(group);
    return shapes.nodes(shape, shape.nodes);
  };
  // All on one leaf: the first nodes stand for any.
  CHECK(nodes({4, 64, 1, 1, 0, 256}) == std::vector<int>{0, 1, 2, 3});
  // 64 nodes: pairs 32 apart lie on two leaves, groups of four 16 apart on two each.
  CHECK(nodes({2, 256, 1, 1, 2, 512}) == std::vector<int>{0, 32});
  CHECK(nodes({4, 128, 1, 1, 0, 512}) == std::vector<int>{0, 1, 32, 33});
  CHECK(shapes.of({8, 1, 1, 1, 0, 512}) == GroupShape{1, 8, 0});
  // Six nodes each: the sixth group takes two of the first leaf and four of the next.
  CHECK(nodes({48, 1, 1, 1, 0, 512 - 512 % 48}) == std::vector<int>{0, 1, 32, 33, 34, 35});
  // A map that goes to and fro: each hop is one to another leaf.
  RankSlots slots = place_ranks(ranges({"0", "32", "1", "33"}), hall.cluster, 8, 32);
  shapes.place(slots);
  CHECK(nodes({4, 8, 1, 1, 0, 32}) == std::vector<int>{0, 32, 64, 96});
  CHECK_FALSE(shapes.mixes_gpus());
  // Racks of four: 0 and 32, 32 and 1, 1 and 33 for each of the eight GPUs.
  const GroupShapes::Crossing racks =
      shapes.crossings({2, 8, 1, 1, 4, 32}, GroupShapes::Room::rack);
  CHECK(racks.groups == 24);
  CHECK(racks.of == 24);
  // Three of one node and one of the next.
  slots = place_ranks(ranges({"0:0-2", "1:0"}), hall.cluster, 8, 4);
  shapes.place(slots);
  CHECK(
      error_text([&] {
        shapes.of({4, 1, 1, 1, 0, 4});
      }) ==
      "the group of rank 0 has 3 GPUs of node 0 and 1 of node 1\nhint: groups with as many of each "
      "node are modelled");
  shapes.place(place_ranks(ranges({"0:0-1", "1:2-3"}), hall.cluster, 8, 4));
  CHECK(shapes.of({4, 1, 1, 1, 0, 4}) == GroupShape{2, 2, 0});
  CHECK(shapes.mixes_gpus());
}

TEST_CASE("placement: ranks in order are the same as none" * minutes_under_sanitizers()) {
  const PartsCatalogue parts = load_catalogue();
  StepConfig config = config_of(4, 4, 2, 16);
  const StepResult in_order = run_step(config, parts);
  config.ranks = ranges({"0-3"});
  const StepResult listed = run_step(config, parts);
  CHECK(listed.step.time == in_order.step.time);
  CHECK(step_text(listed).find("\nranks on 0-3\n") != std::string::npos);
  // The same hosts the other way round, and others of the same leaf.
  config.ranks = ranges({"3", "2", "1", "0"});
  CHECK(run_step(config, parts).step.time == in_order.step.time);
  config.ranks = ranges({"7", "12-14"});
  CHECK(run_step(config, parts).step.time == in_order.step.time);
}

TEST_CASE("placement: TP groups that a map pulls apart cost what the note says" *
          minutes_under_sanitizers()) {
  const PartsCatalogue parts = load_catalogue();
  StepConfig config = config_of(2, 8, 1, 8);
  const StepResult inside = run_step(config, parts);
  CHECK(inside.notes.empty());
  config.ranks = ranges({"0:0-3", "1:0-3", "0:4-7", "1:4-7"});
  const StepResult apart = run_step(config, parts);
  REQUIRE(apart.notes.size() == 1);
  CHECK(apart.notes[0].starts_with("each TP group lies on 2 nodes: "));
  const double saved = seconds(apart.step.time) - seconds(inside.step.time);
  CHECK(saved > 0);
  CHECK(apart.notes[0].ends_with(
      fmt::format("; with each group in a node the step takes {} "
                  "({:.1f} %) less.",
                  time_text(saved), 100 * saved / seconds(apart.step.time))));
}

TEST_CASE("placement: stages in other racks are said where the fabric has racks") {
  const PartsCatalogue parts = load_catalogue();
  StepConfig config = config_of(8, 8, 2, 16);
  config.fabric = "fabric-ndr-rail";
  const StepResult far = run_step(config, parts);
  // Stage 0 on nodes 0-3, a rack; stage 1 on the next.
  REQUIRE(far.notes.size() == 1);
  CHECK(far.notes[0].starts_with("32 of 32 pairs of neighbouring stages lie in two racks; "));
  config.layout.order = parse_order("tp-cp-pp-dp");
  CHECK(run_step(config, parts).notes.empty());
  // On another leaf: two switches more on the way, each message takes longer.
  config.layout.order = kMegatronOrder;
  config.ranks = ranges({"0-3", "32-35"});
  CHECK(run_step(config, parts).step.time > far.step.time);
}

TEST_CASE("placement: uplinks are shared by all that climb" * minutes_under_sanitizers()) {
  const PartsCatalogue parts = load_catalogue();
  // Stages 32 nodes apart: every message leaves its leaf.
  const auto bubble = [&](double oversubscription, const char* order) {
    StepConfig config = config_of(64, 8, 2, 256);
    config.model = gpt(8, 4096, 32);
    config.oversubscription = oversubscription;
    config.layout.order = parse_order(order);
    return seconds(run_step(config, parts).step.breakdown.pipeline);
  };
  CHECK(bubble(8, "tp-cp-dp-pp") > 1.2 * bubble(1, "tp-cp-dp-pp"));
  CHECK(bubble(8, "tp-cp-pp-dp") == doctest::Approx(bubble(1, "tp-cp-pp-dp")).epsilon(0.02));
}

TEST_CASE("contention: what shares a NIC takes longer together, what does not does not") {
  Hall hall;
  CollectiveTimes times(hall.cluster, hall.parts.software, {});
  using Exchange = CollectiveTimes::Exchange;
  const double bytes = 16.0 * (1 << 20);
  const Exchange data{Collective::reduce_scatter, {4, 8, 1, 1, 0, 32}, 8 * bytes};
  const Exchange send{Collective::sendrecv, {2, 8, 1, 1, 4, 32}, bytes};
  const Exchange inside{Collective::all_gather, {8, 1, 1, 1, 0, 32}, bytes};
  const CollectiveTimes::Slowdown nic = times.beside(data, send);
  // The NIC carries both: what one gains the other loses.
  CHECK(nic.first > 1.05);
  CHECK(nic.second > 1.1);
  CHECK(nic.first < 3);
  CHECK(nic.second < 3);
  const CollectiveTimes::Slowdown nvlink = times.beside(data, inside);
  CHECK(nvlink.first < 1.1);
  CHECK(nvlink.second < 1.1);
  // Nobody to talk to, nothing to say, or bounds only.
  CHECK(times.beside(data, {Collective::sendrecv, {1, 8}, bytes}).first == 1);
  CHECK(times.beside({Collective::all_gather, {8, 1}, 0}, send).second == 1);
  CollectiveTimes bounds(hall.cluster, hall.parts.software, {}, CollectiveTimes::Estimate::bound);
  CHECK(bounds.beside(data, send).first == 1);
}
