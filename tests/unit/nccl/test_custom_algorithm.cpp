// Custom algorithms: what is read, what is refused and where, and what they take beside NCCL's own.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "models/io/algorithms/read_algorithm.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/communicator/custom_call.hpp"
#include "models/nccl/custom/custom_compile.hpp"
#include "models/studies/cutover/cutover.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

const std::string kShipped = FABRICAST_TEST_DATA "/../../scenarios/algorithms/";

CustomAlgorithm shipped(const std::string& name) {
  return load_algorithm(kShipped + name + ".yaml");
}

/// Two ranks, whose blocks are given.
std::string xml(const std::string& rank0, const std::string& rank1,
                const std::string& attributes = "") {
  return "<algo name=\"t\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" "
         "coll=\"allreduce\" inplace=\"1\" " +
         attributes + ">\n<gpu id=\"0\" s_chunks=\"2\">\n" + rank0 +
         "</gpu>\n<gpu id=\"1\" s_chunks=\"2\">\n" + rank1 + "</gpu>\n</algo>\n";
}

std::string block(int id, int send, int recv, const std::string& steps) {
  return "<tb id=\"" + std::to_string(id) + "\" send=\"" + std::to_string(send) + "\" recv=\"" +
         std::to_string(recv) + "\" chan=\"0\">\n" + steps + "</tb>\n";
}

std::string step(int s, const char* type, const char* src, int srcoff, const char* dst, int dstoff,
                 int cnt = 1, int depid = -1, int deps = -1) {
  const auto quoted = [](const char* name, const auto& value) {
    return " " + std::string(name) + "=\"" + value + "\"";
  };
  return "<step" + quoted("s", std::to_string(s)) + quoted("type", type) + quoted("srcbuf", src) +
         quoted("srcoff", std::to_string(srcoff)) + quoted("dstbuf", dst) +
         quoted("dstoff", std::to_string(dstoff)) + quoted("cnt", std::to_string(cnt)) +
         quoted("depid", std::to_string(depid)) + quoted("deps", std::to_string(deps)) +
         " hasdep=\"0\"/>\n";
}

/// Each rank sums the half that has its number, and sends it back.
std::string good(int rank) {
  const int other = 1 - rank;
  return block(0, other, other,
               step(0, "s", "i", other, "i", other) + step(1, "rrcs", "i", rank, "i", rank) +
                   step(2, "r", "i", other, "i", other));
}

std::string error_of(const std::string& text) {
  return error_text([&] { parse_algorithm(text, "a.xml"); });
}

std::string yaml(const std::string& more) {
  return "kind: algorithm\nname: t\ncollective: all_reduce\nranks: 4\nchunks: 4\n" + more;
}

Communicator communicator_on(const Cluster& cluster, const char* algorithm, const char* protocol) {
  Environment environment;
  environment.set("NCCL_ALGO", algorithm);
  environment.set("NCCL_PROTO", protocol);
  environment.set("NCCL_MAX_NCHANNELS", "1");
  return make_communicator(cluster, {kNccl2_21_5, environment, 0, false, {}});
}

}  // namespace

TEST_CASE("custom algorithm: MSCCL's XML") {
  const CustomAlgorithm read = parse_algorithm(xml(good(0), good(1)), "a.xml");
  CHECK(read.ranks == 2);
  CHECK(read.chunks == 2);
  CHECK(read.protocol == Protocol::ll);
  CHECK(read.in_place);
  CHECK_FALSE(read.out_of_place);
  REQUIRE(read.blocks.size() == 2);
  CHECK(read.blocks[1].steps[1].kind == CustomKind::recv_reduce_copy_send);
  CHECK(read.blocks[0].steps[0].line == 4);
}

TEST_CASE("custom algorithm: sends and receives that do not fit are named with their line") {
  CHECK(error_of(xml(good(0), block(0, 0, 0, step(0, "s", "i", 0, "i", 0)))) ==
        "a.xml:4: rank 0, threadblock 0, step 0: sends message 1 to rank 1, which receives 0 from "
        "it on channel 0");
  CHECK(error_of(xml(good(0), block(0, 0, 0, step(0, "s", "i", 0, "i", 0, 2)))) ==
        "a.xml:4: rank 0, threadblock 0, step 0: sends message 1 to rank 1, which receives 0 from "
        "it on channel 0");
}

