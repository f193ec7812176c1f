// Goal: `fabricast bench` asks and prints what nccl-tests asks and prints.
// Method: sizes and times small enough to derive by hand; the algebra stands beside each check.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/studies/bench/bench.hpp"
#include "models/studies/bench/bench_text.hpp"
#include "models/studies/bench/fold_text.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

BenchConfig config_of(const std::string& topology, Bytes size) {
  BenchConfig config;
  config.topology = topology;
  config.sizes = {size};
  return config;
}

BenchRow only_row(const BenchConfig& config) {
  const BenchResult result = run_bench(config, load_catalogue());
  REQUIRE(result.blocks.size() == 1);
  REQUIRE(result.blocks.front().rows.size() == 1);
  return result.blocks.front().rows.front();
}

BenchRow row_of(Collective collective, Bytes size, const std::string& datatype) {
  BenchConfig config = config_of("dgx-h100", size);
  config.collectives = {collective};
  config.datatype = datatype;
  return only_row(config);
}

}  // namespace

TEST_CASE("the count is whole elements, in steps of 16 bytes where ranks get shares") {
  // 1001 B are 250 floats and one byte.
  const BenchRow reduce = row_of(Collective::all_reduce, Bytes{1001}, "float");
  CHECK(reduce.count == 250);
  CHECK(reduce.size == Bytes{1000});
  CHECK(reduce.requested == Bytes{1001});
  // 250 floats / 8 ranks = 31, down to a multiple of 16 / 4: 28 each, 8 x 28 x 4 B in all.
  const BenchRow gather = row_of(Collective::all_gather, Bytes{1001}, "float");
  CHECK(gather.count == 28);
  CHECK(gather.size == Bytes{896});
  // 500 halves / 8 = 62, down to a multiple of 16 / 2: 56 each.
  const BenchRow scatter = row_of(Collective::reduce_scatter, Bytes{1001}, "half");
  CHECK(scatter.count == 56);
  CHECK(scatter.size == Bytes{896});
  // 125 doubles / 8 = 15, down to a multiple of 16 / 8: 14 each.
  CHECK(row_of(Collective::all_gather, Bytes{1001}, "double").count == 14);
  // 1001 int8 / 8 = 125, down to a multiple of 16: 112 each.
  CHECK(row_of(Collective::all_gather, Bytes{1001}, "int8").count == 112);
  // Of each of eight ranks' messages 28 floats, too, in nccl-tests of today; an old one sent 31.
  for (const Collective collective :
       {Collective::alltoall, Collective::gather, Collective::scatter}) {
    CHECK(row_of(collective, Bytes{1001}, "float").count == 28);
    CHECK(printed_count(collective, Bytes{992}, 4, 8) == 31);
    // 1000 B are no whole floats of eight ranks: nobody printed that, it was asked for.
    CHECK(printed_count(collective, Bytes{1000}, 4, 8) == 28);
  }
  CHECK(printed_count(Collective::all_gather, Bytes{992}, 4, 8) == 28);
  CHECK(printed_count(Collective::sendrecv, Bytes{992}, 4, 8) == 248);
}

TEST_CASE("what rounds down to nothing is left out, and said") {
  BenchConfig config = config_of("dgx-h100", Bytes{8});
  config.collectives = {Collective::all_gather, Collective::all_reduce};
  const BenchResult result = run_bench(config, load_catalogue());
  REQUIRE(result.blocks.front().rows.size() == 1);
  CHECK(result.blocks.front().rows.front().collective == Collective::all_reduce);
  CHECK(std::find(result.notes.begin(), result.notes.end(),
                  "all_gather of 8 B over 8 ranks rounds down to no element: left out.") !=
        result.notes.end());
}

TEST_CASE("what NCCL chooses is what runs") {
  const auto ran = [](int nodes, Collective collective, const char* variable) {
    BenchConfig config = config_of("dgx-h100", Bytes{1 << 24});
    config.nodes = {nodes};
    config.collectives = {collective};
    if (*variable != '\0') config.environment.set(variable);
    return only_row(config).decided.run.algorithm;
  };
  CHECK(ran(1, Collective::all_reduce, "") == Algorithm::nvls);
  CHECK(ran(2, Collective::all_reduce, "") == Algorithm::nvls_tree);
  CHECK(ran(1, Collective::all_gather, "") == Algorithm::ring);  // NVLS is predicted slower
  CHECK(ran(1, Collective::all_gather, "NCCL_ALGO=NVLS") == Algorithm::nvls);
  CHECK(ran(1, Collective::reduce_scatter, "NCCL_ALGO=NVLS") == Algorithm::nvls);
  CHECK(ran(1, Collective::broadcast, "") == Algorithm::ring);
  CHECK(ran(1, Collective::all_reduce, "NCCL_ALGO=Ring") == Algorithm::ring);
  CHECK(ran(1, Collective::all_reduce, "NCCL_PROTO=LL") == Algorithm::ring);
}

