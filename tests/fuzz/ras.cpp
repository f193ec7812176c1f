// Any bytes as an answer of NCCL's RAS: a reading that is walked, or an Error.

#include "input.hpp"
#include "models/studies/hang/hang_report.hpp"
#include "models/studies/hang/ras_calls.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    const RasReport report = read_ras_report(text, "f");
    const RecordedCalls read = calls_of_ras({report, report});
    const HangResult result = find_hang(read.calls, read.job);
    fuzz::require(!hang_text(result, 600).empty());
    fuzz::require(hang_report(result, 600).tables.size() == 4);
  });
  return 0;
}
