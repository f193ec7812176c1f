// Where a job lies: seats, candidates, times of allocations whose ratio follows from the number of
// uplinks, and a neighbour on the same leaves.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <set>

#include "models/io/hosts/host_list.hpp"
#include "models/studies/placement/candidates.hpp"
#include "models/studies/placement/placement.hpp"
#include "tests/unit/catalogue.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

namespace fabricast {
namespace {

/// `leaves` leaves of `hosts` each: a1 a2 ..., b1 b2 ...; two leaves to a spine.
HostTree drawn(int leaves, int hosts) {
  std::string text;
  for (int leaf = 0; leaf < leaves; ++leaf)
    text += fmt::format("SwitchName={0} Nodes={0}[1-{1}]\n", static_cast<char>('a' + leaf), hosts);
  for (int leaf = 0; leaf < leaves; leaf += 2)
    text += fmt::format("SwitchName=spine{} Switches={},{}\n", leaf / 2,
                        static_cast<char>('a' + leaf), static_cast<char>('a' + leaf + 1));
  return parse_host_tree(text, "t.conf");
}

std::vector<int> numbers(const HostTree& tree, const std::string& names) {
  std::vector<int> out;
  for (const std::string& name : parse_host_list(names)) out.push_back(tree.find(name));
  return out;
}

Job job_of(const char* topology, const char* fabric) {
  Job out;
  out.topology = topology;
  out.fabric = fabric;
  return out;
}

/// Racks of `hosts` trays, each an NVLink domain: a1 a2 ..., b1 b2 ...; with `per_leaf` racks to a
/// leaf.
HostTree racks(int count, int hosts, int per_leaf = 1) {
  std::string text;
  for (int rack = 0; rack < count; ++rack)
    text += fmt::format("BlockName={0} Nodes={0}[1-{1}]\n", static_cast<char>('a' + rack), hosts);
  for (int leaf = 0; per_leaf > 1 && leaf < count / per_leaf; ++leaf) {
    text += fmt::format("SwitchName=leaf{} Nodes=", leaf);
    for (int rack = leaf * per_leaf; rack < (leaf + 1) * per_leaf; ++rack)
      text += fmt::format("{}{}[1-{}]", rack == leaf * per_leaf ? "" : ",",
                          static_cast<char>('a' + rack), hosts);
    text += "\n";
  }
  return parse_host_tree(text, "t.conf");
}

/// Trays of NVL72 racks.
PlacementConfig asked_of_racks(const HostTree& tree, const std::string& hosts) {
  PlacementConfig out;
  out.topology = "gb200-nvl72";
  out.tree = tree;
  out.tree_file = "t.conf";
  out.hosts = parse_host_list(hosts);
  out.collectives = {Collective::alltoall};
  out.sizes = {Bytes{1 << 30}};
  return out;
}

/// On a fabric whose leaves hold five nodes and are 2:1 oversubscribed.
PlacementConfig asked(const HostTree& tree, const std::string& hosts) {
  PlacementConfig out;
  out.topology = "dgx-h100";
  out.fabric = "fabric-ndr-fat-tree-2to1";
  out.tree = tree;
  out.tree_file = "t.conf";
  out.hosts = parse_host_list(hosts);
  out.environment.set("NCCL_ALGO", "Ring");
  out.environment.set("NCCL_PROTO", "Simple");
  out.collectives = {Collective::all_reduce};
  out.sizes = {Bytes{256 << 20}};
  return out;
}

}  // namespace

TEST_CASE("placement: seats are numbered as ranks come to leaves") {
  const HostTree tree = drawn(4, 3);
  const Job job = job_of("dgx-h100", "fabric-ndr-fat-tree-2to1");
  HostNodes nodes(job, shipped_parts());
  const SeatPlan plan(tree, "t.conf", nodes, nodes.host().cluster.fabric());
  const Seating seating = plan.seat(numbers(tree, "c2,a1,c3,a3"));
  CHECK(seating.jobs[0].nodes == std::vector<int>{0, 5, 1, 6});
  CHECK(plan.cluster(seating).nodes() == 7);
  CHECK(group_crossings(plan, numbers(tree, "c2,a1,c3,a3")) == 4);
  CHECK(group_crossings(plan, numbers(tree, "a1,a2,b1")) == 2);
  CHECK(group_crossings(plan, numbers(tree, "a1,a2")) == 0);
  CHECK(sorted_by_group(plan, numbers(tree, "c2,a1,c3,a3")) == numbers(tree, "c2,c3,a1,a3"));
}

TEST_CASE("placement: pods have seats of their own") {
  const HostTree tree = drawn(4, 2);
  const Job job = job_of("dgx-h100", "fabric-ndr-fat-tree-2to1");
  HostNodes nodes(job, shipped_parts());
  FabricConfig fabric = nodes.host().cluster.fabric();
  fabric.pod_leaves = 8;
  fabric.core = fabric.spine;
  fabric.core_oversubscription = 8;
  const SeatPlan plan(tree, "t.conf", nodes, fabric);
  // Five hosts to a leaf, eight leaves to a pod: the first leaf of the second pod is the ninth.
  CHECK(plan.seat(numbers(tree, "a1,c1,b1,d1")).jobs[0].nodes == std::vector<int>{0, 40, 5, 45});
}

TEST_CASE("placement: candidates are packed and even, and keep hosts of the job") {
  const HostTree tree = drawn(4, 3);
  const Job job = job_of("dgx-h100", "fabric-ndr-fat-tree-2to1");
  HostNodes nodes(job, shipped_parts());
  const SeatPlan plan(tree, "t.conf", nodes, nodes.host().cluster.fabric());
  std::vector<int> open;
  for (int host = 0; host < 12; ++host) open.push_back(host);
  const auto found = candidate_hosts(plan, numbers(tree, "b1,c1,c2,d1"), open);
  std::set<std::vector<int>> shapes;
  for (const std::vector<int>& one : found) {
    CHECK(one.size() == 4);
    CHECK(std::set<int>(one.begin(), one.end()).size() == 4);
    std::vector<int> counts(4);
    for (const int host : one) ++counts[static_cast<std::size_t>(plan.leaf_of(host))];
    std::ranges::sort(counts);
    shapes.insert(counts);
  }
  CHECK(shapes.contains({0, 0, 1, 3}));
  CHECK(shapes.contains({0, 0, 2, 2}));
  CHECK(shapes.contains({1, 1, 1, 1}));
}

TEST_CASE("placement: an interleaved ring takes twice as long where uplinks are half") {
  // Five of each leaf: 40 NICs have 20 uplinks. In order of leaves one node in five climbs, else
  // all of them do.
  const HostTree tree = drawn(2, 5);
  PlacementConfig config = asked(tree, "a1,b1,a2,b2,a3,b3,a4,b4,a5,b5");
  config.collectives = {Collective::all_gather};
  config.sizes = {Bytes{1 << 30}};
  const PlacementResult result = run_placement(config, shipped_parts());
  REQUIRE(result.allocations.size() == 2);
  CHECK(result.allocations[0].crossings == 10);
  CHECK(result.best().name == "this, by leaf");
  CHECK(result.best().crossings == 2);
  CHECK(result.swaps.empty());
  const double ratio = result.allocations[0].times_us[0] / result.best().times_us[0];
  CHECK(ratio > 1.8);
  CHECK(ratio < 2.1);
  CHECK(placement_text(result).find("no host need be swapped") != std::string::npos);
}

TEST_CASE("placement: a step that exchanges weights feels the order of its hosts") {
  const HostTree tree = drawn(2, 5);
  PlacementConfig config = asked(tree, "a1,b1,a2,b2,a3,b3,a4,b4,a5,b5");
  config.step = parse_step(
      "kind: step\nmodel: llama-3-8b\ntopology: dgx-h100\nnodes: 10\nframework: torchtitan\n"
      "sequence: 2048\nmicro_batch: 1\nglobal_batch: 80\nprecision: bf16\nsharding: fsdp\n",
      "s.yaml");
  config.collectives = {Collective::all_gather};
  config.sizes = {Bytes{1 << 30}};
  const PlacementResult result = run_placement(config, shipped_parts());
  REQUIRE(result.allocations.size() == 2);
  REQUIRE(result.allocations[0].step);
  // Its all-gathers take twice as long, and no longer hide behind compute.
  CHECK(seconds(*result.allocations[0].step) > 1.2 * seconds(*result.best().step));
  config.hosts.pop_back();
  CHECK(error_text([&] { run_placement(config, shipped_parts()); }) ==
        "the layout has 10 nodes, the allocation 9 hosts\nhint: `nodes` of the layout and --hosts "
        "are one number");
}

TEST_CASE("placement: on one leaf the order of hosts does not matter") {
  const HostTree tree = drawn(2, 5);
  const PlacementResult one = run_placement(asked(tree, "a1,a2,a3"), shipped_parts()),
                        other = run_placement(asked(tree, "a3,a1,a2"), shipped_parts());
  CHECK(one.allocations.size() == 1);
  CHECK(one.allocations[0].times_us == other.allocations[0].times_us);
  CHECK(placement_text(one).find("no allocation of 3 hosts is faster") != std::string::npos);
}

TEST_CASE("placement: a neighbour on other leaves takes nothing, on the same ones what it loads" *
          minutes_under_sanitizers()) {
  const HostTree tree = drawn(4, 5);
  PlacementConfig config = asked(tree, "a1,b1,a2,b2,a3,b3");
  config.neighbour.emplace();
  config.neighbour->hosts = parse_host_list("c1,d1,c2,d2,c3,d3");
  config.neighbour->size = Bytes{64 << 20};
  config.neighbour->environment = config.environment;
  const PlacementResult apart = run_placement(config, shipped_parts());
  REQUIRE(apart.neighbour);
  CHECK(apart.neighbour->leaves.empty());
  CHECK(apart.neighbour->self.slowdown == doctest::Approx(1).epsilon(0.01));
  CHECK(apart.neighbour->trunks.empty());
  // 24 NICs and 16 of the neighbour on 20 uplinks, each interleaved: 2:1 for both.
  config.neighbour->hosts = parse_host_list("a4,b4,a5,b5");
  const PlacementResult beside = run_placement(config, shipped_parts());
  REQUIRE(beside.neighbour);
  CHECK(beside.neighbour->leaves == std::vector<std::string>{"a", "b"});
  CHECK(beside.neighbour->self.slowdown > 1.2);
  CHECK(beside.neighbour->other.slowdown > 1.2);
  REQUIRE_FALSE(beside.neighbour->trunks.empty());
  CHECK(beside.neighbour->trunks[0].share > 0.4);
  CHECK(beside.neighbour->trunks[0].share < 0.9);
  CHECK(placement_report(beside).table("neighbours").rows().size() == 2);
}

TEST_CASE("placement: what is wrong is said") {
  const HostTree tree = drawn(2, 5);
  const auto error = [&](const PlacementConfig& config) {
    return error_text([&] { run_placement(config, shipped_parts()); });
  };
  CHECK(error(asked(tree, "a1,a7")) ==
        "the job: host a7 is not in t.conf\nhint: did you mean \"a1\"?");
  CHECK(error(asked(tree, "a1,a2,a1")) == "the job: host a1 twice\nhint: each host is named once");
  CHECK(error(asked(tree, "a1")).starts_with("one host: there is nothing to place"));
  CHECK(
      error(asked(drawn(2, 9), "a1,a2"))
          .starts_with("t.conf: a has 9 hosts, a leaf of fabric fabric-ndr-fat-tree-2to1 holds 5"));
  PlacementConfig both = asked(tree, "a1,a2");
  both.neighbour.emplace();
  both.neighbour->hosts = {"a2", "a3"};
  CHECK(error(both) == "host a2 is in the job and in the neighbour");
  CHECK(error_text([] {
          parse_neighbour("kind: neighbour\nhosts: a[1-2]\nsize: 1 MiB\n", "n");
        }).starts_with("n:1: missing key \"collective\""));
  CHECK(error_text([] {
          parse_neighbour("kind: neighbour\nhosts: a[1-2]\nlayout: x.yaml\nsize: 1 MiB\n", "n");
        }).starts_with("n:3: layout: stands beside a collective"));
}

TEST_CASE("placement: trays of a rack are one node, as many in each") {
  const HostTree tree = racks(4, 18, 2);
  const Job job = job_of("gb200-nvl72", "");
  HostNodes nodes(job, shipped_parts());
  FabricConfig fabric = nodes.host().cluster.fabric();
  fabric.oversubscription = 2;
  const SeatPlan plan(tree, "t.conf", nodes, fabric);
  REQUIRE(plan.by_domain());
  const auto seats = [&](const std::string& names, Uneven uneven = Uneven::as_least) {
    return plan.seat({{numbers(tree, names), true}}, uneven).jobs[0];
  };
  // Racks a and b hang on one leaf. Ranks may come to racks in turns.
  const Seats turns = seats("a1,b1,a2,b2");
  CHECK(turns.nodes == std::vector<int>{0, 1});
  CHECK(turns.trays == 2);
  CHECK(turns.hosts == std::vector<int>{0, 2, 1, 3});
  CHECK(seats("a1,a2,c1,c2").nodes == std::vector<int>{0, 1});  // a node to each leaf
  // 18 and 6 are three and one of 6. 5 and 2 are taken for three and one of 2, or fall apart.
  CHECK(seats("a[1-18],b[1-6]").hosts.size() == 24);
  CHECK(seats("a[1-18],b[1-6]").nodes.size() == 4);
  CHECK(seats("a[1-5],b[1-2]").nodes.size() == 4);
  CHECK(seats("a[1-5],b[1-2]").hosts.empty());
  CHECK(seats("a[1-5],b[1-2]", Uneven::in_pieces).nodes.size() == 7);
  // A leaf has 36 ports down in each rail, 18 up, however many trays of it take part.
  const Seating few = plan.seat(numbers(tree, "a1,a2,c1,c2"));
  CHECK(plan.cluster(few).uplinks() == 18);
  CHECK(plan.cluster(few).nodes() == 2);
}

TEST_CASE("placement: jobs of one rack share its leaf, one without NVLink has a node a tray") {
  const HostTree tree = racks(2, 18);
  const Job job = job_of("gb200-nvl72", "");
  HostNodes nodes(job, shipped_parts());
  const SeatPlan plan(tree, "t.conf", nodes, nodes.host().cluster.fabric());
  const std::vector<int> one = numbers(tree, "a[1-4],b[1-4]"), other = numbers(tree, "b[5-6]");
  const Seating joined = plan.seat({{one, true}, {other, true}});
  CHECK(joined.trays == 4);
  CHECK(joined.domains_per_leaf == 2);
  CHECK(joined.jobs[0].nodes == std::vector<int>{0, 2});
  CHECK(joined.jobs[1].nodes == std::vector<int>{3});
  CHECK(joined.jobs[1].trays == 2);
  const Seating apart = plan.seat({{one, true}, {other, false}});
  CHECK(apart.jobs[1].trays == 1);
  CHECK(apart.jobs[1].nodes == std::vector<int>{4, 5});
}

TEST_CASE("placement: the best allocation keeps racks whole" * minutes_under_sanitizers()) {
  // Of two racks each GPU sends half of 1 GiB through a port of 50 GB/s: 10.7 ms at least. In one
  // rack 15/16 of it go over 18 NVLinks of 50 GB/s: 1.1 ms at least.
  const HostTree tree = racks(3, 18);
  const PlacementResult two = run_placement(asked_of_racks(tree, "a[1-2],b[1-2]"), shipped_parts());
  REQUIRE(two.allocations.size() == 2);
  CHECK(two.best().name == "best");
  CHECK(two.best().domains.size() == 1);
  CHECK(two.swaps.size() == 2);
  CHECK(two.swaps[0].out_group == "b");
  CHECK(two.allocations[0].times_us[0] > 10'737);
  CHECK(two.allocations[0].times_us[0] < 1.3 * 10'737);
  CHECK(two.best().times_us[0] > 1'118);
  CHECK(two.best().times_us[0] < 2 * 1'118);
  CHECK(placement_text(two).find("# this: a x2, b x2; the next host is in another NVLink domain 2 "
                                 "times") != std::string::npos);
  // A rack alone is best; ranks that come to racks in turns take as long.
  CHECK(run_placement(asked_of_racks(tree, "a[1-4]"), shipped_parts()).allocations.size() == 1);
  CHECK(
      run_placement(asked_of_racks(tree, "a1,b1,a2,b2"), shipped_parts()).allocations[0].times_us ==
      two.allocations[0].times_us);
  // Of 18 and 1 the tray alone has 4 NICs for what 76 GPUs exchange: 10 and 9 are better.
  const PlacementResult lone = run_placement(asked_of_racks(tree, "a[1-18],b1"), shipped_parts());
  CHECK(lone.best().domains[0].hosts == 10);
  CHECK(lone.best().times_us[0] < 0.7 * lone.allocations[0].times_us[0]);
  REQUIRE(lone.notes.size() == 3);
  CHECK(lone.notes[0].starts_with(
      "this: its NVLink domains hold unequally many hosts. All are taken to hold 1"));
  CHECK(lone.notes[1].find("All are taken to hold 9") != std::string::npos);
}

TEST_CASE("placement: a step in racks follows the order of ranks") {
  PlacementConfig config = asked_of_racks(racks(3, 18), "a1,b1,a2,b2");
  config.step = parse_step(
      "kind: step\nmodel: llama-3-8b\ntopology: gb200-nvl72\nnodes: 4\nframework: torchtitan\n"
      "sequence: 2048\nmicro_batch: 1\nglobal_batch: 16\nprecision: bf16\nsharding: fsdp\n",
      "s.yaml");
  static_cast<Job&>(config) = *config.step;
  config.free = config.hosts;
  const PlacementResult result = run_placement(config, shipped_parts());
  REQUIRE(result.allocations.size() == 2);
  CHECK(result.best().name == "this, by domain");
  CHECK(result.allocations[0].times_us == result.best().times_us);
  CHECK(*result.best().step <= *result.allocations[0].step);
}

TEST_CASE("placement: what a tree says of NVLink domains has to fit") {
  const auto error = [](const PlacementConfig& config) {
    return error_text([&] { run_placement(config, shipped_parts()); });
  };
  CHECK(error(asked_of_racks(drawn(2, 4), "a1,b1"))
            .starts_with("t.conf: says nothing of NVLink domains, and NCCL takes the gb200-nvl72's "
                         "hosts in one domain for one node"));
  CHECK(error(asked_of_racks(racks(2, 36), "a1,b1"))
            .starts_with("t.conf: a has 36 hosts, an NVLink domain of gb200-nvl72 at most 18"));
  PlacementConfig apart = asked_of_racks(racks(2, 36), "a1,b1");
  apart.environment.set("NCCL_MNNVL_ENABLE", "0");
  CHECK(run_placement(apart, shipped_parts()).by_domain == false);
}

}  // namespace fabricast
