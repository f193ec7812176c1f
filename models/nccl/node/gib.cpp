#include "models/nccl/node/gib.hpp"

#include <algorithm>

#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr int kHopper = 90, kBlackwell = 100;

/// The newest GPU's compute capability, 0 = there is none.
int newest(const std::vector<NodeDescription::Pci>& children) {
  int out = 0;
  for (const NodeDescription::Pci& pci : children) {
    out = std::max(out, newest(pci.children));
    if (pci.gpu) out = std::max(out, pci.gpu->sm);
  }
  return out;
}

}  // namespace

bool is_gib(std::string_view net_name) { return lower_case(net_name) == "gib"; }

Environment with_gib(const Environment& environment, const NodeDescription& node,
                     std::vector<std::string>& warnings) {
  if (!is_gib(environment.get("NCCL_NET").value_or(""))) return environment;
  int sm = 0;
  for (const NodeDescription::Cpu& cpu : node.cpus) sm = std::max(sm, newest(cpu.children));
  if (sm < kHopper || sm >= kBlackwell || environment.get("NCCL_PROTO")) return environment;
  Environment out = environment;
  out.set("NCCL_PROTO", "^LL");
  warnings.push_back("NCCL_NET=gIB: on Hopper its tuner takes no LL, as published times have it.");
  return out;
}

}  // namespace fabricast
