#pragma once
// NCCL_IB_HCA: which InfiniBand or RoCE ports NCCL uses.

#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// `[^][=]name[:port],...` as src/transport/net_ib.cc and misc/socket.cc of NCCL 2.21 read it:
/// first
/// '^' (all but these), then '=' (whole names; otherwise a name stands for all that begin with it).
/// An empty list selects everything, and with '^' nothing.
class IbHcaFilter {
 public:
  IbHcaFilter() = default;  ///< the variable is not set: everything
  explicit IbHcaFilter(std::string_view value);

  bool selects(std::string_view name, int port) const;
  /// Entries with blanks, which match no device, and the like: one sentence each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Entry {
    std::string name;
    int port = -1;  ///< -1 = any
  };
  void add(std::string_view text);

  bool exclude_ = false, exact_ = false;
  std::vector<Entry> entries_;
  std::vector<std::string> warnings_;
};

}  // namespace fabricast
