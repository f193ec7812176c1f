// Goal: calls that are called the same work take the same time. Method: seeded random calls, each
// by two releases and with or without a setting; those that are the same are simulated both.

#include "models/nccl/call/same_run.hpp"

#include <array>

#include "models/nccl/base/releases.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/period.hpp"
#include "models/nccl/run/same_time.hpp"
#include "tests/unit/nccl/fold_cases.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

struct Setting {
  const char* name = nullptr;
  const char* value = nullptr;
};
constexpr std::array kSettings = {Setting{},
                                  Setting{},
                                  Setting{"NCCL_BUFFSIZE", "1048576"},
                                  Setting{"NCCL_LL_BUFFSIZE", "262144"},
                                  Setting{"NCCL_MIN_NCHANNELS", "24"},
                                  Setting{"NCCL_P2P_LL_THRESHOLD", "65536"},
                                  Setting{"NCCL_P2P_PXN_LEVEL", "0"},
                                  Setting{"NCCL_P2P_NET_CHUNKSIZE", "32768"},
                                  Setting{"NCCL_NET_SHARED_BUFFERS", "0"},
                                  Setting{"NCCL_ALGO", "Ring"},
                                  Setting{"NCCL_PROTO", "Simple"}};

CollectiveRun call_by(NcclVersion version, const Setting& setting, const Cluster& cluster, int gpus,
                      const Call& call) {
  CommunicatorConfig config;
  config.gpus_per_node = gpus;
  config.version = version;
  if (setting.name != nullptr) config.environment.set(setting.name, setting.value);
  return decide_call(make_communicator(cluster, config), call).run;
}

/// One of those next to it.
NcclVersion release_near(Dice& random, std::size_t at) {
  const auto all = known_releases();
  const auto other = static_cast<std::int64_t>(at) + random.pick(-2, 2);
  return all[static_cast<std::size_t>(std::clamp<std::int64_t>(other, 0, std::ssize(all) - 1))];
}

}  // namespace

