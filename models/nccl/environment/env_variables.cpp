// Which variables act on decisions and ways, in which releases; and which would, but are not
// modelled. Releases: the tags of NCCL that read the name.

#include <algorithm>
#include <array>

#include "models/nccl/environment/env.hpp"

namespace fabricast {
namespace {

struct ActingVariable {
  std::string_view name;
  NcclVersion first{0, 0};  ///< the first release that reads it; 0: all that are modelled
};

constexpr std::array kActing = {
    ActingVariable{"NCCL_ALGO"},
    ActingVariable{"NCCL_PROTO"},
    ActingVariable{"NCCL_MIN_NCHANNELS"},
    ActingVariable{"NCCL_MAX_NCHANNELS"},
    ActingVariable{"NCCL_MIN_NRINGS"},
    ActingVariable{"NCCL_MAX_NRINGS"},
    ActingVariable{"NCCL_MIN_CTAS"},
    ActingVariable{"NCCL_MAX_CTAS"},
    ActingVariable{"NCCL_NTHREADS"},
    ActingVariable{"NCCL_LL128_NTHREADS"},
    ActingVariable{"NCCL_THREAD_THRESHOLDS"},
    ActingVariable{"NCCL_BUFFSIZE"},
    ActingVariable{"NCCL_LL_BUFFSIZE"},
    ActingVariable{"NCCL_LL128_BUFFSIZE"},
    ActingVariable{"NCCL_NET_OVERHEAD"},
    ActingVariable{"NCCL_NET"},
    ActingVariable{"NCCL_NET_PLUGIN"},
    ActingVariable{"NCCL_IB_DISABLE"},
    ActingVariable{"NCCL_SOCKET_NTHREADS"},
    ActingVariable{"NCCL_NSOCKS_PERTHREAD"},
    ActingVariable{"NCCL_SOCKET_IFNAME"},
    ActingVariable{"NCCL_NET_FORCE_FLUSH"},
    ActingVariable{"NCCL_GDR_FLUSH_DISABLE"},
    ActingVariable{"NCCL_IB_HCA"},
    ActingVariable{"NCCL_IB_TIMEOUT"},
    ActingVariable{"NCCL_IB_RETRY_CNT"},
    ActingVariable{"NCCL_IB_MERGE_NICS"},
    ActingVariable{"NCCL_NET_MERGE_LEVEL", {24, 3}},
    ActingVariable{"NCCL_NET_FORCE_MERGE", {24, 3}},
    ActingVariable{"NCCL_IB_QPS_PER_CONNECTION"},
    ActingVariable{"NCCL_IB_SPLIT_DATA_ON_QPS"},
    ActingVariable{"NCCL_IB_SL"},
    ActingVariable{"NCCL_IB_TC"},
    ActingVariable{"NCCL_NVLS_ENABLE"},
    ActingVariable{"NCCL_NVLS_NCHANNELS"},
    ActingVariable{"NCCL_NVLS_CHUNKSIZE"},
    ActingVariable{"NCCL_NVLSTREE_MAX_CHUNKSIZE"},
    ActingVariable{"NCCL_CUMEM_ENABLE"},
    ActingVariable{"NCCL_MNNVL_ENABLE"},
    ActingVariable{"NCCL_COLLNET_ENABLE"},
    ActingVariable{"NCCL_COLLNET_NODE_THRESHOLD"},
    ActingVariable{"NCCL_PAT_ENABLE", NcclVersion{23, 4}},
    ActingVariable{"NCCL_LL128_C2C", {27, 3}},
    ActingVariable{"NCCL_CROSS_NIC"},
    ActingVariable{"NCCL_P2P_DISABLE"},
    ActingVariable{"NCCL_P2P_LEVEL"},
    ActingVariable{"NCCL_SHM_DISABLE"},
    ActingVariable{"NCCL_NET_GDR_LEVEL"},
    ActingVariable{"NCCL_NET_GDR_READ"},
    ActingVariable{"NCCL_NET_GDR_C2C", {26, 2}},
    ActingVariable{"NCCL_PXN_DISABLE"},
    ActingVariable{"NCCL_PXN_C2C", {27, 3}},
    ActingVariable{"NCCL_NVB_DISABLE"},
    ActingVariable{"NCCL_NET_DISABLE_INTRA"},
    ActingVariable{"NCCL_NETDEVS_POLICY", {28, 3}},
    ActingVariable{"NCCL_MIN_P2P_NCHANNELS"},
    ActingVariable{"NCCL_MAX_P2P_NCHANNELS"},
    ActingVariable{"NCCL_NCHANNELS_PER_NET_PEER"},
    ActingVariable{"NCCL_P2P_PER_CHANNEL_NET_BW", {29, 2}},
    ActingVariable{"NCCL_P2P_MAX_PEERS", {30, 3}},
    ActingVariable{"NCCL_P2P_NET_CHUNKSIZE"},
    ActingVariable{"NCCL_P2P_NVL_CHUNKSIZE"},
    ActingVariable{"NCCL_P2P_PCI_CHUNKSIZE"},
    ActingVariable{"NCCL_P2P_LL_THRESHOLD"},
    ActingVariable{"NCCL_ALLOC_P2P_NET_LL_BUFFERS"},
    ActingVariable{"NCCL_NET_SHARED_BUFFERS"},
    ActingVariable{"NCCL_P2P_PXN_LEVEL"},
    ActingVariable{"NCCL_P2P_SCHEDULE_GROUP_SIZE", {28, 7}},
};

constexpr auto kActingNames = [] {
  std::array<std::string_view, kActing.size()> names;
  std::ranges::transform(kActing, names.begin(), &ActingVariable::name);
  return names;
}();

/// What would change decisions.
struct MissingVariable {
  std::string_view name;
  std::string_view what;
  std::string_view harmless = "";  ///< a value that leaves all as it is
};

constexpr std::string_view kRegistered = "it acts on registered buffers only: -R 1, -R 2";

constexpr std::array kMissing = {
    MissingVariable{"NCCL_GRAPH_FILE", "it replaces the graph search; the search is made here"},
    MissingVariable{"NCCL_TOPO_FILE", "not read here; give the file as the topology"},
    MissingVariable{"NCCL_HOSTID", "hosts that NCCL takes for one are not modelled"},
    MissingVariable{"NCCL_TUNER_PLUGIN", "tuner plugins are not modelled", "none"},
    MissingVariable{"NCCL_NET_MERGE_POLICY", "rails are not told apart where NICs are fused",
                    "ALL"},
    MissingVariable{"NCCL_WORK_ARGS_BYTES",
                    "the limit it sets to channels of sends and receives is not modelled"},
    MissingVariable{"NCCL_LOCAL_REGISTER", kRegistered, "1"},
    MissingVariable{"NCCL_WIN_ENABLE", kRegistered, "1"},
    MissingVariable{"NCCL_CTA_POLICY", kRegistered, "DEFAULT"},
    MissingVariable{"NCCL_SYM_KERNEL", kRegistered},
    MissingVariable{"NCCL_SYM_CTAS", kRegistered, "0"},
    MissingVariable{"NCCL_SYM_CE_THRESHOLD", kRegistered},
    MissingVariable{"NCCL_SYM_GIN_KERNELS_ENABLE", kRegistered, "1"},
    MissingVariable{"NCCL_MULTI_RANK_GPU_ENABLE", "several ranks on a GPU are not modelled", "0"},
};

}  // namespace

std::span<const std::string_view> acting_variables() { return kActingNames; }

bool is_known(std::string_view name) {
  return std::ranges::find(kActing, name, &ActingVariable::name) != kActing.end() ||
         std::ranges::find(kMissing, name, &MissingVariable::name) != kMissing.end();
}

std::vector<std::string> environment_warnings(const Environment& environment, NcclVersion version) {
  std::vector<std::string> out;
  const auto warn = [&](const std::string& name, std::string_view value, const std::string& what) {
    out.push_back(name + "=" + std::string(value) + ": " + what);
  };
  for (const auto& [name, value] : environment.variables()) {
    const auto acting = std::ranges::find(kActing, name, &ActingVariable::name);
    if (acting != kActing.end() && version < acting->first) {
      warn(name, value,
           "NCCL " + to_text(version) + " does not read it; " + to_text(acting->first) +
               " is the first that does");
    }
    const auto missing = std::ranges::find(kMissing, name, &MissingVariable::name);
    if (missing != kMissing.end() && value != missing->harmless && !value.empty())
      warn(name, value, std::string(missing->what));
  }
  return out;
}

}  // namespace fabricast
