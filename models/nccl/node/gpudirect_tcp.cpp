#include "models/nccl/node/gpudirect_tcp.hpp"

#include "models/nccl/base/net_name.hpp"
#include "models/nccl/node/site_settings.hpp"

namespace fabricast {
namespace {

Settings settings_of(NetKind kind, NcclVersion version) {
  Settings out = {{"NCCL_CROSS_NIC", "0"},
                  {"NCCL_NET_GDR_LEVEL", "PIX"},
                  {"NCCL_P2P_NET_CHUNKSIZE", "524288"},
                  {"NCCL_P2P_PCI_CHUNKSIZE", "524288"},
                  {"NCCL_P2P_NVL_CHUNKSIZE", "1048576"}};
  if (kind == NetKind::tcpx) {
    const Settings own = {{"NCCL_ALGO", "Ring"},
                          {"NCCL_PROTO", "Simple"},
                          {"NCCL_BUFFSIZE", "4194304"},
                          {"NCCL_P2P_PXN_LEVEL", "0"}};
    out.insert(out.end(), own.begin(), own.end());
    return out;
  }
  out.emplace_back("NCCL_BUFFSIZE", "8388608");
  out.emplace_back("NCCL_MIN_NCHANNELS", "4");
  out.emplace_back("NCCL_PROTO", version < kNccl2_23 ? "Simple" : "Simple,LL128");
  if (version < kNccl2_26) {
    out.emplace_back("NCCL_ALGO", "Ring,Tree");
    out.emplace_back("NCCL_NVLS_ENABLE", "0");
  } else {
    out.emplace_back("NCCL_NVLSTREE_MAX_CHUNKSIZE", "131072");
  }
  return out;
}

bool is_used(const Environment& environment, NetKind kind) {
  if (environment.get("NCCL_NET_PLUGIN").value_or("") == "none") return false;
  const auto wanted = environment.get("NCCL_NET");
  return !wanted || is_net_name(kind, *wanted);
}

}  // namespace

Environment with_gpudirect_tcp(const Environment& environment, const NodeDescription& node,
                               NcclVersion version, std::vector<std::string>& warnings) {
  NetKind kind = NetKind::sockets;
  each_net(node, [&](const NodeDescription::Pci&, const NodeDescription::Net& net) {
    if (net.network == NetKind::tcpx || net.network == NetKind::tcpxo) kind = net.network;
  });
  if (kind == NetKind::sockets || !is_used(environment, kind)) return environment;
  return with_settings(environment, settings_of(kind, version),
                       kind == NetKind::tcpx ? "Jobs with GPUDirect-TCPX set"
                                             : "The profile of GPUDirect-TCPXO sets",
                       warnings);
}

}  // namespace fabricast
