#pragma once
// The words in which people tell of a machine that they measured, and what those of runs.csv mean.

#include <optional>
#include <string>
#include <string_view>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// The word of docs/validate.md for what people call a kind of node: "nvswitch" for "HGX", "SXM5",
/// "nv-switch". Itself where nothing is known by it.
std::string node_kind_word(std::string_view text);

/// The same of a network: "ib" for "InfiniBand NDR", "tcp" for "sockets".
std::string net_kind_word(std::string_view text);

/// Gbit/s of one NIC, with all of its ports: "400", "400 Gb/s", "100GbE", "50 GB/s", "2x200", and
/// of InfiniBand "HDR".
std::optional<double> nic_gbps_in(std::string_view text);

/// The first release of NCCL 2 that a text names: "2.23.4", "NCCL 2.19.3+cuda12.3", "2.18" (the one
/// whose rules answer for that series), or as NCCL_VERSION_CODE has it, 22703.
std::optional<NcclVersion> release_in(std::string_view text);

/// Options of nccl-tests, which take a number: -g, -t, -G, -R.
struct TestOption {
  char letter;
  std::string_view word;  ///< behind two dashes
};
inline constexpr TestOption kGpusOption{'g', "ngpus"}, kThreadsOption{'t', "nthreads"},
    kGraphsOption{'G', "cudagraph"}, kRegisterOption{'R', "local_register"};

/// Its value, if it is there and above zero: "-g 8", "-g8", "--ngpus=8".
std::optional<int> option_in(std::string_view flags, TestOption option);

enum class Processes { unknown, per_gpu, per_node };
/// "one-process-per-gpu", "MPI, 1 process per GPU", "single process".
Processes processes_in(std::string_view text);

/// Words that stand for a blank: "N/A", "-", "unknown".
bool is_blank_word(std::string_view text);

}  // namespace fabricast
