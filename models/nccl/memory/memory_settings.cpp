#include "models/nccl/memory/memory_settings.hpp"

#include <algorithm>
#include <array>

#include "models/nccl/environment/env_reader.hpp"

namespace fabricast {
namespace {

constexpr std::array<std::string_view, 6> kVariables = {
    "NCCL_RUNTIME_CONNECT", "NCCL_P2P_READ_ENABLE", "NCCL_WORK_FIFO_BYTES",
    "NCCL_WORK_FIFO_DEPTH", "NCCL_GDRCOPY_ENABLE",  "NCCL_SHM_LOCALITY"};

constexpr std::int64_t kWorkBytes = 512;           // ncclWork, 2.12 to 2.21
constexpr std::int64_t kWorksMax = 64 << 10;       // the default, too
constexpr std::int64_t kFifoBytes = 1 << 20;       // NCCL_WORK_FIFO_BYTES_DEFAULT
constexpr std::int64_t kFifoBytesMax = 1LL << 30;  // src/init.cc, devCommSetup

std::int64_t work_fifo(EnvReader& env, NcclVersion version) {
  if (version < kNccl2_22) {
    const std::int64_t works = env.integer("NCCL_WORK_FIFO_DEPTH").value_or(kWorksMax);
    return std::clamp<std::int64_t>(works, 1, kWorksMax) * kWorkBytes;
  }
  const std::int64_t bytes = env.integer("NCCL_WORK_FIFO_BYTES").value_or(kFifoBytes);
  const bool is_power = bytes > 0 && (bytes & (bytes - 1)) == 0;
  return is_power ? std::min(bytes, kFifoBytesMax) : kFifoBytes;
}

}  // namespace

std::span<const std::string_view> memory_variables() { return kVariables; }

MemorySettings read_memory_settings(const Environment& environment, NcclVersion version) {
  std::vector<std::string> heard;  // by read_settings(), already
  EnvReader env(environment, version, heard);
  MemorySettings out;
  const auto is_on = [&](std::string_view name, bool unset) {
    return env.integer(name).value_or(unset ? 1 : 0) != 0;
  };
  out.cumem = is_on("NCCL_CUMEM_ENABLE", version >= kNccl2_19);
  out.lazy = version >= kNccl2_22 && out.cumem && is_on("NCCL_RUNTIME_CONNECT", true);
  if (const auto read = env.integer("NCCL_P2P_READ_ENABLE")) out.p2p_read = *read != 0;
  out.work_fifo = work_fifo(env, version);
  out.work_fifo_on_gpu = is_on("NCCL_GDRCOPY_ENABLE", false);
  out.sender_holds_shm = env.integer("NCCL_SHM_LOCALITY").value_or(2) == 1;
  return out;
}

}  // namespace fabricast
