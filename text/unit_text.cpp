#include "text/unit_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

__extension__ using Wide = unsigned __int128;

/// A unit is base * numerator / denominator.
struct Unit {
  std::string_view name;
  std::int64_t numerator;
  std::int64_t denominator = 1;
};

/// What is being read, for messages, and the units it may carry.
struct Quantity {
  std::string_view what;     ///< "bandwidth"
  std::string_view example;  ///< "MiB": the unit shown where no number was given
  std::string_view bare;     ///< "B": the unit shown for a number without one
  std::string_view base;     ///< "B/s": results are whole numbers of it
  std::span<const Unit> units;
};

constexpr std::int64_t kKibi = 1LL << 10, kMebi = 1LL << 20, kGibi = 1LL << 30, kTebi = 1LL << 40;
constexpr std::int64_t kKilo = 1'000, kMega = 1'000'000, kGiga = 1'000'000'000,
                       kTera = 1'000'000'000'000;
constexpr std::int64_t kBitsPerByte = 8;

constexpr std::array kBandwidthUnits = {
    Unit{"B/s", 1},          Unit{"kB/s", kKilo},
    Unit{"MB/s", kMega},     Unit{"GB/s", kGiga},
    Unit{"TB/s", kTera},     Unit{"KiB/s", kKibi},
    Unit{"MiB/s", kMebi},    Unit{"GiB/s", kGibi},
    Unit{"TiB/s", kTebi},    Unit{"b/s", 1, kBitsPerByte},
    Unit{"kb/s", kKilo, 8},  Unit{"Mb/s", kMega, 8},
    Unit{"Gb/s", kGiga, 8},  Unit{"Tb/s", kTera, 8},
    Unit{"Kib/s", kKibi, 8}, Unit{"Mib/s", kMebi, 8},
    Unit{"Gib/s", kGibi, 8}, Unit{"Tib/s", kTebi, 8},
};
constexpr std::array kDurationUnits = {Unit{"ps", 1},     Unit{"ns", kKilo},
                                       Unit{"us", kMega}, Unit{"ms", kGiga},
                                       Unit{"s", kTera},  Unit{"min", 60 * kTera}};
/// Results are given in seconds at most.
constexpr auto kPrintedDurationUnits = std::span(kDurationUnits).first<5>();
constexpr std::array kSizeUnits = {Unit{"B", 1},       Unit{"kB", kKilo},  Unit{"MB", kMega},
                                   Unit{"GB", kGiga},  Unit{"TB", kTera},  Unit{"KiB", kKibi},
                                   Unit{"MiB", kMebi}, Unit{"GiB", kGibi}, Unit{"TiB", kTebi}};
constexpr std::array kLengthUnits = {Unit{"m", 1}};
constexpr std::array kPowerUnits = {Unit{"W", 1}, Unit{"kW", 1000}};
constexpr std::array kFlopUnits = {Unit{"FLOP/s", 1}, Unit{"GFLOP/s", kGiga},
                                   Unit{"TFLOP/s", kTera}, Unit{"PFLOP/s", 1000 * kTera}};
constexpr std::array kNcclTestsUnits = {Unit{"", 1},      Unit{"K", kKibi}, Unit{"k", kKibi},
                                        Unit{"M", kMebi}, Unit{"m", kMebi}, Unit{"G", kGibi},
                                        Unit{"g", kGibi}};

constexpr Quantity kBandwidth = {"bandwidth", "Gb/s", "Gb/s", "B/s", kBandwidthUnits};
constexpr Quantity kDuration = {"time", "ns", "ns", "ps", kDurationUnits};
constexpr Quantity kSize = {"size", "MiB", "B", "B", kSizeUnits};
constexpr Quantity kLength = {"length", "m", "m", "m", kLengthUnits};
constexpr Quantity kPower = {"power", "W", "W", "W", kPowerUnits};
constexpr Quantity kFlops = {"rate of FLOPs", "TFLOP/s", "TFLOP/s", "FLOP/s", kFlopUnits};
constexpr Quantity kNcclTestsSize = {"size", "M", "M", "B", kNcclTestsUnits};

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kDigitsMax = 24;  // times the largest unit this stays below 2^128

