#include "models/studies/shared/tuner_site.hpp"

#include "models/studies/shared/site.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

TunerSite tuner_site(const Job& job, const PartsCatalogue& parts) {
  TunerSite out;
  out.release = job.version;
  out.choice_is_set =
      job.environment.get("NCCL_ALGO").has_value() || job.environment.get("NCCL_PROTO").has_value();
  try {
    const Cluster cluster = load_cluster(job, 0, parts);
    if (!cluster.node().gpus().empty()) out.gpu = cluster.node().gpus().front().part.name;
    if (!cluster.node().nics().empty()) out.nic = cluster.node().nics().front().part.name;
  } catch (const Error&) {
    return out;  // NCCL's XML may hold what no part is like
  }
  return out;
}

}  // namespace fabricast
