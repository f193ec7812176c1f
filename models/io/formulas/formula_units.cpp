#include "models/io/formulas/formula_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

struct UnitName {
  std::string_view name;
  FormulaDimension dimension;
};

/// The names that text/unit_text.hpp reads, and dollars.
constexpr std::array kUnitNames = {
    UnitName{"ps", FormulaDimension::time},    UnitName{"ns", FormulaDimension::time},
    UnitName{"us", FormulaDimension::time},    UnitName{"ms", FormulaDimension::time},
    UnitName{"s", FormulaDimension::time},     UnitName{"B", FormulaDimension::size},
    UnitName{"kB", FormulaDimension::size},    UnitName{"MB", FormulaDimension::size},
    UnitName{"GB", FormulaDimension::size},    UnitName{"TB", FormulaDimension::size},
    UnitName{"KiB", FormulaDimension::size},   UnitName{"MiB", FormulaDimension::size},
    UnitName{"GiB", FormulaDimension::size},   UnitName{"TiB", FormulaDimension::size},
    UnitName{"B/s", FormulaDimension::rate},   UnitName{"kB/s", FormulaDimension::rate},
    UnitName{"MB/s", FormulaDimension::rate},  UnitName{"GB/s", FormulaDimension::rate},
    UnitName{"TB/s", FormulaDimension::rate},  UnitName{"KiB/s", FormulaDimension::rate},
    UnitName{"MiB/s", FormulaDimension::rate}, UnitName{"GiB/s", FormulaDimension::rate},
    UnitName{"TiB/s", FormulaDimension::rate}, UnitName{"b/s", FormulaDimension::rate},
    UnitName{"kb/s", FormulaDimension::rate},  UnitName{"Mb/s", FormulaDimension::rate},
    UnitName{"Gb/s", FormulaDimension::rate},  UnitName{"Tb/s", FormulaDimension::rate},
    UnitName{"Kib/s", FormulaDimension::rate}, UnitName{"Mib/s", FormulaDimension::rate},
    UnitName{"Gib/s", FormulaDimension::rate}, UnitName{"Tib/s", FormulaDimension::rate},
    UnitName{"USD", FormulaDimension::money},
};

struct UnitSuffix {
  std::string_view suffix;
  FormulaColumnUnit unit;
};

constexpr FormulaColumnUnit kDollars = {"USD", FormulaDimension::money, 1};
constexpr std::array kUnitSuffixes = {
    UnitSuffix{"_ns", {"ns", FormulaDimension::time, 1e3}},
    UnitSuffix{"_us", {"us", FormulaDimension::time, 1e6}},
    UnitSuffix{"_ms", {"ms", FormulaDimension::time, 1e9}},
    UnitSuffix{"_s", {"s", FormulaDimension::time, 1e12}},
    UnitSuffix{"_bytes", {"B", FormulaDimension::size, 1}},
    UnitSuffix{"_GB", {"GB", FormulaDimension::size, 1e9}},
    UnitSuffix{"_gb", {"GB", FormulaDimension::size, 1e9}},
    UnitSuffix{"_GBps", {"GB/s", FormulaDimension::rate, 1e9}},
    UnitSuffix{"_USD", kDollars},
};

double read_dollars(std::string_view text) {
  std::string_view number = trimmed(text);
  if (number.ends_with("USD")) number.remove_suffix(3);
  const std::optional<double> value = finite_number(trimmed(number));
  if (!value || *value < 0) {
    throw Error(fmt::format("\"{}\" is not a price", text), "write it like 4 USD");
  }
  return *value;
}

}  // namespace

std::string_view to_text(FormulaDimension dimension) {
  switch (dimension) {
    case FormulaDimension::time:
      return "time";
    case FormulaDimension::size:
      return "size";
    case FormulaDimension::rate:
      return "rate";
    case FormulaDimension::money:
      return "price";
  }
  return {};
}

std::optional<FormulaColumnUnit> unit_of_column(std::string_view column) {
  if (const std::size_t dot = column.rfind('.'); dot != std::string_view::npos) {
    column.remove_prefix(dot + 1);
  }
  if (column.starts_with("usd_")) return kDollars;
  if (column.ends_with("_per_s")) return std::nullopt;
  for (const UnitSuffix& known : kUnitSuffixes) {
    if (column.ends_with(known.suffix)) return known.unit;
  }
  return std::nullopt;
}

std::optional<FormulaDimension> dimension_of_unit(std::string_view unit) {
  const auto found = std::find_if(kUnitNames.begin(), kUnitNames.end(),
                                  [&](const UnitName& known) { return known.name == unit; });
  if (found == kUnitNames.end()) return std::nullopt;
  return found->dimension;
}

std::vector<std::string> formula_units() {
  std::vector<std::string> names = {"%"};
  for (const UnitName& unit : kUnitNames) names.emplace_back(unit.name);
  return names;
}

double read_quantity(std::string_view text, FormulaDimension dimension) {
  switch (dimension) {
    case FormulaDimension::time:
      return static_cast<double>(parse_duration(text).ps);
    case FormulaDimension::size:
      return static_cast<double>(parse_bytes(text).count);
    case FormulaDimension::rate:
      return static_cast<double>(parse_bandwidth(text).bytes_per_s);
    case FormulaDimension::money:
      return read_dollars(text);
  }
  return 0;
}

std::optional<FormulaDimension> dimension_of_text(std::string_view text) {
  text = trimmed(text);
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
  std::size_t end = digits;
  if (text[end] == '.') end = text.find_first_not_of("0123456789", end + 1);
  if (end == digits + 1 || end == std::string_view::npos) return std::nullopt;
  return dimension_of_unit(trimmed(text.substr(end)));
}

}  // namespace fabricast
