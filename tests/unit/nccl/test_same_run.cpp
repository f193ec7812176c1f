// Goal: calls that are called the same work take the same time. Method: seeded random calls, each
// by two releases and with or without a setting; those that are the same are simulated both.

#include "models/nccl/call/same_run.hpp"

#include <array>

#include "models/nccl/base/releases.hpp"
#include "models/nccl/communicator/communicator.hpp"
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
