// How large must gradients be bundled before AllReduce is within 10 % of its best bandwidth?

#include <cstdint>
#include <cstdio>
#include <fabricast/estimator.hpp>

int main() try {
  namespace api = fabricast::api;
  const api::Estimator estimator({{"topology", {"dgx-h100"}}, {"nodes", {"4"}}});
  const std::int64_t largest = std::int64_t{1} << 30;
  const double best = 1e-3 * static_cast<double>(largest) /
                      estimator.estimate("all_reduce", largest).time_us;  // GB/s
  for (std::int64_t bytes = 1 << 20; bytes <= largest; bytes *= 2) {
    const api::Estimate call = estimator.estimate("all_reduce", bytes);
    const double rate = 1e-3 * static_cast<double>(bytes) / call.time_us;
    std::printf("%5lld MiB %10.1f us %7.1f GB/s  %s %s\n", static_cast<long long>(bytes >> 20),
                call.time_us, rate, call.algorithm.c_str(), call.protocol.c_str());
    if (rate >= 0.9 * best) return 0;
  }
} catch (const fabricast::api::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