TEST_CASE("custom algorithm: a deadlock is named step by step") {
  const auto waits = [](int rank) {
    const int other = 1 - rank;
    return block(0, other, other,
                 step(0, "rrc", "i", rank, "i", rank) + step(1, "s", "i", other, "i", other));
  };
  CHECK(error_of(xml(waits(0), waits(1))) ==
        "a.xml:4: rank 0, threadblock 0, step 0: deadlock: rank 0, threadblock 0, step 0 waits for "
        "a chunk of rank 1; rank 1, threadblock 0, step 0 waits for a chunk of rank 0");
  // Dependencies of blocks in a circle.
  const auto circle = good(0) + block(1, -1, -1, step(0, "cpy", "i", 0, "s", 0, 1, 2, 0)) +
                      block(2, -1, -1, step(0, "cpy", "i", 0, "s", 1, 1, 1, 0));
  CHECK(error_of(xml(circle, good(1))).find("waits for step 0 of threadblock 2; rank 0") !=
        std::string::npos);
}

TEST_CASE("custom algorithm: more messages than slots, with nobody to take them, is a deadlock") {
  // LL has eight slots: nine sends before the first receive on both sides never end.
  const auto eager = [](int rank, int sends) {
    std::string steps;
    int s = 0;
    for (; s < sends; ++s) steps += step(s, "s", "i", 0, "i", 0);
    for (int i = 0; i < sends; ++i, ++s) steps += step(s, "r", "i", 0, "s", 0);
    return block(0, 1 - rank, 1 - rank, steps);
  };
  CHECK(error_of(xml(eager(0, 9), eager(1, 9))).find("waits for a free slot at rank 1") !=
        std::string::npos);
  CHECK(error_of(xml(eager(0, 8), eager(1, 8))).find("ends with input 0") != std::string::npos);
}

TEST_CASE("custom algorithm: a wrong result is named") {
  // Rank 1 keeps its half to itself.
  const auto lazy = block(0, 0, 0,
                          step(0, "s", "i", 0, "i", 0) + step(1, "rrc", "i", 1, "i", 1) +
                              step(2, "r", "i", 0, "i", 0) + step(3, "s", "s", 0, "i", 0));
  CHECK(error_of(xml(good(0), lazy)) ==
        "a.xml:14: rank 1, threadblock 0, step 3: reads scratch 0, which nothing has written");
  const auto twice = block(0, 1, 1,
                           step(0, "s", "i", 1, "i", 1) + step(1, "rrcs", "i", 0, "i", 0) +
                               step(2, "rrc", "i", 1, "i", 1));
  CHECK(error_of(xml(twice, good(1))) ==
        "a.xml:6: rank 0, threadblock 0, step 2: adds input 1 of rank 0 to input 1 of ranks 0 1: "
        "rank 0 counts twice");
  const auto stale = block(0, 1, 1,
                           step(0, "s", "i", 1, "i", 1) + step(1, "rrcs", "i", 0, "i", 0) +
                               step(2, "r", "i", 1, "s", 0));
  CHECK(error_of(xml(stale, good(1))) ==
        "a.xml: rank 0 ends with input 1 of rank 0 in output 1 (in place); all_reduce makes it "
        "input 1 of ranks 0 1");
}

TEST_CASE("custom algorithm: chunks used by two blocks need an order") {
  const auto racing = good(0) + block(1, -1, -1, step(0, "cpy", "i", 1, "s", 0));
  const std::string found = error_of(xml(racing, good(1)));
  CHECK(found.find("no dependency says which comes first") != std::string::npos);
  const auto ordered = good(0) + block(1, -1, -1, step(0, "cpy", "i", 1, "s", 0, 1, 0, 2));
  CHECK_NOTHROW(parse_algorithm(xml(ordered, good(1)), "a.xml"));
}

TEST_CASE("custom algorithm: broken files are refused where they break") {
  CHECK(error_of("{\"name\": \"x\"}") ==
        "a.xml: no algorithm: it begins like JSON\nhint: execution plans of MSCCL++ are not read; "
        "MSCCL's XML and YAML are");
  CHECK(error_of("<system version=\"1\"/>") ==
        "a.xml:1: system: <system> is no algorithm of MSCCL, which begins with <algo>");
  CHECK(error_of(xml(good(0), "") + " ").find("sends to rank 1, which has no threadblock") !=
        std::string::npos);
  const std::string bad = block(0, 1, 1, step(0, "send", "i", 0, "i", 0));
  CHECK(error_of(xml(bad, good(1))) ==
        "a.xml:4: algo.gpu[0].tb.step: unknown type \"send\"\nhint: known: s, r, rcs, rrs, rrc, "
        "rrcs, cpy, re, nop");
  const std::string beyond = block(0, 1, 1, step(0, "s", "i", 2, "i", 0));
  CHECK(error_of(xml(beyond, good(1))) ==
        "a.xml:4: rank 0, threadblock 0, step 0: input 2 is not there: input has 2 chunks");
  std::string cut = xml(good(0), good(1));
  cut.resize(cut.size() / 2);
  CHECK(error_of(cut).find("not valid XML") != std::string::npos);
}