TEST_CASE("launches of one process come one after the other") {
  // T = max(T, GPUs x launch): eight launches of 4.4 us take 35.2 us, a small collective less.
  BenchConfig config = config_of("dgx-h100", Bytes{1024});
  const BenchRow alone = only_row(config);
  const Duration launch = load_catalogue().software.launch_per_gpu;
  CHECK(alone.result.time < launch * 8);
  config.gpus_per_process = 8;
  CHECK(only_row(config).result.time == alone.result.time);  // eight threads, side by side
  config.gpus_per_thread = 8;
  CHECK(only_row(config).result.time == launch * 8);
  CHECK(only_row(config).call_time() == launch * 8);
  config.cuda_graph = true;  // one launch for all calls
  CHECK(only_row(config).result.time == alone.result.time);
  config.cuda_graph = false;
  // A large one hides them all.
  config.sizes = {Bytes{1 << 28}};
  const BenchRow hidden = only_row(config);
  config.gpus_per_process = config.gpus_per_thread = 1;
  CHECK(hidden.result.time > launch * 8);
  CHECK(hidden.result.time == only_row(config).result.time);
}

TEST_CASE("one GPU alone has nothing to send") {
  BenchConfig config = config_of("dgx-h100", Bytes{1 << 20});
  config.gpus_per_node = 1;
  const BenchRow row = only_row(config);
  CHECK(row.ranks == 1);
  CHECK(row.result.time == row.result.launch);
  CHECK(row.busbw() == 0);  // factor 2 (n - 1) / n
}

TEST_CASE("the same question has the same digest, another size another one") {
  BenchConfig config = config_of("hgx-h200-2nic", Bytes{1 << 20});
  config.nodes = {2};
  const std::optional<std::uint64_t> digest = bench_digest(run_bench(config, load_catalogue()));
  CHECK(bench_digest(run_bench(config, load_catalogue())) == digest);
  config.explain = true;  // follows the critical path, changes nothing
  CHECK(bench_digest(run_bench(config, load_catalogue())) == digest);
  config.sizes = {Bytes{1 << 19}};
  CHECK(bench_digest(run_bench(config, load_catalogue())) != digest);
}

