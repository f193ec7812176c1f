// What tuner plugins answer: points of regions worked out by hand, files in every format, and what
// is said of files and words that are wrong.

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "models/io/tuners/aws_ofi.hpp"
#include "models/io/tuners/load_tuner.hpp"
#include "models/io/tuners/ncclx_tuner.hpp"
#include "models/io/tuners/plane.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

bool always(Algorithm, Protocol) { return true; }

/// "Tree LL128", "Ring Simple, 4 channels", or "own choice".
std::string shown(const TunerAnswer& answer) {
  std::string out = "own choice";
  if (answer.pair) {
    out = std::string(to_text(answer.pair->algorithm)) + " " +
          std::string(to_text(answer.pair->protocol));
  }
  if (answer.channels) out += ", " + std::to_string(*answer.channels) + " channels";
  return out;
}

/// As one instance of AWS's, with so many ranks on each of the nodes.
class Aws {
 public:
  Aws(const std::string& instance, int ranks_per_node, NcclVersion release = kNccl2_27_7)
      : tuner_(load_tuner("aws-ofi:" + instance, {.release = release})),
        ranks_per_node_(ranks_per_node) {}

  std::string all_reduce(int nodes, std::int64_t bytes, const TunerOffers& there = always) const {
    return shown(tuner_->ask(call(Collective::all_reduce, nodes, bytes), there));
  }
  std::string all_gather(int nodes, std::int64_t bytes) const {
    return shown(tuner_->ask(call(Collective::all_gather, nodes, bytes), always));
  }
  std::string because(int nodes, std::int64_t bytes) const {
    return tuner_->ask(call(Collective::all_reduce, nodes, bytes), always).because;
  }

 private:
  TunerCall call(Collective collective, int nodes, std::int64_t bytes) const {
    return {collective, bytes, nodes, nodes * ranks_per_node_};
  }

  std::unique_ptr<const TunerPlugin> tuner_;
  int ranks_per_node_;
};

std::unique_ptr<const TunerPlugin> parsed(const std::string& text,
                                          TunerReading reading = TunerReading::recognised) {
  return parse_tuner(text, "t", {}, reading);
}
std::string parse_error(const std::string& text) {
  return error_text([&] { parsed(text); });
}

}  // namespace

TEST_CASE("tuner plane: inside, on an edge, outside") {
  // In logarithms the triangle (0,0), (4,0), (4,4): below and on the diagonal.
  const std::array<PlanePoint, 3> triangle = {PlanePoint{1, 1}, {16, 1}, {16, 16}};
  const PlanePoint end{1024, 1024};
  for (const PlanePoint at : {PlanePoint{5, 4}, {4, 4}, {16, 4}, {4, 1}, {16, 16}, {1, 1}}) {
    CAPTURE(at.bytes);
    CHECK(covers(triangle, at, end));
  }
  for (const PlanePoint at : {PlanePoint{4, 5}, {17, 4}, {15, 16}, {0, 1}, {2, 0.5}}) {
    CAPTURE(at.bytes);
    CHECK_FALSE(covers(triangle, at, end));
  }
  // There and back: edges without an area.
  const std::array<PlanePoint, 3> line = {PlanePoint{2, 4}, {64, 4}, {2, 4}};
  CHECK(covers(line, {8, 4}, end));
  CHECK_FALSE(covers(line, {8, 5}, end));
  CHECK_FALSE(covers(line, {65, 4}, end));
}

TEST_CASE("tuner plane: where a line leaves it") {
  const auto leaves = [](PlanePoint a, PlanePoint b, PlanePoint end, PlanePoint at) {
    const PlanePoint out = beyond(a, b, end);
    CHECK(out.bytes == doctest::Approx(at.bytes));
    CHECK(out.ranks == doctest::Approx(at.ranks));
  };
  leaves({1, 1}, {2, 2}, {1024, 16}, {16, 16});   // y = x: at 16 ranks before 1024 bytes
  leaves({1, 1}, {2, 2}, {8, 1024}, {8, 8});      // at 8 bytes before 1024 ranks
  leaves({4, 1}, {4, 2}, {64, 1024}, {4, 1024});  // upright
  leaves({1, 4}, {2, 4}, {64, 1024}, {64, 4});    // level
  // p5, NVLSTree: 48 MiB for each rank at both corners, so 100 GiB at 2133.3 ranks.
  leaves({8053063680, 160}, {9663676416, 192}, {107374182400, 1048576},
         {107374182400, 107374182400.0 / 50331648});
}

