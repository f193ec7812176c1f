// Any bytes as what stands in a shell or on a command line: variables, lists, sizes, units.

#include "input.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/settings.hpp"
#include "text/unit_text.hpp"

using namespace fabricast;

namespace {

void read_words(const std::string& text) {
  fuzz::runs([&] { parse_bandwidth(text); });
  fuzz::runs([&] { parse_duration(text); });
  fuzz::runs([&] { parse_bytes(text); });
  fuzz::runs([&] { parse_metres(text); });
  fuzz::runs([&] { parse_nccl_tests_size(text); });
  fuzz::runs([&] { parse_sizes(text); });
  fuzz::runs([&] { parse_counts(text, "nodes", 1 << 20); });
  fuzz::runs([&] { nccl_version_from_text(text); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  read_words(text);
  for (const NcclVersion version : kModelledVersions) {
    fuzz::runs([&] {
      Environment file;
      file.read_text(text, "t.env");
      read_settings(file, version);
    });
    for (const std::string_view name : acting_variables()) {
      fuzz::runs([&] {
        Environment one;
        one.set(name, text);
        read_settings(one, version).ib_hca.selects("mlx5_1", 1);
      });
    }
  }
  fuzz::runs([&] { Environment().set(text); });
  return 0;
}
