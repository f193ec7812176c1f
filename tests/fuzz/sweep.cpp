// Any bytes as a file of a sweep: points that read back as the questions that they are, each with
// an identity, or an Error. Files beside it may be named; none is here.

#include "models/studies/sweep/sweep.hpp"

#include "input.hpp"
#include "models/io/formats/yaml_tree.hpp"

using namespace fabricast;

namespace {

constexpr std::size_t kPointsMost = 500;  // more take time, and show nothing else

void read(const std::string& text) {
  const Sweep sweep = parse_sweep(text, "none/t.yaml");
  std::size_t combinations = 1;
  for (const SweepAxis& axis : sweep.axes) {
    combinations *= axis.values.size();
    if (combinations > kPointsMost) return;
  }
  for (const SweepPoint& point : points_of(sweep)) {
    fuzz::require(point.sha256.size() == 64);
    fuzz::require(fuzz::runs([&] { parse_yaml(point.question, "point"); }));
    fuzz::require(static_cast<std::size_t>(point.place) < combinations);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] { read(text); });
  return 0;
}
