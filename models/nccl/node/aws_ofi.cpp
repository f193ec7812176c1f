#include "models/nccl/node/aws_ofi.hpp"

#include <algorithm>
#include <cctype>

#include "models/nccl/node/site_settings.hpp"

namespace fabricast {
namespace {

constexpr NcclVersion kNvlsMended{18, 5};

/// EFA's generation, 0 = none.
int efa_generation(const NodeDescription& node) {
  int out = 0;
  each_net(node, [&](const NodeDescription::Pci& pci, const NodeDescription::Net& net) {
    if (net.network == NetKind::efa) out = std::max(out, pci.device == "0xefa0" ? 1 : 2);
  });
  return out;
}

bool is_there(const Environment& environment) {
  return environment.get("NCCL_NET_PLUGIN").value_or("") != "none";
}

}  // namespace

Environment with_aws_ofi(const Environment& environment, const NodeDescription& node,
                         NcclVersion version, std::vector<std::string>& warnings) {
  const int generation = is_there(environment) ? efa_generation(node) : 0;
  if (generation == 0) return environment;
  Settings sets = {{"NCCL_BUFFSIZE", "8388608"}, {"NCCL_P2P_NET_CHUNKSIZE", "524288"}};
  if (generation == 1) {
    sets.emplace_back("NCCL_PROTO", "Simple");
  } else {
    sets.emplace_back("NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288");
    sets.emplace_back("NCCL_NVLS_CHUNKSIZE", "524288");
    sets.emplace_back("NCCL_NET_FORCE_FLUSH", "0");
  }
  if (version < kNvlsMended) sets.emplace_back("NCCL_NVLS_ENABLE", "0");
  return with_settings(environment, sets, "aws-ofi-nccl sets", warnings);
}

bool joins_rails(const Environment& environment, const NodeDescription& node) {
  const int generation = efa_generation(node);
  const auto wanted = environment.get("OFI_NCCL_PROTOCOL");
  if (!wanted || generation == 0) return generation > 1;
  std::string word(*wanted);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
  return word == "RDMA";
}

}  // namespace fabricast
