#pragma once
// Units in formulas: which a number may carry, which a column's name tells, and from one to the
// other. Quantities themselves are read by text/unit_text.hpp.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// What a number with a unit measures. A quantity is held in its base unit: ps, B, B/s, USD.
enum class FormulaDimension : std::uint8_t { time, size, rate, money };

/// "time", "size", "rate", "price"
std::string_view to_text(FormulaDimension dimension);

/// The unit in which a column's numbers are.
struct FormulaColumnUnit {
  std::string_view name;       ///< "us"
  FormulaDimension dimension;  ///< of what
  double base_units;           ///< how many base units one of it is: 1e6 for "us"

  bool operator==(const FormulaColumnUnit& other) const { return name == other.name; }
};

/// By its name: time_us, step_s, size_bytes, busbw_GBps, memory_GB, price_USD, usd_per_step (the
/// part behind the last "."). Names that end in _per_s are no times. Nothing: the name tells none.
std::optional<FormulaColumnUnit> unit_of_column(std::string_view column);

/// What "GiB", "us", "Gb/s" or "USD" measures; nothing: no unit.
std::optional<FormulaDimension> dimension_of_unit(std::string_view unit);

/// All of them, and "%".
std::vector<std::string> formula_units();

/// "1.5 us" in base units. Throws Error (as text/unit_text.hpp) for what is no such quantity.
double read_quantity(std::string_view text, FormulaDimension dimension);

/// What all of a text is: digits and a unit. Nothing when it is something else.
std::optional<FormulaDimension> dimension_of_text(std::string_view text);

}  // namespace fabricast
