#pragma once
// Runs as lines of a runs.csv that has the columns of these tests.

#include <string>

#include "models/io/bands/read_measured.hpp"

namespace fabricast {

inline constexpr const char* kRunColumns =
    "run_id,collective,gpu_model,node_kind,net_kind,gpus_per_node,nodes,ranks,nics_per_node,"
    "nic_gbps,nccl_version,env_kv,algorithm,flags,process_mode,sharp,source_key\n";

inline MeasuredRun run_of(const std::string& fields) {
  return parse_runs(kRunColumns + fields + "\n", "runs.csv").front();
}

}  // namespace fabricast
