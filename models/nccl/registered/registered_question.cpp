#include "models/nccl/registered/registered_question.hpp"

#include <algorithm>

#include "models/nccl/peer_kernels/peer_run.hpp"

namespace fabricast {

RegisteredQuestion question_of(const NcclCommunicator& communicator, Registration asked,
                               Collective collective, Bytes size, const Cluster* cluster,
                               const TunerDecision* decision) {
  const TunerInput& in = communicator.model.input;
  RegisteredQuestion out;
  out.asked = asked;
  out.version = communicator.version;
  out.collective = collective;
  out.size = size;
  out.ranks = communicator.ranks;
  out.nodes = communicator.nodes;
  out.sm = in.compute_capability_min;
  out.nvls = in.nvls && in.settings.nvls.enabled;
  out.nvls_heads = std::max(1, in.nvls_heads);
  out.all_nvlink =
      cluster == nullptr || all_nvlink(*cluster, Members::first(1, communicator.gpus_per_node));
  out.ctas_min = in.settings.ctas_min;
  out.ctas_max = in.settings.ctas_max;
  if (decision != nullptr) {
    out.algorithm = decision->algorithm;
    out.protocol = decision->protocol;
  }
  return out;
}

}  // namespace fabricast
