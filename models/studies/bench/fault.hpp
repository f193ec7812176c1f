#pragma once
// Faults as users write them: "link leaf0.0 -> spine3 rate 50%", "nic node3:mlx5_0 down 2s",
// "link node*: mlx5_0 -> leaf0.0 flap 10s 90%", "gpu node0:gpu3 slow 80%", "node node1 gdr off".

#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/nccl/environment/faults.hpp"

namespace fabricast {

struct FaultSpec {
  enum class Part : std::uint8_t { link, nic, gpu, node };
  enum class Effect : std::uint8_t { rate, slow, down, flap, gdr_off };
  std::string text;  ///< as written
  Part part{};
  std::string name;
  Effect effect{};
  double share = 1;  ///< rate, slow: what is left, 0..1
  Outage outage;     ///< down, flap
};

/// Throws Error; names are not looked up yet.
FaultSpec parse_fault(std::string_view text);

/// Takes GPUDirect RDMA from the nodes that a spec takes it from: NCCL sees that. Throws Error as
/// the other. Says whether there was one.
bool withhold_gdr(const std::vector<FaultSpec>& specs, Cluster& cluster);

/// Finds what the other specs name and breaks it, which NCCL does not see: rates in the cluster,
/// the rest in `faults`. A link goes by its name, with or without what stands in parentheses; `*`
/// stands for anything. Throws Error with the nearest name.
void apply_faults(const std::vector<FaultSpec>& specs, int gpus_per_node, Cluster& cluster,
                  Faults& faults);

}  // namespace fabricast
