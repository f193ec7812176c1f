// Any bytes as the file of a tuner plugin: a plugin that answers, or an Error.

#include "input.hpp"
#include "models/io/tuners/load_tuner.hpp"

using namespace fabricast;

namespace {

void ask(const TunerPlugin& tuner) {
  fuzz::require(!tuner.name().empty() && tuner.notes().size() <= kTunerNotesMost);
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{1} << 20, INT64_MAX}) {
    const TunerCall call{Collective::all_reduce, bytes, 4, 32};
    const TunerAnswer answer = tuner.ask(call, [](Algorithm, Protocol) { return true; });
    fuzz::require(!answer.because.empty() && answer.channels.value_or(1) > 0);
    const TunerAnswer none = tuner.ask(call, [](Algorithm, Protocol) { return false; });
    fuzz::require(!none.pair);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  for (const TunerReading reading :
       {TunerReading::recognised, TunerReading::fabricast, TunerReading::ncclx})
    fuzz::runs([&] { ask(*parse_tuner(text, "f", {}, reading)); });
  return 0;
}
