// Goal: a timeline shows all of a run and nothing else, and the file of it is what viewers read.
// Method: two workers by hand, to the picosecond; then real collectives, whose spans must be as
// many as the run's slices, leave no gap, and end when the run says.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "models/nccl/run/timeline_recorder.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/bench/timeline_json.hpp"
#include "sim/machines/executor.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

/// Two chunks of 1 MB from position 0 to position 1.
struct TwoChunks final : Program {
  bool next(Role role, Cursor& cursor, Primitive& primitive) const override {
    if (cursor.minor == 2) return false;
    ++cursor.minor;
    primitive = {
        role.position == 1 ? 1u : 0u, role.position == 0 ? 1u : 0u, 1, {1'000'000}, {1'000'000}};
    return true;
  }
};

struct Asked {
  std::string topology;
  int nodes;
  Bytes size;
  std::vector<std::string> variables;
  Collective collective = Collective::all_reduce;
};

BenchConfig config_of(const Asked& asked) {
  BenchConfig config;
  config.topology = asked.topology;
  config.nodes = {asked.nodes};
  config.sizes = {asked.size};
  config.collectives = {asked.collective};
  for (const std::string& variable : asked.variables) config.environment.set(variable);
  config.trace = TimelineFilter{};
  return config;
}

BenchConfig config_of_sharp(const char* algorithm) {
  BenchConfig config = config_of({"dgx-h100", 2, {4 << 20}, {"NCCL_COLLNET_ENABLE=1", algorithm}});
  config.sharp = true;
  return config;
}

BenchConfig config_of_pat() {
  BenchConfig config = config_of({"dgx-h100", 5, {1 << 20}, {"NCCL_ALGO=PAT"}});
  config.version = kNccl2_27_7;
  config.gpus_per_node = 1;
  config.collectives = {Collective::reduce_scatter};
  return config;
}

std::string file_of(const BenchResult& result) {
  const BenchBlock& block = result.blocks.front();
  std::ostringstream out;
  write_timeline(out, result.config, block, block.rows.front());
  return out.str();
}

const std::vector<Asked> kAsked = {
    {"dgx-h100", 1, {4 << 20}, {"NCCL_ALGO=Ring"}},
    {"dgx-h100", 1, {4 << 20}, {"NCCL_ALGO=NVLS"}},
    {"dgx-h100", 2, {1 << 20}, {"NCCL_ALGO=Tree", "NCCL_PROTO=LL"}},
    {"dgx-h100", 3, {1 << 20}, {"NCCL_ALGO=Tree", "NCCL_PROTO=LL128"}},
    {"dgx-h100", 2, {4 << 20}, {"NCCL_ALGO=NVLSTree"}},
    {"dgx-h100", 2, {8 << 20}, {"NCCL_ALGO=Ring", "NCCL_PROTO=Simple"}},
    {"pcie-2gpu", 1, {1 << 20}, {}, Collective::all_gather},
    {"dgx-a100", 2, {1 << 20}, {}, Collective::broadcast}};

std::vector<BenchConfig> all_configs() {
  std::vector<BenchConfig> out;
  for (const Asked& asked : kAsked) out.push_back(config_of(asked));
  for (const char* algorithm : {"NCCL_ALGO=CollNetDirect", "NCCL_ALGO=CollNetChain"})
    out.push_back(config_of_sharp(algorithm));
  out.push_back(config_of_pat());
  return out;
}

const std::vector<Asked> kExchanges = {
    {"dgx-h100", 1, {1 << 20}, {}, Collective::alltoall},
    {"dgx-h100", 3, {768 << 10}, {}, Collective::alltoall},
    {"dgx-a100", 2, {1 << 20}, {}, Collective::gather},
    {"dgx-h100", 2, {1 << 20}, {"NCCL_PXN_DISABLE=1"}, Collective::scatter},
    {"dgx-a100",
     2,
     {1 << 18},
     {"NCCL_NET=Socket", "NCCL_SOCKET_NTHREADS=2"},
     Collective::sendrecv}};

using Spans =
    std::vector<std::tuple<TimelineSpan::Kind, std::uint32_t, std::int64_t, std::int64_t>>;

Spans spans_of(const Timeline& timeline) {
  Spans out;
  for (const TimelineSpan& span : timeline.spans)
    out.emplace_back(span.kind, span.track, span.start.ps, span.end.ps);
  return out;
}

}  // namespace

