#include <fmt/format.h>

#include <set>

#include "models/io/topologies/calibrated.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"

namespace fabricast {

std::string calibrated_text(const NodeGraph& node) {
  std::set<std::string> parts;
  for (const Vertex& vertex : node.vertices()) parts.insert(vertex.part);
  TextTable table("  ");
  bool any = false;
  for (const CalibratedValue& value : shipped_calibrated().values) {
    const std::size_t from = value.path.find('.') + 1;
    if (!parts.contains(value.path.substr(from, value.path.find('.', from) - from))) continue;
    table.add({value.path, value.value, value.low + " .. " + value.high,
               fmt::format("catalogue {}; {}", value.catalogue, counted(value.runs, "run"))});
    any = true;
  }
  return any ? "calibrated on measured runs, with a 90 % interval:\n" + table.text() : "";
}

}  // namespace fabricast
