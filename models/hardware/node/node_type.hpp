#pragma once
// Typed config of one node type, as written in topologies/*.yaml. Filled by models/io, the only
// input of NodeGraph::build. Every entry remembers its place, so that an error can name it.

#include <optional>
#include <string>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

struct CpuConfig {
  Place place;
  std::string name, part;               ///< the name is never empty
  std::optional<CpuIdentity> identity;  ///< where it is not the part's
  int numa = 0;
  std::string affinity, host_hash;
  int tray = 0;  ///< NodeType::trays
};

/// One element of a PCI tree.
struct PciConfig {
  enum class Kind { pcie_switch, gpu, nic };
  struct Nvlink {
    std::string target;  ///< bus id of an NVSwitch or a GPU, or the name of one
    int count = 0;
  };
  Place place;
  Kind kind{};
  std::string name;  ///< unique in the node
  std::string part;
  std::string busid;                 ///< may be empty for a NIC directly under a CPU
  std::optional<PciIds> ids;         ///< where they are not the part's
  std::string cpu;                   ///< set for elements directly under a CPU
  int tray = 0;                      ///< NodeType::trays
  int host_bridge = -1;              ///< only there; -1 = one of its own
  int pcie_gen = 0, pcie_width = 0;  ///< 0 = the part's
  std::vector<PciConfig> children;   ///< switches only
  std::vector<Nvlink> nvlinks;       ///< GPUs only
  int c2c = 0;                       ///< GPUs only: NVLink-C2C links to their CPU
  int dev = -1;                      ///< GPUs only: rank among the node's; all or none have it
  bool gdr = true;                   ///< GPUs and NICs
  // NICs only
  int port = 1;
  Bandwidth speed;  ///< 0 = the part's port rate
  std::string guid;
  std::optional<NetKind> network;  ///< where it is not the part's: a ConnectX port set to Ethernet
  bool vf = false;                 ///< a virtual function: without ATS no GPUDirect RDMA
  bool ats = false;                ///< address translation services: a VF may have GPUDirect RDMA
};

struct NvSwitchConfig {
  Place place;
  std::string name, part, busid;
  int chips = 1;  ///< that show themselves as one device
};

struct NodeType {
  Place place;
  std::string name, title;
  std::vector<CpuConfig> cpus;
  std::vector<PciConfig> pci;  ///< roots, in file order
  std::vector<NvSwitchConfig> nvswitches;
  bool acs = false;           ///< PCIe switches send peer traffic up to the root complex
  bool peer_to_peer = false;  ///< its driver lets GPUs reach each other that no other driver lets
  /// So many nodes of this type at most are on one plane of NVSwitches (an NVLink domain).
  int domain_nodes = 1;
  int trays = 1;  ///< joined into this one: join_trays()
};

}  // namespace fabricast
