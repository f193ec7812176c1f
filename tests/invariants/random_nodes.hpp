#pragma once
// Seeded nodes that nobody would build: PCIe trees of all kinds, GPUs without a NIC, NICs on the
// CPU, with and without NVSwitches. Hosts of these fall apart in many ways.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/invariants/cases.hpp"

namespace fabricast::testing {

/// A file that is there as long as this is.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / name) {
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

class RandomNode {
 public:
  explicit RandomNode(Dice& random) : random_(random), has_switches_(random.pick(0, 3) == 0) {
    if (has_switches_) {
      gpu_ = random.pick(0, 1) == 0 ? "H100_SXM5" : "A100_SXM4_80";
    } else {
      gpu_ = random.of(std::array{"A100_PCIE_80", "H100_PCIE", "L40S", "RTX_A6000"});
    }
    nic_ = random.of(std::array{"ConnectX-5", "ConnectX-6", "ConnectX-7"});
    cpu_ = random.of(std::array{"Intel_8168", "Intel_8480C", "AMD_Rome_7742"});
  }

  /// YAML of a node type with one GPU or more, and a NIC.
  std::string text(const std::string& name) {
    std::string out = fmt::format("kind: node\nname: {}\n", name);
    if (has_switches_)
      out +=
          fmt::format("nvswitches:\n- {{nvswitch: {}, name: nvswitch0, busid: '0000:05:00.0'}}\n",
                      gpu_ == "H100_SXM5" ? "NVSwitch3" : "NVSwitch2");
    out += "cpus:\n";
    const auto cpus = random_.pick(1, 2);
    for (int cpu = 0; cpu < cpus; ++cpu) out += socket(cpu, cpu + 1 == cpus);
    return out;
  }

 private:
  std::string socket(int number, bool last) {
    std::string out = fmt::format("- cpu: {}\n  numa: {}\n  affinity: {}\n  pci:\n", cpu_, number,
                                  number == 0 ? "00000000,0000ffff" : "0000ffff,00000000");
    const auto bridges = random_.pick(1, 3);
    for (int i = 0; i < bridges; ++i) out += bridge();
    if (random_.pick(0, 3) == 0) out += "  - " + nic();
    if (last && gpus_ == 0) out += "  - " + gpu();
    if (last && nics_ == 0) out += "  - " + nic();
    return out;
  }

  std::string bridge() {
    std::string out = fmt::format("  - switch: PEX88000\n    busid: '{}'\n    pci:\n", busid());
    const auto cards = random_.pick(1, 2);
    for (int i = 0; i < cards; ++i) out += "    - " + gpu();
    if (random_.pick(0, 2) > 0) out += "    - " + nic();
    return out;
  }

  std::string gpu() {
    ++gpus_;
    if (!has_switches_) return fmt::format("{{gpu: {}, busid: '{}'}}\n", gpu_, busid());
    return fmt::format("{{gpu: {}, nvlink: {{nvswitch0: {}}}, busid: '{}'}}\n", gpu_,
                       gpu_ == "H100_SXM5" ? 18 : 12, busid());
  }

  std::string nic() {
    const int number = nics_++;
    return fmt::format("{{nic: {}, name: mlx5_{}, guid: '0x9a3f5e000300{:02x}', busid: '{}'}}\n",
                       nic_, number, number, busid());
  }

  std::string busid() { return fmt::format("0000:{:02x}:00.0", 0x10 + devices_++); }

  Dice& random_;
  bool has_switches_;
  std::string gpu_, nic_, cpu_;
  int gpus_ = 0, nics_ = 0, devices_ = 0;
};

/// What makes hosts fall apart, and what changes choices, channels and threads.
inline Environment random_environment(Dice& random) {
  static constexpr std::array kAssignments = {
      "NCCL_P2P_DISABLE=1",   "NCCL_SHM_DISABLE=1",     "NCCL_P2P_LEVEL=NVL",
      "NCCL_P2P_LEVEL=SYS",   "NCCL_ALGO=Ring",         "NCCL_ALGO=Tree,Ring",
      "NCCL_PROTO=Simple",    "NCCL_PROTO=^LL128",      "NCCL_MIN_NCHANNELS=2",
      "NCCL_MAX_NCHANNELS=2", "NCCL_MIN_NCHANNELS=16",  "NCCL_NTHREADS=256",
      "NCCL_NVLS_ENABLE=0",   "NCCL_NET_GDR_LEVEL=SYS", "NCCL_NET_GDR_LEVEL=LOC",
      "NCCL_CROSS_NIC=0",     "NCCL_PXN_DISABLE=1",     "NCCL_BUFFSIZE=1048576",
      "NCCL_MAX_CTAS=8"};
  Environment out;
  for (auto left = random.pick(0, 4); left > 0; --left) out.set(random.of(kAssignments));
  return out;
}

}  // namespace fabricast::testing