TEST_CASE("same run: what is called the same work takes the same time, by all releases") {
  const PartsCatalogue parts = load_catalogue();
  Dice random(20);
  int same = 0, messages = 0, other_releases = 0;
  for (int tried = 0; tried < 600; ++tried) {
    const NodeGraph& node = node_of(random.of(std::array{"dgx-h100", "dgx-a100"}), parts);
    const Cluster cluster(node, static_cast<int>(random.pick(1, 4)), default_fabric(node, parts));
    const Call call{random.of(kAllCollectives),
                    (std::int64_t{1} << random.pick(0, 21)) + random.pick(0, 100'000), 4, 0};
    const int gpus = random.of(std::array{1, 2, 8});
    const auto all = known_releases();
    const auto at = static_cast<std::size_t>(random.pick(0, std::ssize(all) - 1));
    const NcclVersion first = all[at], second = release_near(random, at);
    CAPTURE(tried);
    CAPTURE(to_text(call.collective));
    CAPTURE(to_text(first));
    CAPTURE(to_text(second));
    const CollectiveRun a = call_by(first, {}, cluster, gpus, call),
                        b = call_by(second, random.of(kSettings), cluster, gpus, call);
    if (!is_same_work(a, b)) continue;
    ++same;
    messages += a.has_algorithm() ? 0 : 1;
    other_releases += first == second ? 0 : 1;
    CHECK(simulate(cluster, parts.software, a, {}).time ==
          simulate(cluster, parts.software, b, {}).time);
  }
  CHECK(same > 100);
  CHECK(messages > 30);
  CHECK(other_releases > 60);
}

TEST_CASE("same run: settings that come to the same on a cluster take the same time in a row") {
  const PartsCatalogue parts = load_catalogue();
  constexpr std::array kOfWays = {Setting{"NCCL_NET_GDR_LEVEL", "PHB"},
                                  Setting{"NCCL_NET_GDR_LEVEL", "LOC"},
                                  Setting{"NCCL_NET_GDR_READ", "0"},
                                  Setting{"NCCL_PXN_DISABLE", "1"},
                                  Setting{"NCCL_P2P_LEVEL", "NVL"},
                                  Setting{"NCCL_NCHANNELS_PER_NET_PEER", "2"},
                                  Setting{"NCCL_P2P_LL_THRESHOLD", "0"},
                                  Setting{"NCCL_P2P_NET_CHUNKSIZE", "65536"},
                                  Setting{"FI_CXI_RX_MATCH_MODE", "software"},
                                  Setting{"FI_HMEM_CUDA_USE_GDRCOPY", "1"},
                                  Setting{"FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD", "16777216"},
                                  Setting{"FI_CXI_RDZV_THRESHOLD", "65536"},
                                  Setting{"NCCL_IB_QPS_PER_CONNECTION", "4"}};
  Dice random(21);
  int same = 0, messages = 0;
  std::map<std::string, int> by_setting;
  for (int tried = 0; tried < 1'500; ++tried) {
    const NodeGraph& node =
        node_of(random.of(std::array{"dgx-h100", "gh200-4", "pcie-8", "dgx-a100"}), parts);
    const Cluster cluster(node, static_cast<int>(random.pick(1, 3)), default_fabric(node, parts));
    const Call call{random.of(kAllCollectives), std::int64_t{1} << random.pick(0, 21), 4, 0};
    const int gpus = random.of(std::array{1, 2, 4});
    const Setting setting = random.of(kOfWays);
    const NcclVersion version = random.of(releases_with_kernels(node.gpus()[0].part.sm));
    CAPTURE(tried);
    CAPTURE(setting.name);
    const CollectiveRun a = call_by(version, {}, cluster, gpus, call),
                        b = call_by(version, setting, cluster, gpus, call);
    if (is_same_work(a, b) || !takes_same_time(cluster, parts.software, a, b)) continue;
    ++same;
    messages += a.has_algorithm() ? 0 : 1;
    ++by_setting[setting.name];
    CHECK(time_in_a_row(cluster, parts.software, a) == time_in_a_row(cluster, parts.software, b));
    const auto slices = [&](const CollectiveRun& run) {
      return job_size(cluster, parts.software, run, find_symmetry(cluster, run)).simulated;
    };
    CHECK(slices(a) == slices(b));
  }
  CHECK(same > 100);
  CHECK(messages > 20);
  for (const char* name : {"NCCL_NET_GDR_LEVEL", "NCCL_PXN_DISABLE", "NCCL_NCHANNELS_PER_NET_PEER",
                           "FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD"})
    CHECK(by_setting[name] > 0);
}

TEST_CASE("same run: what comes to something else on the cluster is no same time") {
  // Goal: each setting that takes_same_time() looks through acts somewhere. Method: a call each
  // whose time it changes.
  const PartsCatalogue parts = load_catalogue();
  const auto differ = [&](const char* preset, int gpus, const Call& call, const Setting& setting) {
    const NodeGraph& node = node_of(preset, parts);
    const Cluster cluster(node, 2, default_fabric(node, parts));
    CAPTURE(setting.name);
    const CollectiveRun a = call_by(kNccl2_27_7, {}, cluster, gpus, call),
                        b = call_by(kNccl2_27_7, setting, cluster, gpus, call);
    CHECK_FALSE(takes_same_time(cluster, parts.software, a, b));
    CHECK(time_in_a_row(cluster, parts.software, a) != time_in_a_row(cluster, parts.software, b));
  };
  const Call ring{Collective::all_gather, 1 << 20, 4, 0},
      messages{Collective::alltoall, 1 << 18, 4};
  differ("dgx-h100", 8, ring, {"NCCL_NET_GDR_LEVEL", "LOC"});
  differ("dgx-h100", 8, messages, {"NCCL_PXN_DISABLE", "1"});
  differ("dgx-h100", 8, messages, {"NCCL_P2P_NET_CHUNKSIZE", "65536"});
  differ("gh200-4", 4, ring, {"FI_CXI_RX_MATCH_MODE", "software"});
}

TEST_CASE("same run: two limits on sizes are the same where no message lies between them") {
  // Goal: calls of other sizes take the same time in a row, those of some sizes do not. Method: a
  // host that matches messages, which costs by size, and a limit that is moved.
  const PartsCatalogue parts = load_catalogue();
  constexpr std::array kLimits = {Setting{"FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD", "16777216"},
                                  Setting{"FI_CXI_RDZV_THRESHOLD", "65536"}};
  const NodeGraph& node = node_of("gh200-4", parts);
  const Cluster cluster(node, 3, default_fabric(node, parts));
  const auto communicator = [&](const Setting& limit) {
    CommunicatorConfig config;
    config.version = kNccl2_27_7;
    config.environment.set("FI_CXI_RX_MATCH_MODE", "software");
    config.environment.set("FI_HMEM_CUDA_USE_GDRCOPY", "1");
    if (limit.name != nullptr) config.environment.set(limit.name, limit.value);
    return make_communicator(cluster, config);
  };
  const Communicator usual = communicator({});
  Dice random(22);
  for (const Setting& limit : kLimits) {
    const Communicator moved = communicator(limit);
    std::map<bool, int> same, other;  // by whether it is a call of an algorithm
    for (int tried = 0; tried < 200; ++tried) {
      const Call call{random.of(kAllCollectives),
                      (std::int64_t{1} << random.pick(0, 22)) + random.pick(0, 1), 4, 0};
      const CollectiveRun a = decide_call(usual, call).run, b = decide_call(moved, call).run;
      CAPTURE(limit.name);
      CAPTURE(to_text(call.collective));
      CAPTURE(call.count);
      const bool is_same = takes_same_time(cluster, parts.software, a, b);
      ++(is_same ? same : other)[a.has_algorithm()];
      if (!is_same) continue;
      CHECK(time_in_a_row(cluster, parts.software, a) == time_in_a_row(cluster, parts.software, b));
    }
    for (const bool has_algorithm : {false, true}) {
      CHECK(same[has_algorithm] > 10);
      CHECK(other[has_algorithm] > 5);
    }
  }
}
