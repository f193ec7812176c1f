#pragma once
// The GPUs of a measured run's node, and how they are joined: what its columns say, or what its GPU
// leaves.

#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/node/compose_node.hpp"

namespace fabricast {

/// Sets gpu and kind of the shape, whose number of GPUs is known, and may add a GPU that takes no
/// part. Says on `notes` what is not as the run says. Throws Error with what is not known.
void map_kind(std::string_view gpu_model, std::string_view node_kind, NodeShape& shape,
              std::vector<std::string>& notes, const PartsCatalogue& parts);

}  // namespace fabricast
