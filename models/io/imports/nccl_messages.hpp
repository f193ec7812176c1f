#pragma once
// What single lines of NCCL, its plugins and PyTorch's exceptions mean: one table for whoever reads
// logs.

#include <string>
#include <string_view>

namespace fabricast::import_readers {

struct NcclMessage {
  /// Where it matters: `no_rdma` only where data go over sockets, or nothing is said of it.
  enum class Matters : unsigned char { always, no_rdma };
  std::string_view words;  ///< of the line
  std::string_view means;  ///< and what to do
  Matters matters = Matters::always;
};

/// nullptr: nothing is known of the line.
const NcclMessage* known_message(std::string_view line);

/// "RETRY_EXC_ERR (12)" of a completion, by the number of older releases ("status=12") or by the
/// name of newer ones ("status=IBV_WC_RETRY_EXC_ERR(12)"); "" where the line has none.
std::string completion_status(std::string_view line);

/// The device of "NET/IB : mlx5_0:1 Got async event"; "" where the line names none.
std::string port_named(std::string_view line);

/// "node01" of "node01:100:200 [0] ..."; "" where the line begins otherwise.
std::string host_of(std::string_view line);

}  // namespace fabricast::import_readers
