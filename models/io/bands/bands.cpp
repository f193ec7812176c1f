#include "models/io/bands/bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/io/bands/by_source.hpp"
#include "models/io/bands/ratio_band.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// A group's own quantiles count as its sources, its parent's as so many.
constexpr double kParentSources = 8;

using Key = std::tuple<std::string, std::string, std::string, std::size_t>;

Key key_of(const BandKey& key) { return {key.hardware, key.network, key.collective, key.range}; }

struct Group {
  BandKey key;
  BySource ratios;
  std::set<std::string> runs;
};

using Groups = std::map<Key, Group>;

void add(Groups& groups, const BandKey& key, const BandSample& sample) {
  Group& group = groups[key_of(key)];
  group.key = key;
  group.ratios.add(sample.source, sample.log_ratio);
  group.runs.insert(sample.run);
}

/// From a key to the next wider one; nothing above all of a range.
std::optional<BandKey> parent(BandKey key) {
  if (!key.collective.empty()) {
    key.collective.clear();
  } else if (!key.hardware.empty()) {
    key.hardware.clear();
    key.generation = 0;
  } else if (!key.network.empty()) {
    key.network.clear();
  } else {
    return std::nullopt;
  }
  return key;
}

const Band* find(const std::vector<Band>& bands, const BandKey& key) {
  const auto found = std::ranges::find(bands, key, &Band::key);
  return found == bands.end() ? nullptr : &*found;
}

/// A group's own quantile, drawn towards that of the wider group.
double factor_of(const Group& group, double share, const double* wider) {
  double out = group.ratios.quantile(share);
  if (wider != nullptr) {
    const auto sources = static_cast<double>(group.ratios.sources());
    const double own = sources / (sources + kParentSources);
    out = own * out + (1 - own) * std::log(*wider);
  }
  return std::exp(out);
}

/// The share of so many sources in which another one's lies with the probability `share`: split
/// conformal prediction (Lei et al., Distribution-free predictive inference for regression, 2018),
/// half of it at each end.
double share_for_another(double share, std::size_t sources) {
  const double away = (share - 0.5) * (1 + 1 / static_cast<double>(sources));
  return std::clamp(0.5 + away, 0.0, 1.0);
}

/// `is_unseen`: of runs that no fit has seen; what is predicted next is of another source still.
Band band_of(const Group& group, const Band* wider, bool is_unseen = false) {
  const auto share_of = [&](double share) {
    return is_unseen ? share_for_another(share, group.ratios.sources()) : share;
  };
  Band out;
  out.key = group.key;
  out.runs = static_cast<int>(group.runs.size());
  out.lower = factor_of(group, share_of(kBandLow), wider ? &wider->lower : nullptr);
  for (std::size_t i = 0; i < kSlowShares.size(); ++i)
    out.slow[i] = factor_of(group, share_of(kSlowShares[i]), wider ? &wider->slow[i] : nullptr);
  out.upper = out.slow[kUpperShare];
  return out;
}

std::size_t number_of(Known known) { return static_cast<std::size_t>(known); }

/// The widest of those of the range of which as much or more was known.
void widen(FoundBand& band, const BandTable& table, std::size_t range) {
  for (std::size_t known = 1; known <= number_of(band.known); ++known) {
    const Band* const further = find(table.further[known], {"", "", "", range});
    if (further == nullptr) continue;
    band.lower = std::min(band.lower, further->lower);
    band.upper = std::max(band.upper, further->upper);
    for (std::size_t i = 0; i < kSlowShares.size(); ++i)
      band.slow[i] = std::max(band.slow[i], further->slow[i]);
  }
}

std::string runs_of(const Band& band) {
  return fmt::format("{} run{} of ", band.runs, band.runs == 1 ? "" : "s");
}

std::string basis_of(const Band& band, Known known) {
  std::string out = runs_of(band);
  const bool one_node = band.key.network == "none";
  const std::string on = band.key.network.empty() ? ""
                         : one_node               ? ", one node"
                                                  : " " + band.key.network;
  if (known == Known::hardware_and_network) return out + band.key.hardware + on;
  out += "other hardware" + on;
  return known == Known::nothing ? out : fmt::format("{} ({} elsewhere)", out, to_text(known));
}

/// Where nearly all runs lie on one side, the prediction is an end of the band.
void hold_prediction(FoundBand& band) {
  band.lower = std::min(band.lower, 1.0);
  band.upper = std::max(band.upper, 1.0);
  for (double& slow : band.slow)
    if (slow > 0) slow = std::max(slow, 1.0);
}

}  // namespace

