// Any bytes as the output of a tool, and with a launcher's prefixes: a reading or an Error.

#include "input.hpp"
#include "models/io/imports/import_file.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    const ImportedFile read = import_text(text, "f");
    fuzz::require(!imported_text(read, "f").empty());
    fuzz::require(!report_json(imported_report(read, "f")).empty());
  });
  return 0;
}
