// Goal: what a block takes for one chunk of every head in NVLS is what published tables say.
// Method: slopes between neighbouring sizes of AllReduce on one node of eight GPUs, worked out by
// hand for each size of chunk that NCCL takes; the predicted rounds beside them.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/hardware/cluster/nvls_rates.hpp"
#include "models/io/topologies/load.hpp"

using namespace fabricast;

namespace {

/// Scatter or gather of eight chunks, and 1 us through the switch.
double round_us(const std::string& gpu, std::int64_t chunk) {
  const PartsCatalogue parts = load_catalogue();
  const NvlsRates rates = nvls_rates(parts.gpus.at(gpu), parts.software);
  return microseconds_of(rates.overhead + transfer_time(Bytes{8 * chunk}, rates.copy_rate)) + 1;
}

struct Measured {
  std::string gpu;
  std::int64_t chunk;
  double round_us;  ///< bytes of a round of all channels / slope
};

}  // namespace

TEST_CASE("NVLS: rounds of 32, 64 and 128 KiB take what slopes of published tables say") {
  // A round moves 8 chunks on each of 16 (Hopper) or 24 channels (Blackwell).
  const std::vector<Measured> cases = {
      // togethercomputer: 126.0 to 199.7 us from 16 to 32 MiB; 587.8 to 1113.6 from 128 to 256 MiB;
      // 4025.2 to 7957.3 from 1 to 2 GiB.
      {"H100_SXM5", 32 << 10, 18.4},
      {"H100_SXM5", 64 << 10, 32.9},
      {"H100_SXM5", 128 << 10, 61.4},
      // GKE: 172.6 to 280.0 us from 32 to 64 MiB; 714.7 to 1335.6 from 256 to 512 MiB. eunomia-bpf:
      // 9031.9 to 17979 from 4 to 8 GiB.
      {"B200_SXM", 32 << 10, 20.1},
      {"B200_SXM", 64 << 10, 29.1},
      {"B300_SXM", 128 << 10, 52.4},
  };
  for (const Measured& measured : cases) {
    CAPTURE(measured.gpu);
    CAPTURE(measured.chunk);
    CHECK(round_us(measured.gpu, measured.chunk) ==
          doctest::Approx(measured.round_us).epsilon(0.05));
  }
}
