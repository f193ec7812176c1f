#pragma once
// What can be wrong with a machine or a job, as something to simulate: settings that NCCL sees, or
// hardware that is slower than NCCL believes.

#include <string>
#include <utility>
#include <vector>

#include "models/hardware/cluster.hpp"
#include "models/nccl/communicator.hpp"

namespace fabricast {

struct Suspect {
  /// What NCCL does not see.
  enum class Hardware : std::uint8_t {
    as_described,
    nic_port,      ///< one port of the first node
    nic_ports,     ///< every port
    nic_slot,      ///< PCIe of the first NIC of every node
    pcie,          ///< PCIe of every GPU and NIC
    other_socket,  ///< channels use the NICs of the other socket
  };
  std::string name;   ///< "gdr-off"; "" = as described: nothing is wrong
  std::string title;  ///< what is wrong, for people
  std::string check;  ///< how to find out
  std::vector<std::pair<std::string, std::string>> environment = {};
  Hardware hardware = Hardware::as_described;
  double share = 1;  ///< of the rate that is left
};

/// Nothing first, then whatever can be on this cluster with this collective.
std::vector<Suspect> possible_causes(const Cluster& cluster, Collective collective,
                                     const Environment& environment, bool sharp);

/// Lowers rates, after NCCL has decided.
void apply_hardware(const Suspect& cause, Cluster& cluster);
/// Moves channels to other NICs, after NCCL has decided.
void apply_wiring(const Suspect& cause, const Cluster& cluster, CollectiveRun& run);

}  // namespace fabricast