TEST_CASE("aws-ofi: AllReduce of a p5 with eight ranks per node") {
  const Aws p5("p5.48xlarge", 8);
  CHECK(p5.all_reduce(2, kMiB) == "own choice");  // two nodes are left to NCCL
  // 24 ranks: log2 = 4.585. Tree LL128 ends between (2^24.907, 2^4) and (2^25.170, 2^5): at
  // 2^25.061; Ring LL128 between (2^30, 2^4.087) and (2^31, 2^6): at 2^30.26; Ring Simple at 100
  // GiB.
  CHECK(p5.all_reduce(3, 1) == "Tree LL128");
  CHECK(p5.all_reduce(3, 32 * kMiB) == "Tree LL128");
  CHECK(p5.all_reduce(3, 64 * kMiB) == "Ring LL128");
  CHECK(p5.all_reduce(3, kGiB) == "Ring LL128");
  CHECK(p5.all_reduce(3, 2 * kGiB) == "Ring Simple");
  CHECK(p5.all_reduce(3, 100 * kGiB) == "Ring Simple");
  CHECK(p5.all_reduce(3, 100 * kGiB + 1) == "own choice");
  // 2560 ranks: the edge from 2048 ranks on is upright, at 384 MiB, and the first region has it.
  CHECK(p5.all_reduce(320, 384 * kMiB - 1) == "Tree LL128");
  CHECK(p5.all_reduce(320, 384 * kMiB) == "Tree LL128");
  CHECK(p5.all_reduce(320, 384 * kMiB + 1) == "NVLSTree Simple");
  const auto no_nvls = [](Algorithm a, Protocol) { return !is_nvls(a); };
  CHECK(p5.all_reduce(320, 384 * kMiB + 1, no_nvls) == "own choice");
  // No regions but for AllReduce.
  CHECK(p5.all_gather(3, kMiB) == "own choice");
  CHECK(p5.because(3, 64 * kMiB) ==
        "region 3 (Ring LL128) of AllReduce on p5.48xlarge with 8 ranks per node, aws-ofi-nccl");
  CHECK(p5.because(2, kMiB) == "aws-ofi-nccl for p5.48xlarge: 2 nodes are left to NCCL");
  // Four ranks per node: no regions.
  CHECK(Aws("p5.48xlarge", 4).because(3, kMiB) ==
        "aws-ofi-nccl for p5.48xlarge: no regions for AllReduce with 12 ranks on 3 nodes");
}

TEST_CASE("aws-ofi: a p5 with one or two ranks per node") {
  // One: from (2^22, 2) to (2^33, 2^11), so 64 ranks at 2^(22 + 11/2).
  const Aws one("p5e.48xlarge", 1);
  CHECK(one.all_gather(64, 128 * kMiB) == "own choice");
  CHECK(one.all_gather(64, 256 * kMiB) == "Ring Simple");
  CHECK(one.all_reduce(16, kMiB) == "Tree LL128");  // 16 ranks: the lower edge, up to 2367488 B
  CHECK(one.all_reduce(8, kMiB) == "Ring LL128");   // below it
  // Two, three nodes: six ranks are above the lines at four, and left of the corners at eight.
  const Aws two("p5.48xlarge", 2);
  CHECK(two.all_reduce(4, 1051648) == "Tree LL128");  // a corner, of two regions
  CHECK(two.all_reduce(4, 1051649) == "Ring LL128");
  CHECK(two.all_reduce(4, 41842688) == "Ring LL128");  // a corner, of two regions
  CHECK(two.all_reduce(4, 41842689) == "NVLSTree Simple");
  CHECK(two.all_reduce(4, 275775488) == "NVLSTree Simple");
  CHECK(two.all_reduce(4, 275775489) == "Ring Simple");
}

