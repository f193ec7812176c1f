// Any bytes as a dump of the Flight Recorder, pickle or JSON: a reading that is walked, or an
// Error.

#include "input.hpp"
#include "models/io/records/flight_dump.hpp"
#include "models/io/records/pickle.hpp"
#include "models/studies/hang/flight_calls.hpp"
#include "models/studies/hang/hang_report.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    const PlainData plain = read_pickle(text, "f");
    plain.pairs(plain.root, [&](std::string_view key, const PlainValue& value) {
      fuzz::require(key.size() + value.text().size() <= text.size());
    });
  });
  fuzz::runs([&] {
    const FlightDump dump = read_flight_dump(text, "f");
    FlightCalls calls;
    calls.add(0, dump);
    calls.add(1, dump);
    const RecordedCalls read = calls.finish();
    const HangResult result = find_hang(read.calls, read.job);
    fuzz::require(!hang_text(result, 600).empty());
    fuzz::require(hang_report(result, 600).tables.size() == 4);
  });
  return 0;
}