TEST_CASE("custom algorithm: YAML says where it is wrong") {
  const auto one = [](const std::string& line) {
    return error_text(
        [&] { parse_algorithm(yaml("in_place: true\nsteps:\n  - " + line + "\n"), "a.yaml"); });
  };
  CHECK(one("{from: 0, to: 4, chunk: 0}") ==
        "a.yaml:8: steps[0].to: \"4\" makes 4: 0 to 3 is possible");
  CHECK(one("{for: {r: 0..3}, from: r, to: q, chunk: 0}")
            .starts_with("a.yaml:8: steps[0].to: \"q\" is no number"));
  CHECK(one("{for: {r: 3}, from: r, to: 0, chunk: 0}")
            .starts_with("a.yaml:8: steps[0].for: r: \"3\" is no range"));
  CHECK(one("{from: 0, to: 1, source: inputs 0, target: output 0}")
            .starts_with("a.yaml:8: steps[0].source: \"inputs 0\" is no chunk"));
  CHECK(one("{from: 0, to: 1, chunk: 0}") ==
        "a.yaml: rank 0 ends with input 0 of rank 0 in output 0 (in place); all_reduce makes it "
        "input 0 of ranks 0 1 2 3");
}

TEST_CASE("custom algorithm: a ring of transfers becomes one block a rank, NCCL's primitives") {
  const auto ring = shipped("ring-8");
  REQUIRE(ring.blocks.size() == 8);
  for (const CustomBlock& one : ring.blocks) {
    std::vector<CustomKind> kinds;
    for (const CustomStep& s : one.steps) {
      kinds.push_back(s.kind);
      CHECK(s.waits.empty());
    }
    std::vector<CustomKind> wanted = {CustomKind::send};
    wanted.insert(wanted.end(), 6, CustomKind::recv_reduce_send);
    wanted.push_back(CustomKind::recv_reduce_copy_send);
    wanted.insert(wanted.end(), 6, CustomKind::recv_copy_send);
    wanted.push_back(CustomKind::recv);
    CHECK(kinds == wanted);
  }
}

TEST_CASE("custom algorithm: the ring written out takes as long as NCCL's") {
  const PartsCatalogue parts = load_parts();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  const auto ring = shipped("ring-8");
  // The third: bytes that all threads move at once, to which NCCL rounds the chunks of small
  // messages. The smallest message here has one of those for each rank.
  for (const auto& [protocol, name, grain] :
       {std::tuple{Protocol::ll, "LL", 4096}, std::tuple{Protocol::ll128, "LL128", 9600},
        std::tuple{Protocol::simple, "Simple", 4096}}) {
    const Communicator communicator = communicator_on(cluster, "Ring", name);
    for (const std::int64_t count : {8 * grain / 4, 1 << 18, 1 << 23}) {
      const Call call{Collective::all_reduce, count, 4, 0};
      const DecidedCall own = decide_call(communicator, call);
      const DecidedCall custom = custom_call(communicator, call, ring, protocol);
      REQUIRE(own.run.channels == 1);
      const auto time = [&](const CollectiveRun& run) {
        return static_cast<double>(simulate(cluster, parts.software, run).time.ps);
      };
      // Blocks of NCCL's ring pause between two slices, of which those of own algorithms know
      // nothing.
      CHECK(time(custom.run) == doctest::Approx(time(own.run)).epsilon(0.02));
    }
  }
}

TEST_CASE("custom algorithm: jumping over what repeats is exact; links are the ring's") {
  const PartsCatalogue parts = load_parts();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const Communicator communicator = make_communicator(cluster, {kNccl2_21_5, {}, 0, false, {}});
  const auto algorithm = shipped("hierarchical-2x8");
  for (const Protocol protocol : protocols_of(algorithm)) {
    const Call call{Collective::all_reduce, 1 << 22, 4, 0};
    const CollectiveRun run = custom_call(communicator, call, algorithm, protocol).run;
    SimulationOptions jumps;
    jumps.fast_forward = true;
    jumps.first_look = 64;
    const SimulationResult all = simulate(cluster, parts.software, run),
                           some = simulate(cluster, parts.software, run, jumps);
    CHECK(all.time == some.time);
    CHECK(all.events == some.events);
    CHECK(all.rank_finish == some.rank_finish);
    // Each GPU sends an eighth of the message to the other node, by a NIC of its own.
    int nics = 0;
    const std::int64_t share = call.count * 4 / 8;
    for (const LinkLoad& load : all.links)
      nics += cluster.is_fabric_link(load.link) && load.carried.count >= share;
    CHECK(nics >= 16);
  }
}