/// "400 Gb/s" cut into "400", whole "400", fraction "", unit "Gb/s".
struct Parts {
  std::string_view number, whole, fraction, unit;
};

Parts split(std::string_view given, const Quantity& kind) {
  const std::string_view text = trimmed(given);
  if (text.size() > 1 && text[0] == '-' && kDigits.find(text[1]) != std::string_view::npos) {
    throw Error(fmt::format("\"{}\" is negative", text),
                fmt::format("a {} is zero or more", kind.what));
  }
  const std::size_t whole_end = std::min(text.find_first_not_of(kDigits), text.size());
  std::size_t end = whole_end;
  if (end < text.size() && text[end] == '.') {
    end = std::min(text.find_first_not_of(kDigits, end + 1), text.size());
  }
  if (whole_end == 0 || end == whole_end + 1) {
    throw Error(fmt::format("\"{}\" is not a {}", text, kind.what),
                fmt::format("write a number and a unit, like 4 {}", kind.example));
  }
  Parts parts;
  parts.number = text.substr(0, end);
  parts.whole = text.substr(0, whole_end);
  if (end > whole_end) parts.fraction = text.substr(whole_end + 1, end - whole_end - 1);
  parts.unit = trimmed(text.substr(end));
  const std::size_t first = parts.whole.find_first_not_of('0');
  parts.whole.remove_prefix(std::min(first, parts.whole.size()));
  const std::size_t last = parts.fraction.find_last_not_of('0');
  parts.fraction = parts.fraction.substr(0, last == std::string_view::npos ? 0 : last + 1);
  return parts;
}

const Unit& unit_of(const Parts& parts, const Quantity& kind) {
  for (const Unit& unit : kind.units)
    if (unit.name == parts.unit) return unit;
  if (parts.unit.empty()) {
    throw Error(
        fmt::format("{} has no unit", parts.number),
        fmt::format("write a {} with its unit, like {} {}", kind.what, parts.number, kind.bare));
  }
  std::vector<std::string> names;
  for (const Unit& unit : kind.units)
    if (!unit.name.empty()) names.emplace_back(unit.name);
  throw Error(fmt::format("unknown unit \"{}\"", parts.unit), hint_nearest(parts.unit, names));
}

/// The exact value in base units. Throws when it does not fit or is not a whole number of them.
std::int64_t parse_exactly(std::string_view text, const Quantity& kind) {
  const Parts parts = split(text, kind);
  const Unit& unit = unit_of(parts, kind);
  const auto too_large = [&] { return Error(fmt::format("\"{}\" is too large", trimmed(text))); };
  const auto too_fine = [&] {
    return Error(fmt::format("\"{}\" is not a whole number of {}", trimmed(text), kind.base));
  };
  if (parts.whole.size() > kDigitsMax) throw too_large();
  if (parts.whole.size() + parts.fraction.size() > kDigitsMax) throw too_fine();

  Wide value = 0;
  Wide divisor = static_cast<Wide>(unit.denominator);
  for (const char digit : parts.whole) value = value * 10 + static_cast<Wide>(digit - '0');
  for (const char digit : parts.fraction) {
    value = value * 10 + static_cast<Wide>(digit - '0');
    divisor *= 10;
  }
  value *= static_cast<Wide>(unit.numerator);
  if (value / divisor > static_cast<Wide>(std::numeric_limits<std::int64_t>::max())) {
    throw too_large();
  }
  if (value % divisor != 0) throw too_fine();
  return static_cast<std::int64_t>(value / divisor);
}

/// Value with up to four significant digits, no trailing zeros.
std::string four_digits(double value) { return fmt::format("{:.4g}", value); }

/// The value in the largest unit of which it holds at least one.
std::string rounded(std::int64_t value, std::span<const Unit> ascending) {
  const Unit* chosen = &ascending.front();
  for (const Unit& unit : ascending) {
    if (value >= unit.numerator) chosen = &unit;
  }
  return fmt::format(
      "{} {}", four_digits(static_cast<double>(value) / static_cast<double>(chosen->numerator)),
      chosen->name);
}