TEST_CASE("two workers, one slot: every wait has its reason") {
  // Overhead 2 us, copy 1 MB / 200 GB/s = 5 us, link 1 MB / 100 GB/s = 10 us, latency 1 us, sync
  // 0.5 us, no credit. Sender: busy 0..7; the link 2..12, so the bytes are there at 13 instead of 8
  // and seen at 13.5. Receiver: busy 13.5..20.5, then the only slot is free. Again: 20.5..27.5; the
  // link 22.5..32.5; there at 33.5 instead of 28.5; seen at 34; busy 34..41.
  Executor<CausalStamp> executor;
  TimelineDraft draft({}, microseconds(41));
  TimelineRecorder recorder(executor, draft);
  const TwoChunks program;
  const std::uint32_t link = recorder.add_link({{100'000'000'000}, microseconds(1)});
  const std::uint32_t kind = recorder.add_worker_class({{200'000'000'000}, {}});
  const std::uint32_t from = recorder.add_worker(kind, program, {0, 0});
  const std::uint32_t to = recorder.add_worker(kind, program, {0, 1});
  recorder.connect({from, to, 1, {&link, 1}, microseconds(2), nanoseconds(500), {}, {}});
  recorder.show(0, {from}, {5});
  recorder.show(1, {to}, {5});
  executor.watch(recorder);
  executor.transit().observer = &draft;
  executor.run();
  const Timeline timeline = draft.take();
  using Kind = TimelineSpan::Kind;
  CHECK(spans_of(timeline) == Spans{{Kind::slice, 0, 0, 7'000'000},
                                    {Kind::free_slot, 0, 7'000'000, 20'500'000},
                                    {Kind::slice, 0, 20'500'000, 27'500'000},
                                    {Kind::full_slot, 1, 0, 8'000'000},
                                    {Kind::link, 1, 8'000'000, 13'000'000},
                                    {Kind::full_slot, 1, 13'000'000, 13'500'000},
                                    {Kind::slice, 1, 13'500'000, 20'500'000},
                                    {Kind::full_slot, 1, 20'500'000, 28'500'000},
                                    {Kind::link, 1, 28'500'000, 33'500'000},
                                    {Kind::full_slot, 1, 33'500'000, 34'000'000},
                                    {Kind::slice, 1, 34'000'000, 41'000'000}});
  CHECK(timeline.spans[0].name == "send");
  CHECK(timeline.spans[6].name == "recv");
  CHECK(timeline.spans[2].step == 1);
  CHECK(timeline.spans[1].peer_rank == 1);
  CHECK(timeline.tracks[0].channel == 5);
  REQUIRE(timeline.links.size() == 1);
  Duration busy;
  for (const Duration bin : timeline.links[0].busy) busy += bin;
  CHECK(busy == microseconds(20));
}

TEST_CASE("every slice once, no gap, no overlap, ends as the ranks finish") {
  for (const BenchConfig& config : all_configs()) {
    const BenchResult result = run_bench(config, load_catalogue());
    const BenchRow& row = result.blocks.front().rows.front();
    CAPTURE(to_text(row.decided.run.algorithm));
    CAPTURE(row.nodes);
    const nlohmann::json file = nlohmann::json::parse(file_of(result));
    const std::int64_t launch = row.result.launch.ps;
    std::map<std::pair<int, int>, std::int64_t> last_end;
    std::map<int, std::int64_t> finish;
    std::map<std::string, int> counts;
    int overlaps = 0, gaps = 0, inexact = 0;
    for (const auto& event : file["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const auto start = event["args"]["start_ps"].get<std::int64_t>();
      const auto end = event["args"]["end_ps"].get<std::int64_t>();
      const std::string category = event["cat"];
      ++counts[category];
      const int pid = event["pid"];
      const auto [at, is_first] =
          last_end.try_emplace({pid, event["tid"].get<int>()}, category == "message" ? 0 : launch);
      if (start < at->second && category != "call") ++overlaps;
      if (start != at->second && category != "message" && category != "call") ++gaps;
      at->second = end;
      if (category == "slice") finish[pid - 2] = std::max(finish[pid - 2], end - launch);
      const double us = event["ts"];
      if (std::abs(us * 1e6 - static_cast<double>(start)) > 0.5) ++inexact;
    }
    CHECK(overlaps == 0);
    CHECK(gaps == 0);
    CHECK(inexact == 0);
    CHECK(counts["slice"] == static_cast<int>(row.result.slices));
    CHECK((counts["message"] > 0) == (row.nodes > 1));
    REQUIRE(finish.size() == row.result.rank_finish.size());
    for (const auto& [rank, end] : finish)
      CHECK(end == row.result.rank_finish[static_cast<std::size_t>(rank)].ps);
    CHECK(file["otherData"]["time_ps"] == row.result.time.ps);
    if (!kSanitized) CHECK(file_of(run_bench(config, load_catalogue())) == file_of(result));
  }
}

TEST_CASE("sends and receives: every chunk at both ends, no overlap, the times of the run") {
  for (const Asked& asked : kExchanges) {
    BenchConfig config = config_of(asked);
    const BenchResult result = run_bench(config, load_catalogue());
    const BenchRow& row = result.blocks.front().rows.front();
    CAPTURE(to_text(row.collective));
    CAPTURE(row.nodes);
    const Timeline& timeline = *row.timeline;
    std::map<std::string_view, std::uint64_t> counts;
    std::uint64_t messages = 0, clear_to_sends = 0;
    std::vector<Duration> finish(static_cast<std::size_t>(row.ranks));
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const TimelineSpan& span = timeline.spans[i];
      const TimelineTrack& track = timeline.tracks[span.track];
      CHECK(span.start < span.end);
      if (i > 0 && timeline.spans[i - 1].track == span.track)
        CHECK(timeline.spans[i - 1].end <= span.start);
      if (span.kind == TimelineSpan::Kind::message) ++messages;
      if (span.kind == TimelineSpan::Kind::clear_to_send) ++clear_to_sends;
      if (span.kind != TimelineSpan::Kind::slice) continue;
      ++counts[span.name];
      Duration& end = finish[static_cast<std::size_t>(track.rank)];
      end = std::max(end, span.end - Instant{});
    }
    CHECK(counts["send"] == row.result.slices);
    CHECK(counts["recv"] == row.result.slices);
    CHECK((counts["copy"] > 0) == (row.collective != Collective::sendrecv));
    CHECK((messages > 0) == (row.nodes > 1));
    CHECK(clear_to_sends == messages);
    CHECK(finish == row.result.rank_finish);
    CHECK(timeline.run + row.result.launch == row.result.time);

    config.trace.reset();
    config.fold = false;
    const BenchRow alone = run_bench(config, load_catalogue()).blocks.front().rows.front();
    CHECK(alone.result.time == row.result.time);
    CHECK(alone.result.digest == row.result.digest);
    CHECK(alone.result.rank_finish == row.result.rank_finish);
  }
}

TEST_CASE("sends and receives: lanes, peers and proxies have names") {
  const nlohmann::json file =
      nlohmann::json::parse(file_of(run_bench(config_of(kExchanges[1]), load_catalogue())));
  std::map<std::string, int> names, events;
  for (const auto& event : file["traceEvents"]) {
    if (event["ph"] == "M") ++names[event["args"].value("name", "")];
    if (event["ph"] == "X") ++events[event["name"]];
    if (event["ph"] == "X" && event["cat"] == "slice") {
      REQUIRE(event["args"].contains("chunk"));
      REQUIRE(event["args"].contains("rank"));
    }
  }
  CHECK(names["rank 23 (node2 gpu7)"] == 1);
  CHECK(names["channel 0 send 0"] == 24);
  CHECK(names["channel 0 recv 0"] == 24);
  CHECK(names["proxy of rank 5"] == 1);
  CHECK(names["links"] == 1);
  CHECK(events["alltoall 768 KiB Simple"] == 1);
  CHECK(events["to rank 0"] > 0);
  CHECK(events["clear to send for rank 0"] > 0);
  CHECK(file["otherData"]["algorithm"] == "none");
  const nlohmann::json sockets =
      nlohmann::json::parse(file_of(run_bench(config_of(kExchanges[4]), load_catalogue())));
  CHECK(sockets.dump().find("proxy of rank 7, channel ") != std::string::npos);
}

TEST_CASE("helper threads of sockets are proxies of a channel") {
  const BenchResult result = run_bench(
      config_of({"dgx-a100", 2, {1 << 18}, {"NCCL_NET=Socket", "NCCL_SOCKET_NTHREADS=2"}}),
      load_catalogue());
  const Timeline& timeline = *result.blocks.front().rows.front().timeline;
  int helpers = 0;
  for (const TimelineTrack& track : timeline.tracks) {
    if (track.kind != TimelineTrack::Kind::proxy) continue;
    CHECK(track.rank < 16);
    CHECK(track.channel != TimelineTrack::kWholeRank);
    ++helpers;
  }
  CHECK(helpers > 0);
}

TEST_CASE("links are busy for as long as their bytes take") {
  std::vector<BenchConfig> configs = all_configs();
  for (const Asked& asked : kExchanges) configs.push_back(config_of(asked));
  for (const BenchConfig& config : configs) {
    const BenchResult result = run_bench(config, load_catalogue());
    const BenchBlock& block = result.blocks.front();
    const BenchRow& row = block.rows.front();
    REQUIRE(row.timeline->links.size() == row.result.links.size());
    for (const TimelineLink& link : row.timeline->links) {
      Duration busy;
      for (const Duration bin : link.busy) {
        busy += bin;
        CHECK(bin <= row.timeline->bin);
      }
      const auto load = std::ranges::find(row.result.links, link.link, &LinkLoad::link);
      REQUIRE(load != row.result.links.end());
      // Each slice is rounded up to a picosecond.
      const Duration exact = transfer_time(load->carried, block.cluster.link(link.link).rate);
      CHECK(busy >= exact);
      CHECK((busy - exact).ps <= static_cast<std::int64_t>(row.result.events));
    }
  }
}

TEST_CASE("primitives, parts of a block and tracks have NCCL's names") {
  const auto names = [](const Asked& asked) {
    const nlohmann::json file =
        nlohmann::json::parse(file_of(run_bench(config_of(asked), load_catalogue())));
    std::map<std::string, int> out;
    for (const auto& event : file["traceEvents"]) {
      if (event["ph"] == "M" && event["name"] == "thread_name") ++out[event["args"]["name"]];
      if (event["ph"] == "M" && event["name"] == "process_name") ++out[event["args"]["name"]];
      if (event["ph"] == "X" && event["cat"] == "slice") ++out[event["name"]];
    }
    return out;
  };
  auto ring = names(kAsked[0]);
  CHECK(ring["rank 7 (node0 gpu7)"] == 1);
  CHECK(ring["channel 0"] == 8);
  // A loop of 8 ranks: 1 send, 6 recvReduceSend, 1 recvReduceCopySend, 6 recvCopySend, 1 recv.
  CHECK(ring["send"] > 0);
  CHECK(ring["recvReduceSend"] == 6 * ring["send"]);
  CHECK(ring["recvReduceCopySend"] == ring["send"]);
  CHECK(ring["recvCopySend"] == 6 * ring["send"]);
  CHECK(ring["recv"] == ring["send"]);
  auto tree = names(kAsked[2]);
  // Of 16 ranks one is the root of each channel's tree.
  CHECK(tree["channel 0 root"] == 1);
  CHECK(tree["channel 0 up"] == 15);
  CHECK(tree["channel 0 down"] == 15);
  CHECK(tree["proxies"] == 1);
  CHECK(tree["links"] == 1);
  auto nvls = names(kAsked[1]);
  CHECK(nvls["channel 0 scatter"] == 8);
  CHECK(nvls["channel 0 gather"] == 8);
  CHECK(nvls["channel 0 reduce"] == 8);  // every GPU leads a chunk
}

TEST_CASE("some ranks only: their spans as in the whole") {
  BenchConfig config;
  SUBCASE("a ring") { config = config_of(kAsked[5]); }
  SUBCASE("sends and receives") { config = config_of(kExchanges[1]); }
  const BenchResult whole = run_bench(config, load_catalogue());
  config.trace = parse_trace_ranks("2-3");
  const BenchResult some = run_bench(config, load_catalogue());
  const Timeline& all = *whole.blocks.front().rows.front().timeline;
  const Timeline& few = *some.blocks.front().rows.front().timeline;
  std::size_t expected = 0;
  for (const TimelineSpan& span : all.spans) {
    const int rank = all.tracks[span.track].rank;
    if (rank == 2 || rank == 3) ++expected;
  }
  CHECK(few.spans.size() == expected);
  CHECK(few.links.size() < all.links.size());
  for (const TimelineTrack& track : few.tracks) CHECK((track.rank == 2 || track.rank == 3));
}

TEST_CASE("what cannot be traced") {
  const auto error = [](auto change) {
    BenchConfig config = config_of(kAsked[0]);
    change(config);
    return error_text([&] { run_bench(config, load_catalogue()); });
  };
  CHECK(error([](BenchConfig& c) {
          c.sizes = {{1024}, {2048}};
        }) ==
        "a trace shows one run, not 2 (1 collectives, 2 sizes, 1 numbers of nodes)\n"
        "hint: name one collective, one size and one number of nodes, like --sizes 1MiB");
  CHECK(error([](BenchConfig& c) {
          c.trace = TimelineFilter{8, 9};
        }) == "rank 8 cannot be traced: there are 8 (0..7)");
  CHECK(error([](BenchConfig& c) {
          c.sizes = {{8}};
          c.collectives = {Collective::all_gather};
        }) == "this size rounds down to no element: there is nothing to trace");
  // 128 ranks x 16 channels x 255 primitives x 2 slices = 1,044,480 slices.
  CHECK(error([](BenchConfig& c) {
          c.nodes = {16};
          c.sizes = {{1 << 30}};
        }) ==
        "the timeline has more than 1000000 spans\n"
        "hint: a smaller size, or fewer ranks: --trace-ranks 0-7");
  const auto range = [](const char* text) { return error_text([&] { parse_trace_ranks(text); }); };
  CHECK(parse_trace_ranks("3").last == 3);
  CHECK(range("a-3") == "\"a\" is not a rank\nhint: write ranks like 0-7, or 3");
  CHECK(range("3-") == "\"\" is not a rank\nhint: write ranks like 0-7, or 3");
  CHECK(range("3-1") == "\"3-1\" runs backwards\nhint: write ranks like 0-7, or 3");
}
