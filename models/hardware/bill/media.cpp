#include "models/hardware/bill/media.hpp"

#include <array>
#include <cmath>
#include <tuple>

namespace fabricast {
namespace {

/// Lengths of ready-made cables in metres: NVIDIA, "800G and 400G 100G-PAM4 cables and
/// transceivers", copper from 0.5 m to 5 m and MPO fibres up to 50 m; longer fibre by 10 m.
double sold_length(double metres, bool copper) {
  constexpr double fine = 0.5, fine_up_to = 3, coarse = 10, rounding = 1e-9;
  constexpr std::array fibres = {1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 50};
  const double wanted = metres - rounding;
  if (copper) {
    const double step = wanted <= fine_up_to ? fine : 1;
    return std::max(fine, std::ceil(wanted / step) * step);
  }
  for (const int length : fibres)
    if (wanted <= length) return length;
  return std::ceil(wanted / coarse) * coarse;
}

/// A cable much faster than the cage does not fit it.
const CopperCablePart* copper_for(double metres, Bandwidth rate, bool splits,
                                  const PartsCatalogue& parts) {
  const CopperCablePart* best = nullptr;
  for (const auto& [name, part] : parts.copper_cables) {
    const bool fits = part.rate >= rate && part.rate < rate * 2;
    if (!fits || part.reach_metres < metres || part.splits != splits) continue;
    if (best == nullptr ||
        std::pair(part.rate, part.reach_metres) < std::pair(best->rate, best->reach_metres))
      best = &part;
  }
  return best;
}

/// The slowest pair that fits; of these the one whose fibres are no faster than a port, with the
/// shortest reach and then the slower fibres.
void find_transceivers(double metres, const BillCage& above, const BillCage& below,
                       const PartsCatalogue& parts, BillMedium& out) {
  const auto fits = [&](const TransceiverPart& part, const BillCage& cage) {
    return part.rate >= cage.rate && part.reach_metres >= metres;
  };
  const auto order = [&](const TransceiverPart& a, const TransceiverPart& b) {
    const bool too_fast = a.fibre_rate > above.port || b.fibre_rate > below.port;
    return std::tuple(a.rate, b.rate, too_fast, a.fibre_rate != b.fibre_rate, a.reach_metres,
                      a.fibre_rate);
  };
  for (const auto& [name, a] : parts.transceivers) {
    if (!fits(a, above)) continue;
    for (const auto& [other, b] : parts.transceivers) {
      if (!fits(b, below) || a.fibre != b.fibre) continue;
      if (out.above != nullptr && order(*out.above, *out.below) <= order(a, b)) continue;
      out.above = &a;
      out.below = &b;
    }
  }
}

}  // namespace

BillMedium medium_of(const CableRun& run, const BillCage& above, const BillCage& below, bool splits,
                     const PartsCatalogue& parts) {
  BillMedium out;
  if (run.cable.optics.ps == 0) {
    out.metres = sold_length(run.metres, true);
    const Bandwidth rate = splits || above.rate < below.rate ? above.rate : below.rate;
    out.copper = copper_for(out.metres, rate, splits, parts);
    if (out.copper != nullptr) return out;
    out.instead_of_copper = true;
  }
  out.metres = sold_length(run.metres, false);
  find_transceivers(run.metres, above, below, parts, out);
  return out;
}

}  // namespace fabricast
