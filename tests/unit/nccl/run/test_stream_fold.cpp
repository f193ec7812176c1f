// Goal: streams of several calls, beside each other, are folded exactly.
// Method: seeded random fabrics and streams (collectives, sends and receives, groups of calls,
// rounds, launches ahead), folded and in full: every time of every rank and every byte of every
// link must be equal.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/gpu_kernels.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/planned.hpp"
#include "models/nccl/symmetry/job_plan.hpp"
#include "tests/unit/nccl/fold_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

CollectiveRun random_call(Dice& random, const Communicator& communicator) {
  constexpr std::array kCalls = {Collective::all_reduce, Collective::all_gather,
                                 Collective::reduce_scatter, Collective::alltoall,
                                 Collective::sendrecv};
  Call call;
  call.collective = random.of(kCalls);
  call.count = random.pick(1, 20'000) * 16;
  call.calls = random.pick(0, 3) == 0 ? static_cast<int>(random.pick(2, 4)) : 1;
  return decide_call(communicator, call).run;
}

Stream random_stream(Dice& random, const Cluster& cluster, const std::vector<int>& nodes) {
  const auto gpus_all = static_cast<int>(cluster.node().gpus().size());
  CommunicatorConfig config;
  config.version = random.of(releases_with_kernels(cluster.node().gpus().front().part.sm));
  config.environment.set("NCCL_MAX_NCHANNELS=" + std::to_string(random.pick(1, 4)));
  config.environment.set("NCCL_MAX_P2P_NCHANNELS=" + std::to_string(random.pick(1, 4)));
  for (const char* assignment : {"NCCL_PROTO=LL", "NCCL_PROTO=Simple", "NCCL_PXN_DISABLE=1"})
    if (random.pick(0, 5) == 0) config.environment.set(assignment);
  const int gpus = static_cast<int>(random.pick(1, std::min(gpus_all, 3)));
  config.members = {nodes, random_subset(random, gpus, gpus_all)};
  const Communicator communicator = make_communicator(cluster, config);
  Stream out;
  for (std::int64_t n = random.pick(1, 3); n > 0; --n)
    out.runs.push_back(random_call(random, communicator));
  out.start = {random.pick(0, 1) * random.pick(0, 20'000'000)};
  out.rounds = static_cast<int>(random.pick(1, 2));
  if (random.pick(0, 1) == 0)
    out.ahead = LaunchesAhead{{random.pick(0, 5'000'000)}, {random.pick(0, 2'000'000)}};
  return out;
}

void check_links(const Cluster& cluster, const Symmetry& symmetry, const StreamsResult& folded,
                 const StreamsResult& full) {
  std::map<std::uint32_t, LinkLoad> known;
  std::size_t copies = 0;
  for (const LinkLoad& load : folded.links) {
    known[index_of(load.link)] = load;
    copies += static_cast<std::size_t>(load.copies);
  }
  CHECK(copies == full.links.size());
  int wrong = 0;
  for (const LinkLoad& load : full.links) {
    const auto like = known.find(index_of(symmetry.representative(cluster, load.link)));
    wrong += like == known.end() || like->second.carried != load.carried ? 1 : 0;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("streams folded = full, to the picosecond, for every rank and link") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(77);
  constexpr int kRuns = cases(300);
  int folded = 0, of_several = 0, beside = 0, tuned = 0, tried = 0;
  while (folded < kRuns && tried < 6'000) {
    ++tried;
    const NodeGraph& node =
        node_of(random.of(std::array{"dgx-h100", "dgx-a100", "pcie-2gpu"}), parts);
    const int nodes = static_cast<int>(random.of(std::array{1, 2, 4, 4, 6, 8}));
    const Cluster cluster(
        node, nodes,
        random.pick(0, 2) == 0 ? default_fabric(node, parts) : random_fabric(random, node, parts));
    const std::vector<int> places = random_members(random, nodes, 1, 1).nodes();
    std::vector<Stream> streams;
    for (std::int64_t n = random.pick(1, 2); n > 0; --n)
      streams.push_back(random_stream(random, cluster, places));
    const JobPlan plan = plan_job(cluster, streams);
    if (plan.copies() == 1) continue;
    ++folded;
    const std::size_t calls = streams.front().runs.size();
    of_several += calls > 1 || streams.front().runs.front().calls > 1 ? 1 : 0;
    beside += streams.size() > 1 ? 1 : 0;
    CAPTURE(tried);
    CAPTURE(cluster.node().name());
    CAPTURE(cluster.fabric_summary());
    CAPTURE(streams.size());
    CAPTURE(calls);
    const bool explain = folded % 4 == 0;
    const StreamsResult full =
        simulate(cluster, parts.software, streams, options(false, false, explain));
    const StreamsResult got =
        simulate(cluster, parts.software, streams, options(true, false, explain));
    CHECK(got.time == full.time);
    CHECK(got.events == full.events);
    CHECK(got.slices == full.slices);
    CHECK(got.events_skipped > 0);
    const JobSize size = job_size(cluster, parts.software, streams, plan);
    CHECK(size.slices == full.slices);
    const bool all_tuned = std::ranges::all_of(streams, [](const Stream& stream) {
      return std::ranges::all_of(stream.runs, &CollectiveRun::has_algorithm);
    });
    if (all_tuned) CHECK(size.simulated == got.events - got.events_skipped);
    tuned += all_tuned ? 1 : 0;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      CHECK(got.streams[i].time == full.streams[i].time);
      CHECK(got.streams[i].ended == full.streams[i].ended);
      CHECK(got.streams[i].rank_finish == full.streams[i].rank_finish);
      CHECK(got.streams[i].causes == full.streams[i].causes);
    }
    check_links(cluster, *plan.symmetry(), got, full);
    // What is assembled once and built for each run is the same machine.
    const JobDraft draft(cluster, parts.software, plan, false);
    CHECK(job_size(cluster, parts.software, streams, plan, &draft).simulated == size.simulated);
    for (int run = 0; run < 2; ++run) {
      const StreamsResult built = simulate_planned(cluster, parts.software, streams, plan,
                                                   options(true, false, explain), {&draft});
      CHECK(built.digest == got.digest);
      CHECK(built.events == got.events);
      CHECK(built.time == got.time);
    }
  }
  CHECK(folded == kRuns);
  CHECK(of_several > kRuns / 3);
  CHECK(beside > kRuns / 8);
  CHECK(tuned > kRuns / 16);
}

TEST_CASE("streams are not folded where their calls are not alike in one way") {
  const PartsCatalogue parts = load_catalogue();
  const Cluster cluster = load_cluster({"dgx-h100", 4, ""}, parts);
  const auto call = [&](const char* algorithm, std::vector<int> nodes, Collective collective) {
    CommunicatorConfig config;
    config.version = kNccl2_27_7;
    config.environment.set("NCCL_ALGO", algorithm);
    config.members = {std::move(nodes), {0, 1}};
    return decide_call(make_communicator(cluster, config), {collective, 64'000}).run;
  };
  const std::vector<int> all = {0, 1, 2, 3};
  const CollectiveRun ring = call("Ring", all, Collective::all_gather),
                      tree = call("Tree", all, Collective::all_reduce),
                      half = call("Ring", {0, 1}, Collective::all_gather),
                      rooted = call("Ring", all, Collective::broadcast);
  const auto why_not = [&](const std::vector<Stream>& streams) {
    const JobPlan plan = plan_job(cluster, streams);
    CHECK(plan.copies() == 1);
    return plan.why_not;
  };
  CHECK(plan_job(cluster, std::vector<Stream>{{{ring, ring}, {}}}).copies() == 4);
  CHECK(why_not({{{ring, tree}, {}}}) == "nodes of a binary tree are unlike");
  CHECK(why_not({{{ring}, {}}, {{half}, {}}}) == "communicators run on different nodes");
  CHECK(why_not({{{ring, rooted}, {}}}) == "the root is unlike other ranks");
}
