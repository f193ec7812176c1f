#pragma once
// The matrix of `nvidia-smi topo -m` as people paste it: which way is between which devices.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/io/formats/log_lines.hpp"

namespace fabricast {

struct SmiMatrix {
  std::vector<std::string> gpus, nics;           ///< as the columns name them: "GPU0", "NIC0"
  std::map<std::string, std::string> nic_names;  ///< of the legend: NIC0 -> mlx5_0
  std::map<std::string, int> numa;               ///< of GPUs, where the matrix says it
  bool gpu_memory_numa = false;                  ///< GPUs have NUMA nodes of their own: NVLink-C2C
  std::map<std::string, std::string> cores;      ///< of GPUs: "0-47,96-143"
  std::map<std::pair<std::string, std::string>, std::string> paths;

  /// "PIX", "NV18"; "" = not said.
  std::string path(const std::string& a, const std::string& b) const;
  /// The k of NVk; 0 = not over NVLink.
  int nvlinks(const std::string& a, const std::string& b) const;
};

/// Nearest first: X 0, NV# 1, PIX 2, PXB 3, PHB 4, NODE 5, SYS and SOC 6 and 7; "" is farther.
int smi_distance(const std::string& path);

/// The first matrix of a file, if there is one.
std::optional<SmiMatrix> read_smi_matrix(const LogText& log);

}  // namespace fabricast
