#pragma once
// What can be wrong with a machine or a job, as something to simulate: settings that NCCL sees, or
// hardware that is slower than NCCL believes.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/io/imports/nccl_tests_log.hpp"
#include "models/nccl/communicator/communicator.hpp"

namespace fabricast {

struct Suspect {
  /// What NCCL does not see.
  enum class Hardware : std::uint8_t {
    as_described,
    nic_port,      ///< one port of the first node
    nic_ports,     ///< every port
    nic_slot,      ///< PCIe of the first NIC of every node
    pcie,          ///< PCIe of every GPU and NIC
    gpu,           ///< the first GPU of the first node copies and reduces slower
    nvlink,        ///< NVLinks of that GPU to its first neighbour, a switch or a GPU
    other_socket,  ///< channels use the NICs of the other socket
  };
  std::string name;   ///< "gdr-off"; "" = as described: nothing is wrong
  std::string title;  ///< what is wrong, for people
  std::string check;  ///< how to find out
  std::vector<std::pair<std::string, std::string>> environment = {};
  Hardware hardware = Hardware::as_described;
  double share = 1;                         ///< of the rate that is left
  std::optional<NcclVersion> release = {};  ///< NCCL's rules are those of this one
  std::optional<NetKind> network = {};      ///< every NIC is of this kind
  /// The part of the catalogue whose goodput and latency such a NIC has; "" = its own.
  std::string nic_part = {};
  bool own_rate = true;                 ///< the port's rate stays, else it is that part's
  std::vector<std::string> unset = {};  ///< variables that the run is taken to be without
};

/// What is known of a run beside its cluster.
struct SuspectedRun {
  Collective collective{};
  Environment environment;
  NcclVersion version = kDefaultNccl;
  bool release_said = false;  ///< another release is no suspect
  bool sharp = false;
};

/// Nothing first, then whatever can be on this cluster with this run, then pairs: an old release or
/// Ring with half of the NICs or of their rate.
std::vector<Suspect> possible_causes(const Cluster& cluster, const SuspectedRun& run);
/// What an acceptance test is to find: nothing first, then one part that is slow or missing, and
/// what is switched off by mistake.
std::vector<Suspect> acceptance_faults(const Cluster& cluster, const SuspectedRun& run);

/// The line of NCCL in the log that no run over such a network prints: `line 16: "Using network
/// IB"`; "" where there is none. Names of networks that are not known decide nothing.
std::string line_against(const LoggedNetwork& log, NetKind kind);

/// The catalogue with the network of the cause for the NICs of `node`.
PartsCatalogue with_network(const Suspect& cause, const NodeGraph& node, PartsCatalogue parts);
/// Lowers rates, after NCCL has decided.
void apply_hardware(const Suspect& cause, Cluster& cluster);
/// Moves channels to other NICs, makes a GPU slow, after NCCL has decided.
void apply_to_run(const Suspect& cause, const Cluster& cluster, CollectiveRun& run);

}  // namespace fabricast
