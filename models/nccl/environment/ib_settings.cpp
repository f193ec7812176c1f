#include "models/nccl/environment/ib_settings.hpp"

#include "models/nccl/environment/env_reader.hpp"

namespace fabricast {

IbSettings read_ib_settings(const Environment& environment, NcclVersion version,
                            std::vector<std::string>& warnings) {
  constexpr int kQueuePairsMax = 128, kLevels = 16, kClasses = 256;
  constexpr std::int64_t kAutomatic = -1;  // of service level and traffic class since 2.26: means 0
  EnvReader reader(environment, version, warnings);
  const auto whole = [&](const char* name, std::int64_t low, std::int64_t high, int otherwise) {
    const auto value = reader.integer(name);
    if (!value || *value == kAutomatic) return otherwise;
    return static_cast<int>(reader.integer_within(name, low, high).value_or(otherwise));
  };
  IbSettings out;
  out.queue_pairs = whole("NCCL_IB_QPS_PER_CONNECTION", 1, kQueuePairsMax, out.queue_pairs);
  out.split = reader.integer("NCCL_IB_SPLIT_DATA_ON_QPS").value_or(0) != 0;
  out.service_level = whole("NCCL_IB_SL", 0, kLevels - 1, out.service_level);
  out.traffic_class = whole("NCCL_IB_TC", 0, kClasses - 1, out.traffic_class);
  return out;
}

}  // namespace fabricast
