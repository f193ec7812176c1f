#pragma once
// Communicators on the node types of tests/data/nccl-xml, made once per process.

#include <algorithm>
#include <map>
#include <string>

#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/communicator/nccl_communicator.hpp"
#include "tests/unit/nccl/nccl_tables.hpp"

namespace fabricast::testing {

inline const NodeDescription& node_described(const std::string& topology) {
  static std::map<std::string, NodeDescription> known;
  const auto at = known.find(topology);
  if (at != known.end()) return at->second;
  const std::string file = FABRICAST_TEST_DATA "/nccl-xml/" + topology + ".xml";
  return known.emplace(topology, read_nccl_xml(file)).first->second;
}

/// `env` as in the tables: assignments with blanks between, '+' for ','. NCCL_COLLNET_ENABLE comes
/// with SHARP.
inline NcclCommunicatorConfig communicator_config(const std::string& version, int nodes,
                                                  std::string env) {
  NcclCommunicatorConfig config;
  config.version = nccl_version_from_text(version);
  config.nodes = nodes;
  config.sharp = env.find("COLLNET") != std::string::npos;
  std::ranges::replace(env, '+', ',');
  for (const std::string& assignment : split(env, ' ')) config.environment.set(assignment);
  return config;
}

/// The communicator of a row with the columns version, topology, nodes and perhaps env.
inline const NcclCommunicator& communicator_of(const Row& row) {
  static std::map<std::string, NcclCommunicator> known;
  const std::string env = row.contains("env") ? row.at("env") : "";
  const std::string key =
      row.at("version") + " " + row.at("topology") + " x" + row.at("nodes") + " " + env;
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  const NcclCommunicatorConfig config =
      communicator_config(row.at("version"), std::stoi(row.at("nodes")), env);
  return known.emplace(key, make_nccl_communicator(node_described(row.at("topology")), config))
      .first->second;
}

}  // namespace fabricast::testing
