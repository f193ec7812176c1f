// Any bytes as a scenario, as rules, or as parts on top of the catalogue.

#include "models/studies/scenario/scenario.hpp"
#include "input.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/rules/rules.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PartsCatalogue parts = load_parts();
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] { parse_scenario(text, "t.yaml"); });
  fuzz::runs([&] { parse_rules(text, "t.yaml"); });
  fuzz::runs([&] { parse_parts(text, "t.yaml", &parts); });
  return 0;
}
