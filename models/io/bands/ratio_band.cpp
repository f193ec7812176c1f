#include "models/io/bands/ratio_band.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/io/bands/by_source.hpp"

namespace fabricast {
namespace {

constexpr double kUnchanged = 1e-9;

}  // namespace

std::vector<Band> make_change_bands(const std::vector<BandSample>& samples) {
  using Asked = std::tuple<std::string, std::string, std::string, Bytes>;
  std::map<Asked, std::vector<const BandSample*>> alike;
  for (const BandSample& sample : samples)
    alike[{sample.source, sample.machine, sample.key.collective, sample.size}].push_back(&sample);
  std::map<std::size_t, BySource> by_range;
  for (const auto& [asked, runs] : alike) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (std::size_t k = i + 1; k < runs.size(); ++k) {
        const double apart = runs[i]->log_predicted - runs[k]->log_predicted;
        if (std::abs(apart) < kTellsApart) continue;
        const double off = runs[i]->log_ratio - runs[k]->log_ratio;
        by_range[runs[i]->key.range].add(runs[i]->source, apart > 0 ? off : -off);
      }
    }
  }
  std::vector<Band> out;
  for (const auto& [range, pairs] : by_range)
    out.push_back({{"", "", "", range},
                   std::exp(pairs.quantile(kBandLow)),
                   std::exp(pairs.quantile(kBandHigh)),
                   static_cast<int>(pairs.values())});
  return out;
}

std::optional<RatioBand> change_band(const BandTable& table, std::size_t range, double ratio) {
  if (std::abs(ratio - 1) < kUnchanged) return RatioBand{1, 1};
  const auto found =
      std::ranges::find(table.changes, range, [](const Band& band) { return band.key.range; });
  if (found == table.changes.end()) return std::nullopt;
  const double lower = std::min(found->lower, 1.0), upper = std::max(found->upper, 1.0);
  return ratio > 1 ? RatioBand{ratio * lower, ratio * upper}
                   : RatioBand{ratio / upper, ratio / lower};
}

RatioBand machines_band(const FoundBand& before, const FoundBand& after, double ratio) {
  const double faster = std::hypot(std::log(after.lower), std::log(before.upper)),
               slower = std::hypot(std::log(after.upper), std::log(before.lower));
  return {ratio * std::exp(-faster), ratio * std::exp(slower)};
}

}  // namespace fabricast
