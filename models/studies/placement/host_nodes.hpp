#pragma once
// Hosts as nodes: one, or so many of an NVLink domain, which NCCL takes for one node.

#include <map>

#include "models/studies/shared/site.hpp"

namespace fabricast {

class HostNodes {
 public:
  /// `job`, `parts` outlive it. Throws Error.
  HostNodes(const Job& job, const PartsCatalogue& parts);

  /// A cluster of one node that so many hosts make. REQUIRES: 1 <= trays <= most().
  const Site& of(int trays);
  /// A host alone.
  const Site& host() { return of(1); }
  /// Hosts that NVLink may join; 1 = it joins none, or NCCL is told not to use it.
  int most() const { return most_; }
  /// Of each host that take part. Throws Error: more are asked for than there are.
  int gpus_per_host();

 private:
  const Job& job_;
  Topology topology_;
  std::map<int, Site> made_;
  int most_ = 1;
};

}  // namespace fabricast
