// Any bytes as weights of experts, as costs of kernels and as measured phases: an error, or what
// was asked for.

#include "input.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/studies/experts/validate_experts.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    const std::vector<double> weights = parse_expert_weights(text, "w.txt", 3);
    fuzz::require(weights.size() == 3);
    for (const double weight : weights) fuzz::require(weight >= 0);
  });
  fuzz::runs([&] {
    for (const auto& mode : parse_expert_kernels(text, "k.yaml").modes)
      fuzz::require(!mode.empty());
  });
  fuzz::runs([&] {
    const ExpertsValidation read = read_experts_points(text, "m.csv");
    fuzz::require(!read.points.empty());
    for (const ExpertsPoint& point : read.points) fuzz::require(point.measured_us > 0);
  });
  return 0;
}
