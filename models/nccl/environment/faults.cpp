#include "models/nccl/environment/faults.hpp"

#include <algorithm>
#include <cmath>

#include "models/nccl/environment/env_reader.hpp"

namespace fabricast {

double speed_of(std::span<const Faults::SlowGpu> slow, int rank) {
  const auto found = std::ranges::find(slow, rank, &Faults::SlowGpu::rank);
  return found == slow.end() ? 1 : found->speed;
}

Duration slowed(Duration healthy, double speed) {
  return {std::llround(static_cast<double>(healthy.ps) / speed)};
}

Retry ib_retry(const Environment& environment, NcclVersion version,
               std::vector<std::string>& warnings) {
  constexpr int kRetries = 7, kRetriesMax = 7;  // a field of 3 bits
  constexpr std::int64_t kExponentMax = 31;     // of 5 bits; 0 = no time-out
  constexpr Duration kUnit = nanoseconds(4'096);
  EnvReader reader(environment, version, warnings);
  const std::int64_t otherwise = version < kNccl2_23 ? 18 : 20;
  const std::int64_t exponent = reader.integer("NCCL_IB_TIMEOUT").value_or(otherwise);
  Retry out;
  out.count = static_cast<int>(
      reader.integer_within("NCCL_IB_RETRY_CNT", 0, kRetriesMax).value_or(kRetries));
  if (exponent >= 1 && exponent <= kExponentMax) {
    out.timeout = kUnit * (std::int64_t{1} << exponent);
  } else {
    reader.warn("NCCL_IB_TIMEOUT", "no time-out: what is lost is never sent again");
  }
  return out;
}

}  // namespace fabricast
