#include "models/nccl/base/types.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

struct CollectiveNames {
  std::string_view nccl_tests, nccl;
};
constexpr std::array<CollectiveNames, kCollectives> kCollectiveNames = {{
    {"all_reduce", "AllReduce"},
    {"all_gather", "AllGather"},
    {"reduce_scatter", "ReduceScatter"},
    {"broadcast", "Broadcast"},
    {"reduce", "Reduce"},
    {"alltoall", "AlltoAll"},
    {"sendrecv", "SendRecv"},
    {"gather", "Gather"},
    {"scatter", "Scatter"},
}};
constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, kProtocols> kProtocolNames = {"LL", "LL128", "Simple"};

}  // namespace

std::string_view to_text(Collective collective) {
  return kCollectiveNames[index_of(collective)].nccl_tests;
}
std::string_view nccl_name(Collective collective) {
  return kCollectiveNames[index_of(collective)].nccl;
}
std::string_view to_text(Algorithm algorithm) { return kAlgorithmNames[index_of(algorithm)]; }
std::string_view to_text(Protocol protocol) { return kProtocolNames[index_of(protocol)]; }

std::optional<Collective> collective_from_text(std::string_view text) {
  for (const Collective c : kAllCollectives) {
    if (to_text(c) == text) return c;
  }
  return std::nullopt;
}

std::optional<Algorithm> algorithm_from_text(std::string_view text) {
  for (const Algorithm a : kAllAlgorithms) {
    if (same_in_any_case(to_text(a), text)) return a;
  }
  return std::nullopt;
}

std::optional<Protocol> protocol_from_text(std::string_view text) {
  for (const Protocol p : kAllProtocols) {
    if (same_in_any_case(to_text(p), text)) return p;
  }
  return std::nullopt;
}

std::string to_text(NcclVersion version) {
  if (version == kNccl2_31_0a7) return "2.31.0a7";
  return "2." + std::to_string(version.series) + "." + std::to_string(version.patch);
}

}  // namespace fabricast
