// Any bytes as what NCCL's Inspector writes, JSON lines and text for Prometheus: calls that are
// sound and can be folded.

#include <cmath>

#include "input.hpp"
#include "models/io/records/inspector.hpp"
#include "models/studies/judge/inspected_run.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  InspectorFold fold;
  const TakeInspectorCall take = [&](InspectorCall call) {
    fuzz::require(call.time_us > 0 && call.bytes_low > 0 && call.ranks > 0);
    fold.add(std::move(call));
  };
  fold.add(read_inspector_json(text, take), "f");
  fold.add(read_inspector_metrics(text, take), "f");
  const InspectedRun run = fold.finish();
  for (const InspectedRow& row : run.rows) {
    fuzz::require(row.transfer_us > 0 && std::isfinite(row.total_us));
    fuzz::require(std::isfinite(run.share(row)));
  }
  return 0;
}