Known nearness(const BandKey& key, const BandKey& other) {
  if (other.hardware.empty()) return Known::nothing;
  if (other.hardware == key.hardware)
    return other.network == key.network ? Known::hardware_and_network : Known::hardware;
  return other.generation == key.generation ? Known::generation : Known::nothing;
}

BandTable make_bands(const std::vector<BandSample>& samples) {
  Groups groups, launches;
  std::array<Groups, kKnowns> further;
  for (const BandSample& sample : samples) {
    if (sample.key.by_launches) {
      add(launches, {.by_launches = true}, sample);
      continue;
    }
    for (std::optional<BandKey> key = sample.key; key; key = parent(*key))
      add(groups, *key, sample);
    if (sample.known != Known::hardware_and_network)
      add(further[number_of(sample.known)], {"", "", "", sample.key.range}, sample);
  }
  BandTable out;
  // Blanks sort first: a parent stands before its children.
  for (const auto& [key, group] : groups) {
    const std::optional<BandKey> above = parent(group.key);
    out.bands.push_back(band_of(group, above ? find(out.bands, *above) : nullptr));
  }
  for (std::size_t known = 0; known < kKnowns; ++known)
    for (const auto& [key, group] : further[known])
      out.further[known].push_back(band_of(group, nullptr, true));
  for (const auto& [key, group] : launches) out.launches = band_of(group, nullptr, true);
  out.changes = make_change_bands(samples);
  return out;
}

BandTable bands_without(const std::vector<BandSample>& samples, const std::string& source) {
  std::vector<BandSample> others;
  for (const BandSample& sample : samples)
    if (sample.source != source) others.push_back(sample);
  return make_bands(others);
}

std::optional<FoundBand> find_band(const BandTable& table, const BandKey& wanted, Known at_most) {
  Known known = Known::nothing;
  for (const Band& band : table.bands)
    if (band.key.range == wanted.range) known = std::min(known, nearness(wanted, band.key));
  const auto found = [&](const Band& band) {
    return FoundBand{band.lower, band.upper, std::max(known, at_most), band.runs, {}, band.slow};
  };
  // Of launches it is the host that may be unlike the measured ones, and nothing is said of it.
  if (wanted.by_launches && table.launches && at_most == Known::hardware_and_network) {
    FoundBand out = found(*table.launches);
    out.basis = runs_of(*table.launches) + "hosts whose launches decide";
    hold_prediction(out);
    return out;
  }
  BandKey plain = wanted;
  plain.by_launches = false;
  for (std::optional<BandKey> key = plain; key; key = parent(*key)) {
    const Band* const band = find(table.bands, *key);
    if (band == nullptr) continue;
    FoundBand out = found(*band);
    out.basis = basis_of(*band, key->hardware.empty() ? out.known : Known::hardware_and_network);
    widen(out, table, wanted.range);
    hold_prediction(out);
    return out;
  }
  return std::nullopt;
}

std::vector<LeftOutBand> left_out_bands(const std::vector<BandSample>& samples,
                                        const std::string& source) {
  const BandTable others = bands_without(samples, source);
  std::vector<LeftOutBand> out;
  for (const BandSample& sample : samples) {
    if (sample.source != source) continue;
    if (std::ranges::find(out, sample.key, &LeftOutBand::key) != out.end()) continue;
    if (const auto band = find_band(others, sample.key))
      out.push_back({sample.key, band->lower, band->upper, band->known});
  }
  return out;
}

double slow_limit(const FoundBand& band, double share) {
  if (!(share >= kSlowShares.front() && share <= kSlowShares.back()))
    throw Error(fmt::format("{:.4g} % of runs: measured are {:.0f} to {:.0f} %", 100 * share,
                            100 * kSlowShares.front(), 100 * kSlowShares.back()));
  if (band.slow.front() <= 0)
    throw Error("no measured runs say how slow a healthy one may be",
                "fabricast calibrate --cross-validate makes such a file, or leave --parts out");
  const auto above =
      static_cast<std::size_t>(std::ranges::lower_bound(kSlowShares, share) - kSlowShares.begin());
  if (above == 0) return band.slow.front();
  const double part =
      (share - kSlowShares[above - 1]) / (kSlowShares[above] - kSlowShares[above - 1]);
  return band.slow[above - 1] + part * (band.slow[above] - band.slow[above - 1]);
}

std::string band_line(std::size_t range, const FoundBand& band) {
  return fmt::format("  {:<13} {:+3.0f} .. {:+3.0f} %  {}: {}\n", kSizeRangeNames[range],
                     100 * (band.lower - 1), 100 * (band.upper - 1), to_text(band.known),
                     band.basis);
}

}  // namespace fabricast
