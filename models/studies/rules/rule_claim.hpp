#pragma once
// What a rule of thumb claims, as one text: words ("NVLS or NVLSTree"), a figure ("350 us"), a
// range
// ("20..30 %"), a bound (">= 85 %"), or a formula of the job ("2*(n-1)/n").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// What a figure counts, and the unit in which it is kept.
enum class Dimension : std::uint8_t {
  time,   ///< us
  rate,   ///< GB/s
  bytes,  ///< B
  share,  ///< %
  ratio,
  count,
  price,  ///< USD
  word    ///< no figure
};

/// What formulas may name.
struct FormulaValues {
  double n = 1;      ///< ranks
  double nodes = 1;  ///< servers
  double bytes = 1;  ///< of the message
};
/// Numbers, `n`, `nodes`, `bytes`, + - * / ( ) and log2( ). Throws Error.
double formula_value(std::string_view text, const FormulaValues& values);

struct Claim {
  std::string text;                ///< as written
  std::vector<std::string> words;  ///< any of them
  std::string low, high;           ///< formulas, "" = no bound; equal = one value
  double unit = 1;                 ///< of the text in the dimension's
  bool strict = false;             ///< a bound that must be passed: ">" or "<"
  double tolerance = 0;            ///< share by which bounds are widened

  /// Is the figure as claimed?
  bool holds(double figure, const FormulaValues& values) const;
  /// Is one of the words all in `found`, which is words, too? "Ring" is in "Ring LL".
  bool holds(std::string_view found) const;
};

/// Of one value: how far from it still counts, unless the rule says it.
inline constexpr double kClaimTolerance = 0.1;

/// Throws Error without a place. `tolerance`: nothing = kClaimTolerance for one value, else 0.
Claim parse_claim(std::string_view text, Dimension dimension, std::optional<double> tolerance);

/// "350 us", "12.1 %", "126".
std::string figure_text(double figure, Dimension dimension);

}  // namespace fabricast
