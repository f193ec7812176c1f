// Threads that ask at the same time: an estimator each, one for all, and whole studies. Each finds
// what a thread alone finds. Under ThreadSanitizer (.ci/test) this shows what they share.

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "fabricast/estimator.hpp"
#include "fabricast/fabricast.hpp"

namespace {

namespace api = fabricast::api;

const api::Options kSite = {{"topology", {"dgx-h100"}}, {"nodes", {"2"}}};

std::string all_of(const api::Estimator& estimator) {
  std::string out;
  for (const char* collective : {"all_reduce", "all_gather", "alltoall"}) {
    for (const int ranks : {16, 8, 4}) {
      for (std::int64_t bytes = 1 << 10; bytes <= 1 << 22; bytes *= 16)
        out += std::to_string(estimator.estimate(collective, bytes, "float", ranks).time_ps) + " ";
    }
  }
  return out;
}

std::string asked() {
  std::string said;
  api::Listener listener;
  listener.said = [&](std::string_view text) { said += text; };
  api::Options options = kSite;
  options.insert(options.end(), {{"sizes", {"1K,1M"}}, {"env", {"NCCL_NO_SUCH=1"}}});
  const api::Report report = api::ask({"bench", options, {}}, listener);
  return said + report.json();
}

template <class Ask>
bool is_equal(const char* what, const std::string& expected, const Ask& ask) {
  std::vector<std::string> found(2);
  {
    std::vector<std::jthread> threads;
    for (std::string& one : found) threads.emplace_back([&one, &ask] { one = ask(); });
  }
  bool out = true;
  for (const std::string& one : found) out = out && !one.empty() && one == expected;
  std::printf("%s: %s\n", what, out ? "equal" : "DIFFERENT");
  return out;
}

}  // namespace

int main() {
  const std::string estimates = all_of(api::Estimator(kSite));
  const api::Estimator shared(kSite);
  const bool each =
      is_equal("an estimator each", estimates, [] { return all_of(api::Estimator(kSite)); });
  const bool one = is_equal("one for all", estimates, [&] { return all_of(shared); });
  const bool studies = is_equal("studies", asked(), asked);
  return each && one && studies ? 0 : 1;
}
