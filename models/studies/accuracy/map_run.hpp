#pragma once
// From the columns of a measured run to what is simulated for it: a composed node, an NCCL
// version, an environment.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/node/compose_node.hpp"
#include "models/io/bands/measured.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/nccl/registered/registration.hpp"

namespace fabricast {

struct MappedRun {
  NodeShape shape;
  int nodes = 1;
  int gpus_used = 1;          ///< of each node: ranks / nodes
  int launches_in_a_row = 1;  ///< nccl-tests' -g, 0 with -G
  Registration registered{};  ///< nccl-tests' -R
  bool sharp = false;
  std::optional<int> channels;      ///< that ran, if the run says so
  std::vector<std::string> forced;  ///< variables that are set for the column `algorithm`
  NcclVersion version;              ///< between the modelled ones the release itself
  Environment environment;          ///< without what names devices of that machine
  std::vector<int> without_gdr;     ///< nodes that have no GPUDirect RDMA
  std::vector<std::string> notes;   ///< defaults taken for blanks, and what is left out
};

/// Throws Error with what is not known: hardware is never guessed.
MappedRun map_run(const MeasuredRun& run, const PartsCatalogue& parts);

}  // namespace fabricast
