#pragma once
// What a tuner plugin sees of where a job runs.

#include "models/hardware/parts/parts.hpp"
#include "models/nccl/tuner/tuner_plugin.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// Of a topology that names no parts GPU and NIC stay "".
TunerSite tuner_site(const Job& job, const PartsCatalogue& parts);

}  // namespace fabricast
