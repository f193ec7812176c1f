#include "models/studies/bench_bands.hpp"

#include "models/studies/band_key.hpp"

namespace fabricast {

std::optional<FoundBand> band_of(const BenchResult& result, const BenchBlock& block,
                                 const BenchRow& row, const BandTable& bands) {
  const BenchConfig& config = result.config;
  if (config.custom || config.split || !config.faults.empty() || !config.network.background.empty())
    return std::nullopt;
  return find_band(bands, band_key(block.cluster.node(), block.nodes, row.collective, row.size));
}

std::string bands_text(const BenchResult& result, const BenchBlock& block,
                       const std::vector<const BenchRow*>& rows, const BandTable& bands) {
  std::string out;
  std::size_t shown = kSizeRanges;
  for (const BenchRow* row : rows) {
    const std::size_t range = size_range(row->size);
    if (range == shown) continue;
    shown = range;
    const auto band = band_of(result, block, *row, bands);
    if (!band) continue;
    if (out.empty()) out = "# Where 8 of 10 measured times should lie, of the predicted one:\n";
    out += "# " + band_line(range, *band);
  }
  return out;
}

}  // namespace fabricast