TEST_CASE("custom algorithm: on any GPUs of the nodes, each by the NIC next to it") {
  const PartsCatalogue parts = load_parts();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const auto algorithm = shipped("all-pairs-8");
  for (const std::vector<int>& gpus : {std::vector{0, 2, 4, 6}, std::vector{1, 3, 5, 7}}) {
    CommunicatorConfig config;
    config.version = kNccl2_21_5;
    config.members = Members({0, 1}, gpus);
    const Communicator communicator = make_communicator(cluster, config);
    const Call call{Collective::all_reduce, 1 << 18, 4, 0};
    const CollectiveRun run = custom_call(communicator, call, algorithm, Protocol::simple).run;
    std::set<int> rails;  // number k stands next to GPU k
    for (const LinkLoad& load : simulate(cluster, parts.software, run).links) {
      if (!cluster.is_fabric_link(load.link)) continue;
      const Cluster::FabricEnd from = cluster.link_from(load.link), to = cluster.link_to(load.link);
      if (!from.is_switch) rails.insert(static_cast<int>(from.rail));
      if (!to.is_switch) rails.insert(static_cast<int>(to.rail));
    }
    CHECK(rails == std::set<int>(gpus.begin(), gpus.end()));
  }
}

TEST_CASE("custom algorithm: all pairs beat rings where hops count, not where bytes do") {
  const PartsCatalogue parts = load_parts();
  const Cluster cluster = load_cluster({"dgx-h100", 1, ""}, parts);
  const Communicator ll = communicator_on(cluster, "Ring", "LL");
  const auto time = [&](const CollectiveRun& run) {
    return simulate(cluster, parts.software, run).time;
  };
  const Call small{Collective::all_reduce, 1 << 10, 4, 0}, tiny{Collective::all_reduce, 64, 4, 0},
      large{Collective::all_reduce, 1 << 24, 4, 0};
  const auto two_step = shipped("all-pairs-8"), one_shot = shipped("one-shot-8");
  CHECK(time(custom_call(ll, small, two_step, Protocol::ll).run) <
        time(decide_call(ll, small).run));
  CHECK(time(custom_call(ll, tiny, one_shot, Protocol::ll).run) <
        time(custom_call(ll, tiny, two_step, Protocol::ll).run));
  CHECK(time(custom_call(ll, large, one_shot, Protocol::simple).run) >
        time(custom_call(ll, large, two_step, Protocol::simple).run));
}

TEST_CASE("custom algorithm: only where it fits") {
  const PartsCatalogue parts = load_parts();
  const Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  const Communicator communicator = make_communicator(cluster, {kNccl2_21_5, {}, 0, false, {}});
  const std::string found = error_text([&] {
    const CustomAlgorithm ring = shipped("ring-8");
    custom_call(communicator, {Collective::all_reduce, 1024, 4, 0}, ring, Protocol::ll);
  });
  CHECK(found.find("ring-8 is for 8 ranks, the communicator has 16") != std::string::npos);
}

TEST_CASE("custom algorithm: cutover has it as one more contender") {
  CutoverConfig config;
  config.topology = "dgx-h100";
  config.sizes = {Bytes{1 << 12}, Bytes{1 << 22}};
  const CustomAlgorithm all_pairs = shipped("all-pairs-8");
  config.custom = {&all_pairs};
  const CutoverResult result = run_cutover(config, load_parts(), in_turn);
  const auto own = std::ranges::count_if(result.contenders,
                                         [](const Contender& c) { return c.custom != nullptr; });
  CHECK(own == 3);
  REQUIRE(result.columns[0].cells[0]->fastest);
  CHECK(to_text(result.contenders[*result.columns[0].cells[0]->fastest]) == "all-pairs-8 LL");
  CHECK_FALSE(result.contenders[*result.columns[0].cells[1]->fastest].custom);
}

TEST_CASE("custom algorithm: random transfers in rounds are right, or refused") {
  // A random tree is reduced to rank 0 and broadcast again, chunk by chunk, over random channels.
  std::mt19937 random(7);
  for (int turn = 0; turn < 40; ++turn) {
    CustomAlgorithm algorithm;
    algorithm.name = algorithm.file = "random";
    algorithm.collective = Collective::all_reduce;
    algorithm.ranks = 2 + static_cast<int>(random() % 7);
    algorithm.chunks = 1 + static_cast<int>(random() % 5);
    algorithm.in_place = true;
    algorithm.out_of_place = false;
    std::vector<ChunkTransfer> up, down;
    for (int chunk = 0; chunk < algorithm.chunks; ++chunk) {
      const ChunkPlace at{ChunkBuffer::output, chunk};
      const int channel = static_cast<int>(random() % 2);
      for (int rank = algorithm.ranks - 1; rank > 0; --rank) {
        const int parent = static_cast<int>(random() % static_cast<unsigned>(rank));
        up.push_back({rank, parent, at, at, 1, true, channel, 1});
        down.insert(down.begin(), {parent, rank, at, at, 1, false, channel, 1});
      }
    }
    up.insert(up.end(), down.begin(), down.end());
    compile(up, algorithm);
    CHECK_NOTHROW(check_algorithm(algorithm));
  }
}
