#include "models/studies/shared/job_json.hpp"

namespace fabricast {

Json environment_json(const Environment& environment) {
  Json out = Json::object();
  for (const auto& [name, value] : environment.variables()) out[name] = value;
  return out;
}

Json job_json(const Job& job, const std::vector<int>& nodes, Json ask) {
  Json site = {{"topology", job.topology},
               {"fabric", job.fabric},
               {"nodes", nodes},
               {"parts", job.parts.empty() ? Json() : Json(job.parts)},
               {"gpus_per_node", job.gpus_per_node},
               {"sharp", job.sharp},
               {"nccl", to_text(job.version)},
               {"env", environment_json(job.environment)},
               {"tuner", job.tuner == nullptr ? Json() : Json(job.tuner->name())}};
  return {{"site", std::move(site)}, {"ask", std::move(ask)}};
}

}  // namespace fabricast
