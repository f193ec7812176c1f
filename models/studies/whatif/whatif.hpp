#pragma once
// The study behind `fabricast whatif`: the same work before and after several things are changed
// (variables, NCCL's version, topology, fabric). What each of them is worth alone, in the order
// given, as the last one, and by Shapley; and by which mechanism. Texts of it: whatif_text.hpp.

#include <optional>
#include <string>
#include <vector>

#include "models/io/bands/ratio_band.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/whatif/work.hpp"

namespace fabricast {

/// So many are tried in all their combinations.
inline constexpr std::size_t kFactorsMax = 8;

/// One thing that differs between before and after.
struct WhatifFactor {
  enum class Kind : std::uint8_t { variable, version, topology, fabric };
  Kind kind{};
  std::string name;                          ///< of a variable
  std::optional<std::string> before, after;  ///< nothing: a variable that is not set

  /// "NCCL_ALGO=Ring (was Tree)", "NCCL 2.27.7 instead of 2.21.5", "fabric a instead of b".
  std::string text() const;
};

/// Microseconds that a factor takes away (+) or adds (-). Nothing where NCCL refuses a call with
/// some of the changes and not with all.
struct Worth {
  std::optional<double> alone_us;     ///< the first change, nothing else
  std::optional<double> in_order_us;  ///< after those before it in the list
  std::optional<double> last_us;      ///< when all others are made already
  /// Mean over all orders in which nothing is refused on the way; these add up to the whole change.
  std::optional<double> shapley_us;
  std::string mechanism;  ///< alone, or as the last one where alone it changes nothing
  /// In 80 % of measured changes `alone_us` would lie between; nothing where none was measured.
  std::optional<double> alone_low_us, alone_high_us;
};

struct WhatifRow {
  WorkRow before, after;
  std::string mechanism;             ///< of all changes together
  std::vector<Worth> worths;         ///< by factor
  std::optional<RatioBand> ratio{};  ///< of after over before
};

struct WhatifResult {
  std::vector<WhatifFactor> factors;
  std::vector<WhatifRow> rows;
  std::vector<std::string> notes;  ///< of before and after, and which combinations are refused
  std::size_t runs = 0;            ///< combinations simulated
};

/// The factors between two setups, in the order in which `after` has them. Throws Error when there
/// is none, or more than kFactorsMax.
std::vector<WhatifFactor> factors_between(const Job& before, const Job& after);

/// `before` with those factors changed that `mask` has bits for.
Job with_factors(Job before, const std::vector<WhatifFactor>& factors, std::uint32_t mask);

/// Both ask for the same work. `bands`: empty = ratios have none. Throws Error.
WhatifResult run_whatif(const Work& before, const Work& after, const PartsCatalogue& parts,
                        const BandTable& bands, const ForEach& for_each);
/// The same without mechanisms, of works that differ by environment alone: a call that `times` has
/// is not simulated again.
WhatifResult run_whatif(const Work& before, const Work& after, const PartsCatalogue& parts,
                        const BandTable& bands, const ForEach& for_each, KnownCalls& times);

/// The work under a setup of that name.
struct NamedWork {
  std::string name;
  Work work;
};

/// Several setups, each against the first.
struct WhatifTable {
  std::vector<std::string> names;
  std::vector<WorkRun> runs;  ///< by name; the same rows in each
  /// By name and row: of the time over that of the first.
  std::vector<std::vector<std::optional<RatioBand>>> ratios;
  std::vector<std::string> notes;

  /// The time of all rows together.
  double total_us(std::size_t run) const;
};
/// All ask for the same work. Throws Error.
WhatifTable compare_all(const std::vector<NamedWork>& works, const PartsCatalogue& parts,
                        const BandTable& bands, const ForEach& for_each);

}  // namespace fabricast
