#pragma once
// The links of a cluster as a machine has them: all of them, or of those that are alike one.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/nccl/symmetry/symmetry.hpp"
#include "sim/links/machine.hpp"

namespace fabricast {

class SimulatedLinks {
 public:
  /// All, with the cluster's numbers. `trunks_gather`: messages of many senders meet on links
  /// between switches, too (LinkSpec::gathers), as hashed ones do. REQUIRES: the machine has none.
  SimulatedLinks(Machine& machine, const Cluster& cluster, bool trunks_gather = false);
  /// The same where what they are is known: the first of these are those of all.
  SimulatedLinks(Machine& machine, const Cluster& cluster, std::span<const LinkSpec> specs);
  /// One of those that are alike, when it is asked for first; all have a number, the cluster's,
  /// where a carrier knows links by it. All arguments outlive it.
  SimulatedLinks(Machine& machine, const Cluster& cluster, const Symmetry& symmetry,
                 bool is_carried = false);

  bool is_folded() const { return symmetry_ != nullptr; }
  /// The machine's link for a link of the cluster.
  std::uint32_t operator()(LinkId link);
  /// Links of the cluster that were asked for, as (link, of the machine); none if all are there.
  const std::map<std::uint32_t, std::uint32_t>& known() const { return known_; }

 private:
  LinkSpec spec(LinkId link) const;
  std::uint32_t add(LinkId link);
  std::uint32_t find(LinkId link);

  Machine& machine_;
  const Cluster& cluster_;
  const Symmetry* symmetry_ = nullptr;
  bool is_carried_ = false, trunks_gather_ = false;
  std::map<std::uint32_t, std::uint32_t> known_;
  std::vector<std::uint32_t> number_of_;  ///< what has been asked for, where links are not too many
};

}  // namespace fabricast
