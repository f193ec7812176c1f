// Any bytes as a formula: it has a value in every row, and is what it is when it is written again,
// or an Error.

#include <cmath>
#include <optional>
#include <vector>

#include "input.hpp"
#include "models/io/formulas/formula.hpp"

using namespace fabricast;

namespace {

/// Columns of every kind of unit, one with "-", and one that is an operation elsewhere.
const std::vector<std::string> kColumns = {
    "topology", "nodes",  "size_bytes",   "time_us",   "step_s",   "busbw_GBps", "memory_GB",
    "algo",     "uplink", "usd_per_step", "site.nics", "over-sub", "max",        "fits"};

/// What a column holds in the row: something of each type, by its name alone.
FormulaValue cell(const FormulaName& name, std::size_t row) {
  std::size_t hash = row + (name.of_base ? 7 : 0) + name.filter.size();
  for (const char c : name.column) hash = hash * 31 + static_cast<unsigned char>(c);
  const std::vector<FormulaValue> values = {
      {},       true, false,        0.0,   4.0,     -2.5,       1e308,
      INFINITY, NAN,  1073741824.0, "dgx", "1 GiB", "400 Gb/s", "99999999999 s",
      "4",      "",   "true"};
  return values[hash % values.size()];
}

/// Nothing: an Error.
std::optional<FormulaValue> value_in(const Formula& formula, std::size_t row) {
  std::optional<FormulaValue> found;
  fuzz::runs([&] { found = formula.value([&](const FormulaName& n) { return cell(n, row); }); });
  if (found) {
    const auto* number = std::get_if<double>(&*found);
    fuzz::require(number == nullptr || std::isfinite(*number));
  }
  return found;
}

void read(const std::string& text, const std::vector<std::string>& columns) {
  const Formula formula = Formula::parse(text, columns);
  fuzz::require(formula.text() == text);
  const std::string written = formula.canonical();
  if (written.size() > Formula::kCharactersMost) return;
  std::optional<Formula> again;
  fuzz::require(fuzz::runs([&] { again = Formula::parse(written, columns); }));
  fuzz::require(again->canonical() == written && again->names() == formula.names());
  fuzz::require(again->is_condition() == formula.is_condition());
  constexpr std::size_t rows = 17;
  for (std::size_t row = 0; row < rows; ++row) {
    fuzz::require(value_in(formula, row) == value_in(*again, row));
    fuzz::runs([&] { formula.holds([&](const FormulaName& n) { return cell(n, row); }); });
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] { read(text, {}); });
  fuzz::runs([&] { read(text, kColumns); });
  return 0;
}