TEST_CASE("csv is a contract") {
  BenchConfig config = config_of("pcie-2gpu", Bytes{1 << 20});
  config.environment.set("NCCL_ALGO=Ring");
  config.environment.set("NCCL_PROTO=LL");
  const std::string csv = report_csv(bench_report(run_bench(config, load_catalogue())));
  const std::string header =
      "collective,size_bytes,nodes,ranks,algorithm,protocol,nchannels,nchannels_tuner,nthreads,"
      "time_us,algbw_GBps,busbw_GBps,completes\n";
  CHECK(csv.starts_with(header + "all_reduce,1048576,1,2,Ring,LL,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);
  CHECK(csv.ends_with(",yes\n"));
  CHECK(std::count(csv.begin(), csv.end(), ',') == 2 * 12);
}

TEST_CASE("the head of the table names range and step as nccl-tests does") {
  BenchConfig config = config_of("pcie-2gpu", Bytes{8});
  const auto head = [&](std::vector<Bytes> sizes) {
    config.sizes = std::move(sizes);
    const std::string text = bench_text(run_bench(config, load_catalogue()));
    const std::size_t at = text.find("minBytes");
    return text.substr(at, text.find(" warmup") - at);
  };
  CHECK(head({{8}, {32}, {128}}) == "minBytes 8 maxBytes 128 step: 4(factor)");
  CHECK(head({{1024}, {2048}, {3072}}) == "minBytes 1024 maxBytes 3072 step: 1024(bytes)");
  CHECK(head({{1024}}) == "minBytes 1024 maxBytes 1024 step: 1048576(bytes)");
}

TEST_CASE("questions that cannot be answered") {
  const auto error = [](auto change) {
    BenchConfig config = config_of("dgx-h100", Bytes{1 << 20});
    change(config);
    return error_text([&] { run_bench(config, load_catalogue()); });
  };
  CHECK(error([](BenchConfig& c) { c.sizes = {Bytes{std::int64_t{1} << 41}}; }) ==
        "a message of 2 TiB is too large: at most 1 TiB");
  CHECK(error([](BenchConfig& c) { c.root = 8; }) ==
        "root 8 is not a rank: there are 8\nhint: take a root from 0 to 7");
  CHECK(error([](BenchConfig& c) { c.gpus_per_node = 9; }) ==
        "9 GPUs per node asked for, but dgx-h100 has 8\n"
        "hint: lower --gpus-per-node, or raise --nodes");
  CHECK(error([](BenchConfig& c) { c.gpus_per_process = 3; }) ==
        "3 GPUs per process (-t times -g) do not divide the 8 GPUs used per node\n"
        "hint: a process runs on one node: lower -t or -g, or change --gpus-per-node");
}

TEST_CASE("names of datatypes and collectives") {
  CHECK(datatype_bytes("bfloat16") == 2);
  CHECK(datatype_bytes("f8e4m3") == 1);
  CHECK(error_text([] { datatype_bytes("flot"); }) ==
        "unknown datatype \"flot\"\nhint: did you mean \"float\"?");
  CHECK(parse_collectives("all_reduce, broadcast") ==
        std::vector{Collective::all_reduce, Collective::broadcast});
  const auto error = [](const char* text) { return error_text([&] { parse_collectives(text); }); };
  CHECK(error("all_reduce,all_gathr") ==
        "unknown collective \"all_gathr\"\nhint: did you mean \"all_gather\"?");
  CHECK(error("reduce,reduce") == "reduce is listed twice");
  CHECK(error("reduce,").starts_with("unknown collective \"\"\nhint: known: all_reduce, "));
}

TEST_CASE("--explain-fold says what stands for what, and why not for more") {
  const auto folded = [](int nodes, const char* algorithm, bool fold = true) {
    BenchConfig config = config_of("dgx-h100", Bytes{std::int64_t{1} << 30});
    config.nodes = {nodes};
    config.version = kNccl2_27_7;
    config.environment.set("NCCL_ALGO=" + std::string(algorithm));
    config.fold = fold;
    return only_row(config);
  };
  const auto one_of = [](const BenchRow& row, std::uint64_t times) {
    const std::uint64_t simulated = row.result.events - row.result.events_skipped;
    CHECK(row.result.events == times * simulated);
    return "#   " + std::to_string(row.result.events) + " events, " + std::to_string(simulated) +
           " of them simulated\n";
  };
  // 8 rails, halves of 2; NVLSTree has 8 channels on each of 2 trees, NVLS has 16 on one switch.
  const BenchRow tree = folded(4, "Tree");
  CHECK(fold_text(tree) ==
        "#\n# 1 GiB all_reduce on 4 nodes: one of 8 equal rails of 2 nodes simulated, each for 2\n"
        "#   not fewer: nodes of a binary tree have one image each\n" +
            one_of(tree, 8 * 2));
  const BenchRow nvls_tree = folded(4, "NVLSTree");
  CHECK(fold_text(nvls_tree) ==
        "#\n# 1 GiB all_reduce on 4 nodes: one of 8 equal rails of 2 nodes simulated, each for 2\n"
        "#   2 of 16 channels simulated, for those that take the same ways\n"
        "#   not fewer: nodes of a binary tree have one image each\n" +
            one_of(nvls_tree, 8 * 2 * 8));
  const BenchRow nvls = folded(1, "NVLS");
  CHECK(fold_text(nvls) ==
        "#\n# 1 GiB all_reduce on 1 node: one of 8 equal rails simulated\n"
        "#   1 of 16 channels simulated, for those that take the same ways\n"
        "#   nodes not folded: there is one node\n" +
            one_of(nvls, 8 * 16));
  const BenchRow full = folded(4, "NVLSTree", false);
  CHECK(full.result.channels_simulated == 0);
  CHECK(full.result.time == nvls_tree.result.time);
  CHECK(fold_text(full) ==
        "#\n# 1 GiB all_reduce on 4 nodes: every rank simulated\n"
        "#   nodes not folded: every rank was asked for\n" +
            one_of(full, 1));
}

TEST_CASE("what simulates every rank says so, and refuses too many before it begins") {
  BenchConfig config = config_of("dgx-h100", Bytes{1 << 20});
  config.environment.set("NCCL_ALGO=Tree");
  config.nodes = {2};
  config.network.rung = Rung::flow;
  CHECK(only_row(config).result.why_not_folded == "nodes of a binary tree have one image each");
  config.network.routing = Routing::ecmp;
  CHECK(only_row(config).result.why_not_folded == "switches choose ways by lot or by load");
  config.network.routing = Routing::by_destination;
  // 16,000 ranks in a ring: each chunk takes 2 x 15,999 steps. Without folding, as chunks of 2.21
  // differ in size, that took hours to find out.
  config.environment.set("NCCL_ALGO=Ring");
  config.nodes = {2000};
  for (const Rung rung : {Rung::flow, Rung::packet}) {
    config.network.rung = rung;
    CHECK(error_text([&] { run_bench(config, load_catalogue()); }) ==
          "575 million slices are too many for this network: at most 100 million\n"
          "hint: smaller --sizes or fewer --nodes, or --network chunk");
  }
  config.network = {};
  config.nodes = {2};
  config.trace.emplace();
  CHECK(only_row(config).result.why_not_folded == "a trace shows ranks one by one");
}