TEST_CASE("aws-ofi: p5en") {
  const Aws p5en("p5en.48xlarge", 8);
  // 24 ranks: Tree LL up to 192 KiB, upright; Tree LL128 between (2^23.644, 2^4) and (2^26.948,
  // 2^6.989): to 2^24.291 = 20.5 MB; Ring LL128 between (2^24.833, 2^4) and (2^28.129, 2^5): to
  // 2^26.761 = 114 MB; NVLSTree between (2^36.644, 2^4) and (2^28.925, 2^5): to 2^32.129 = 4.70 GB.
  CHECK(p5en.all_reduce(3, 192 * kKiB) == "Tree LL");
  CHECK(p5en.all_reduce(3, 192 * kKiB + 1) == "Tree LL128");
  CHECK(p5en.all_reduce(3, 20'000'000) == "Tree LL128");
  CHECK(p5en.all_reduce(3, 21'000'000) == "Ring LL128");
  CHECK(p5en.all_reduce(3, 113'000'000) == "Ring LL128");
  CHECK(p5en.all_reduce(3, 115'000'000) == "NVLSTree Simple");
  CHECK(p5en.all_reduce(3, 4'650'000'000) == "NVLSTree Simple");
  CHECK(p5en.all_reduce(3, 4'750'000'000) == "Ring Simple");
  // One rank per node, 16 of them: PAT to its corner at 16 MiB, then Ring. NCCL 2.21 has no PAT,
  // and what is no choice of the plugin stays NCCL's.
  CHECK(Aws("p5en.48xlarge", 1).all_gather(16, kMiB) == "PAT Simple");
  CHECK(Aws("p5en.48xlarge", 1).all_gather(16, 16 * kMiB) == "PAT Simple");
  CHECK(Aws("p5en.48xlarge", 1).all_gather(16, 16 * kMiB + 2) == "Ring LL128");
  CHECK(Aws("p5en.48xlarge", 1, kNccl2_21_5).all_gather(16, kMiB) == "own choice");
}

TEST_CASE("aws-ofi: channels on p6") {
  // Tree LL128 on four nodes: 3.8 steps. The estimate halves 576000 B down to 72000 where there are
  // fewer than 30.4 chunks per channel, which is so below 32 MiB, and on while there are fewer than
  // 7.6. 16 MiB: 14, 9, 7 chunks with 16, 24, 32 channels, so 24 is the most with 72000. 8 MiB:
  // 36000 with 16 (7, then 14) and 24 (4, then 9), 18000 with 32 (3, 7). 4 MiB: 18000 with all.
  const Aws b200("p6-b200.48xlarge", 8);
  CHECK(b200.all_reduce(4, 16 * kMiB) == "Tree LL128, 24 channels");
  CHECK(b200.all_reduce(4, 8 * kMiB) == "Tree LL128, 24 channels");
  CHECK(b200.all_reduce(4, 4 * kMiB) == "Tree LL128, 32 channels");
  CHECK(b200.all_reduce(4, 4 * kMiB - 1) == "Tree LL128");
  CHECK(Aws("p6-b200.48xlarge", 8, kNccl2_21_5).all_reduce(4, 8 * kMiB) == "Tree LL128");
  CHECK(Aws("p6-b300.48xlarge", 8).all_reduce(4, 8 * kMiB) == "Tree LL128");
  // PAT on 16 nodes of one rank: 64 KiB for each node take one channel, twice that two.
  const Aws b300("p6-b300.48xlarge", 1);
  CHECK(b300.all_gather(16, kMiB) == "PAT Simple, 1 channels");
  CHECK(b300.all_gather(16, kMiB + 1) == "PAT Simple, 2 channels");
  CHECK(b300.all_gather(16, 2 * kMiB) == "PAT Simple, 2 channels");
  CHECK(b300.all_gather(16, 2 * kMiB + 1) == "PAT Simple");
}

TEST_CASE("aws-ofi: the instance that a node is") {
  const auto name = [](const char* gpu, const char* nic) {
    return std::string(load_tuner("aws-ofi", {.gpu = gpu, .nic = nic})->name());
  };
  CHECK(name("H100_SXM5", "EFA_v2") == "aws-ofi-nccl for p5.48xlarge");
  CHECK(name("H200_SXM", "EFA_v2") == "aws-ofi-nccl for p5e.48xlarge");
  CHECK(name("H200_SXM", "EFA_v3") == "aws-ofi-nccl for p5en.48xlarge");
  CHECK(name("B200_SXM", "EFA_v4") == "aws-ofi-nccl for p6-b200.48xlarge");
  CHECK(name("B300_SXM", "EFA_v4") == "aws-ofi-nccl for p6-b300.48xlarge");
  CHECK(error_text([&] { name("A100_SXM4_40", "EFA_v1"); }) ==
        "aws-ofi-nccl's tuner is silent on nodes of A100_SXM4_40 with EFA_v1: NCCL chooses\n"
        "hint: leave it out, or say as which instance it is asked: aws-ofi:p5.48xlarge "
        "(p5.48xlarge, p5e.48xlarge, p5en.48xlarge, p6-b200.48xlarge, p6-b300.48xlarge)");
  CHECK(error_text([] { load_tuner("aws-ofi:p5en.24xlarge", {}); }) ==
        "unknown instance of aws-ofi-nccl's tuner \"p5en.24xlarge\"\n"
        "hint: did you mean \"p5en.48xlarge\"?");
  CHECK(error_text([] {
          load_tuner("aws-ofi:p5.48xlarge", {.release = {20, 3}});
        }) == "aws-ofi-nccl's tuner does not speak to NCCL 2.20.3\nhint: 2.21 and later ask it");
  // 2.21 is left alone where the user chooses, later releases mask first and then ask.
  const TunerCall call{Collective::all_reduce, kMiB, 4, 32};
  const auto set = [&](NcclVersion release) {
    return shown(load_tuner("aws-ofi:p5.48xlarge", {.release = release, .choice_is_set = true})
                     ->ask(call, always));
  };
  CHECK(set(kNccl2_21_5) == "own choice");
  CHECK(set(kNccl2_27_7) == "Tree LL128");
}

TEST_CASE("aws-ofi: every region has the corners that say what it is") {
  const AwsOfiTuner tuner = load_aws_ofi();
  CHECK(tuner.platforms.size() == 4);
  std::size_t calls = 0, regions = 0, corners = 0;
  for (const AwsOfiPlatform& platform : tuner.platforms) {
    for (const AwsOfiCalls& one : platform.calls) {
      ++calls;
      for (const TunerRegion& region : one.regions) {
        ++regions;
        corners += region.corners.size();
        for (const PlanePoint corner : region.corners)
          CHECK(covers(region.corners, corner, tuner.end));
      }
    }
  }
  // The sums of the numbers of vertices that the plugin states.
  CHECK(calls == 23);
  CHECK(regions == 88);
  CHECK(corners == 803);
}

TEST_CASE("aws-ofi: data that are wrong") {
  const auto message = [](const std::string& corners, const std::string& named = "a: [1 1, 2 2]") {
    return error_text([&] {
      parse_aws_ofi(
          "bytes_max: 100\nranks_max: 64\nnodes_min: 3\nplatforms:\n"
          "- instances: [x]\n  nodes: [gpu nic]\n  calls:\n"
          "  - collective: all_reduce\n    ranks_per_node: 8\n    named:\n      " +
              named + "\n    regions:\n    - {use: Tree LL, corners: [" + corners + "]}\n",
          "f");
    });
  };
  CHECK(message("0 1, 2 max, a, a.bytes a.ranks") == "no error");
  CHECK(message("0 1, b") ==
        "f:13: platforms[0].calls[0].regions[0].corners: unknown corner \"b\"\nhint: known: a");
  CHECK(message("0 1, 1 many") ==
        "f:13: platforms[0].calls[0].regions[0].corners: \"many\" is no number of bytes or ranks\n"
        "hint: write a number, max, NAME.bytes or NAME.ranks");
  CHECK(message("0 1, 1 1", "a: [1 1, 1 1]") ==
        "f:11: platforms[0].calls[0].named.a: two different corners without 0 make a line");
}

TEST_CASE("tuner file: NCCL's example plugin and ours read it") {
  const std::string text =
      "# rules\n"
      "allreduce,0,100,nvls,simple,8,2,16\n"
      "allreduce,101,200,ring,ll,-1,2,16\n"
      "allreduce,201,300,ring,ll,0,2,16\n"
      "alreduce,301,400,ring,ll,4,2,16\n"
      "allreduce,0,1\n";
  const auto ask = [&](TunerReading reading, std::int64_t bytes) {
    return parsed(text, reading)->ask({Collective::all_reduce, bytes, 2, 16}, always);
  };
  const auto example = TunerReading::nccl_example, ours = TunerReading::fabricast;
  CHECK(shown(ask(TunerReading::recognised, 100)) == "NVLS Simple, 8 channels");
  CHECK(ask(example, 100).because == "line 2 of t");
  CHECK(shown(ask(ours, 100)) == "NVLS Simple, 8 channels");
  // "Keep": one channel to the example.
  CHECK(shown(ask(example, 200)) == "Ring LL, 1 channels");
  CHECK(ask(example, 200).because == "line 3 of t: NCCL's example plugin says one channel");
  CHECK(shown(ask(ours, 200)) == "Ring LL");
  CHECK(shown(ask(example, 300)) == "Ring LL");  // 0: NCCL's own number
  CHECK(shown(ask(example, 400)) == "Ring LL, 4 channels");
  CHECK(shown(ask(example, 500)) == "own choice, 1 channels");
  CHECK(ask(example, 500).because ==
        "no line of t matches: NCCL's example plugin says one channel");
  CHECK(shown(ask(ours, 500)) == "own choice");
  CHECK(parsed(text)->notes() ==
        std::vector<std::string>{"t: line 5: \"alreduce\" is read as allreduce",
                                 "t: line 6: passed over: 3 fields, at least 8 are needed"});
  CHECK(error_text([&] { parse_tuner(text, "t", {.release = kNccl2_21_5}); }) ==
        "the example tuner plugin of NCCL 2.21.5 reads no file\n"
        "hint: that of 2.27.5 and later does; fabricast:t is read as our own plugin reads it");
}

TEST_CASE("NCCLX: ranges") {
  const auto is = [](const char* text, std::int64_t min, std::int64_t max) {
    CAPTURE(text);
    CHECK(parse_range(text) == WholeRange{min, max});
  };
  is("*", INT64_MIN, INT64_MAX);
  is(" 5 ", 5, 5);
  is("-1", -1, -1);
  is("[2,4]", 2, 4);
  is("(2,4)", 3, 3);
  is("( 1 , )", 2, INT64_MAX);
  is("[2,)", 2, INT64_MAX);
  is("(,4]", INT64_MIN, 4);
  is("(,4)", INT64_MIN, 3);
  CHECK_FALSE(parse_range("(3,3)").has(3));
  CHECK_FALSE(parse_range("(9223372036854775807,]").has(INT64_MAX));
  CHECK(error_text([] { parse_range("(2,1]"); }) ==
        "\"(2,1]\" is no range: it ends before it begins\nhint: *, 8, [0,1048576], (1,) or (,4]");
  CHECK(error_text([] { parse_range("[1,2"); }) ==
        "\"[1,2\" is no range: no bracket ends it\nhint: *, 8, [0,1048576], (1,) or (,4]");
  CHECK(error_text([] { parse_range("[1]"); }) ==
        "\"[1]\" is no range: one comma is expected\nhint: *, 8, [0,1048576], (1,) or (,4]");
  CHECK(error_text([] { parse_range("[a,2]"); }) == "\"a\" is no whole number");
}

TEST_CASE("NCCLX: lines and JSON are the same rules") {
  const std::string csv =
      "# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n"
      "allgather, [0,2097152] ,tree,simple,4,2,8\n"
      "allgather,(2097152,),ring,ll128,-1,*,*,524288\n"
      "allreduce,*,ring,ll,-1,*,*,2,1,0\n";
  const std::string json = R"~({
  "rules": [
    {"filter": {"collective": "allgather", "bytesPerRank": "[0,2097152]", "nNodes": 2,
                "nLocalRanks": 8},
     "config": {"algorithm": "tree", "protocol": "simple", "channels": 4}},
    {"filter": {"collective": "allgather", "bytesPerRank": "(2097152,)"},
     "config": {"algorithm": "ring", "protocol": "ll128", "chunkSize": 524288}},
    {"filter": {"collective": "allreduce", "numPipeOps": 2, "regBuff": 1},
     "config": {"algorithm": "ring", "protocol": "ll", "chanels": 4}}
  ]
})~";
  for (const std::string& text : {csv, json}) {
    const auto tuner = parsed(text);
    const auto ask = [&](const TunerCall& call) { return shown(tuner->ask(call, always)); };
    // 32 MiB over 16 ranks is 2 MiB each; a byte for half of them more is not.
    CHECK(ask({Collective::all_gather, 32 * kMiB, 2, 16}) == "Tree Simple, 4 channels");
    CHECK(ask({Collective::all_gather, 32 * kMiB + 8, 2, 16}) == "Tree Simple, 4 channels");
    CHECK(ask({Collective::all_gather, 32 * kMiB + 16, 2, 16}) == "Ring LL128");
    CHECK(ask({Collective::all_gather, 32 * kMiB, 4, 16}) == "own choice");
    CHECK(ask({Collective::all_gather, 32 * kMiB + 16, 4, 16}) == "Ring LL128");
    CHECK(ask({Collective::all_reduce, 8, 1, 8}) == "own choice");
    CHECK(ask({Collective::all_reduce, 8, 1, 8, 2, true}) == "Ring LL");
    const auto no_tree = [](Algorithm a, Protocol) { return a != Algorithm::tree; };
    CHECK(shown(tuner->ask({Collective::all_gather, kMiB, 2, 16}, no_tree)) == "own choice");
  }
  CHECK(parsed(csv)->ask({Collective::all_gather, kMiB, 2, 16}, always).because == "line 2 of t");
  CHECK(parsed(json)->ask({Collective::all_gather, kMiB, 2, 16}, always).because == "line 3 of t");
  CHECK(parsed(csv)->notes().empty());
  CHECK(parsed(json)->notes() ==
        std::vector<std::string>{"t:9: rules[2].config.chanels: NCCLX reads no such key"});
  CHECK(error_text([&] { parse_tuner(csv, "t", {.release = kNccl2_21_5}); }) ==
        "NCCLX's tuner needs a table of costs, which NCCL 2.21.5 gives to no tuner\n"
        "hint: 2.22 and later do; NCCLX has its tuner since 2.29");
}

TEST_CASE("NCCLX: files that are wrong") {
  const std::string good = "allgather,*,ring,ll128,-1,*,*\n";
  CHECK(parse_error(good + "allgather,*,ring,ll128,-1,*\n") ==
        "t:2: 6 fields, at least 7 are needed\n"
        "hint: collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks");
  CHECK(parse_error(good + "allgathr,*,ring,ll128,-1,*,*\n") ==
        "t:2: collective: unknown collective \"allgathr\"\nhint: did you mean \"allgather\"?");
  CHECK(parse_error(good + "allgather,*,ring,ll12,-1,*,*\n") ==
        "t:2: protocol: unknown protocol \"ll12\"\nhint: did you mean \"ll128\"?");
  CHECK(parse_error(good + "allgather,[4,2],ring,ll128,-1,*,*\n") ==
        "t:2: bytesPerRank: \"[4,2]\" is no range: it ends before it begins\n"
        "hint: *, 8, [0,1048576], (1,) or (,4]");
  CHECK(parse_error(good + "allgather,*,ring,ll128,4x,*,*\n") ==
        "t:2: channels: \"4x\" is no whole number");
  CHECK(parse_error(good + "allgather,*,ring,ll128,4,*,*,-7\n") ==
        "t:2: chunkSize: a chunk of -7 bytes\nhint: 0: NCCL's own");
  CHECK(parse_error("{\"rules\": [\n{\"filter\": {\"collective\": \"allgather\"},\n"
                    "\"config\": {\"algorithm\": \"rings\", \"protocol\": \"ll\"}}]}") ==
        "t:3: rules[0].config.algorithm: unknown algorithm \"rings\"\n"
        "hint: did you mean \"ring\"?");
  CHECK(parse_error("{\"rules\": [\n{\"filter\": {\"collective\": \"allgather\"}}]}") ==
        "t:2: rules[0]: missing key \"config\"");
  CHECK(parse_error("{\"rule\": []}") ==
        "t:1: no rules\n"
        "hint: {\"rules\": [{\"filter\": ..., \"config\": ...}]}");
}

TEST_CASE("tuners: what no plugin is") {
  const std::string known =
      "\nhint: known are NCCL's example plugin "
      "(collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks) and NCCLX "
      "(collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks; or JSON)";
  CHECK(parse_error("") == "t: has no rule for a tuner" + known);
  CHECK(parse_error("# nothing\n\n") == "t: has no rule for a tuner" + known);
  CHECK(parse_error("# a list\n8,16,32\n") ==
        "t:2: is no file for a tuner that is known: no line names an algorithm" + known);
  CHECK(parse_error("\n# a3\ntuning_config {\n  algorithm: 1\n}\n") ==
        "t:3: this is a protocol buffer as text, as Google's tuner reads: its fields are not "
        "public, and it cannot be read\n"
        "hint: write its rules for NCCL's example plugin: "
        "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks");
  CHECK(error_text([] { load_tuner("aws-off", {}); }) ==
        "aws-off: cannot be read\nhint: did you mean \"aws-ofi\"?");
  CHECK(error_text([] { load_tuner("fabricats:t.csv", {}); }) ==
        "fabricats:t.csv: cannot be read\nhint: did you mean \"fabricast\"?");
  CHECK(error_text([] { load_tuner("rules.csv", {}); }) ==
        "rules.csv: cannot be read\n"
        "hint: a tuner is a file, aws-ofi, aws-ofi:p5.48xlarge, or nccl-example:, fabricast: or "
        "ncclx: in front of a file");
}
