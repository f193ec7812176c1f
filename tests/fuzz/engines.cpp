// Any bytes as measured calls of engines, as measured symmetric kernels, as costs of kernels, as a
// release: an error, or something that reads back the same.

#include "input.hpp"
#include "models/engines/engine_choice.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/engine_rows.hpp"
#include "models/studies/engines/registered_rows.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    for (const EngineRow& row : read_engine_rows(text, "e.csv").rows) {
      fuzz::require(row.gpus > 0 && row.size.count > 0 && row.time_us > 0);
      const EngineQuestion question{row.release, 90, row.gpus, 1, true, true, row.size};
      fuzz::require(!choose_kernel(question).why.empty());
    }
  });
  fuzz::runs([&] {
    for (const RegisteredRow& row : read_registered_rows(text, "r.csv"))
      fuzz::require(row.gpus > 1 && row.size.count > 0 && row.blocks >= 0 && row.time_us > 0);
  });
  fuzz::runs([&] { fuzz::require(!parse_engines(text, "e.yaml").gpus.empty()); });
  fuzz::runs([&] {
    const EngineRelease release = parse_engine(text);
    std::string name = to_text(release);
    name[name.find(' ')] = ':';
    fuzz::require(parse_engine(name) == release);
  });
  return 0;
}