/// The value in `unit` if three decimals hold it exactly.
std::optional<std::string> exact_text(std::int64_t count, const Unit& unit) {
  constexpr std::int64_t decimals = 1'000;
  const Wide thousandths = static_cast<Wide>(count) * decimals;
  const Wide divisor = static_cast<Wide>(unit.numerator);
  if (count < unit.numerator || thousandths % divisor != 0) return std::nullopt;
  const auto part = static_cast<std::int64_t>(thousandths / divisor % decimals);
  std::string text = fmt::format("{}.{:03}", count / unit.numerator, part);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return fmt::format("{} {}", text, unit.name);
}

}  // namespace

Bandwidth parse_bandwidth(std::string_view text) { return {parse_exactly(text, kBandwidth)}; }
Duration parse_duration(std::string_view text) { return {parse_exactly(text, kDuration)}; }
Bytes parse_bytes(std::string_view text) { return {parse_exactly(text, kSize)}; }

double parse_flop_rate(std::string_view text) {
  return static_cast<double>(parse_exactly(text, kFlops));
}

namespace {

/// A quantity that need not be a whole number of its base unit.
double parse_real(std::string_view text, const Quantity& kind) {
  constexpr double most = 1e6;
  const Parts parts = split(text, kind);
  const double value = to_number<double>(parts.number).value_or(0) *
                       static_cast<double>(unit_of(parts, kind).numerator);
  if (value > most) throw Error(fmt::format("\"{}\" is too large", trimmed(text)));
  return value;
}

}  // namespace

double parse_metres(std::string_view text) { return parse_real(text, kLength); }
double parse_watts(std::string_view text) { return parse_real(text, kPower); }

double parse_percent(std::string_view text, double least, double most) {
  const std::string_view whole = trimmed(text);
  const bool has_sign = whole.ends_with('%');
  const std::optional<double> value =
      finite_number(trimmed(whole.substr(0, whole.size() - (has_sign ? 1 : 0))));
  if (has_sign && value && *value >= least && *value <= most) return *value / 100;
  const std::string range =
      std::isfinite(most) ? fmt::format(" from {:g} % to {:g} %", least, most) : "";
  // What was meant, where only the sign is missing.
  double like = has_sign ? 5 : value.value_or(5);
  if (like < 1) like *= 100;
  if (!(like > 0 && like >= least && like <= most)) like = 5;
  throw Error(fmt::format("\"{}\" is no share{}", whole, range),
              fmt::format("write it like {:g}%", like));
}

Bytes parse_nccl_tests_size(std::string_view text) { return {parse_exactly(text, kNcclTestsSize)}; }

std::string to_text(Bytes size) {
  if (size.count < 0) return "-" + to_text(Bytes{-size.count});
  std::string shortest = fmt::format("{} B", size.count);
  for (const Unit& unit : kSizeUnits) {
    const std::optional<std::string> text = exact_text(size.count, unit);
    if (text && text->size() <= shortest.size()) shortest = *text;
  }
  return shortest;
}

std::string to_text(Bandwidth rate) {
  return rounded(rate.bytes_per_s, std::span(kBandwidthUnits).first<5>());
}

std::string to_bits_text(Bandwidth rate) {
  constexpr std::array units = {Unit{"b/s", 1}, Unit{"kb/s", kKilo}, Unit{"Mb/s", kMega},
                                Unit{"Gb/s", kGiga}, Unit{"Tb/s", kTera}};
  constexpr std::int64_t in_tera_from = 10 * kTera;  // ports are sold as 1,600 Gb/s
  const std::int64_t bits = rate.bytes_per_s * kBitsPerByte;
  return rounded(bits, std::span(units).first(bits < in_tera_from ? 4 : 5));
}

std::string to_text(Duration time) {
  if (time.ps == 0) return "0 ns";
  if (time.ps < 0) return "-" + to_text(Duration{-time.ps});
  return rounded(time.ps, kPrintedDurationUnits);
}

}  // namespace fabricast
