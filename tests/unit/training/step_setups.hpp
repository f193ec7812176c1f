#pragma once
// Steps on a node of A100, for the tests of what takes their time.

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast::test {

/// Collectives of DGX A100 by the rules of 2.21.5. Those of 2.30.7 give both GPUs of a PCIe switch
/// the same NIC where a group has one GPU of a node (the NIC's number counts the group's GPUs
/// only).
inline CommunicatorConfig by_2_21() {
  CommunicatorConfig out;
  out.version = kNccl2_21_5;
  return out;
}

struct OneNode {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster = load_cluster({"dgx-a100", 1, ""}, parts);
  CollectiveTimes collectives{cluster, parts.software, by_2_21()};
};

inline StepSetup setup(const Transformer& model, const Layout& layout) {
  StepSetup out;
  out.model = model;
  out.layout = layout;
  out.framework = load_frameworks().at("megatron");
  out.gpu = load_compute().at("A100_SXM4_80");
  return out;
}

inline double time_of(OneNode& site, const StepSetup& s) {
  return seconds(step_time(s, site.collectives).time);
}

}  // namespace fabricast::test
