#include "models/studies/bench/bench_bands.hpp"

#include "models/io/bands/band_key.hpp"

namespace fabricast {

std::optional<FoundBand> band_of(const BenchResult& result, const BenchBlock& block,
                                 const BenchRow& row, const BandTable& bands) {
  if (row.is_peer_kernel()) return std::nullopt;  // of NCCL's plain kernels
  if (row.ranks == 1) return std::nullopt;        // measured are calls of several
  const BenchConfig& config = result.config;
  const bool is_unlike =
      config.custom || !config.faults.empty() || !config.network.background.empty();
  BandKey key = band_key(block.cluster.node(), block.cluster.nodes(), row.collective, row.size);
  key.by_launches =
      decided_by_launches(microseconds_of(row.host), microseconds_of(row.group_time()));
  return find_band(bands, key, is_unlike ? Known::nothing : Known::hardware_and_network);
}

std::optional<TimeBand> time_band(const BenchResult& result, const BenchBlock& block,
                                  const BenchRow& row, const BandTable& bands) {
  const auto band = band_of(result, block, row, bands);
  if (!band) return std::nullopt;
  const double time_us = microseconds_of(row.call_time());
  return TimeBand{band->lower * time_us, band->upper * time_us, band->known, band->basis};
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
    if (out.empty()) out = "# 80 % of measured times lie in, around the predicted one:\n";
    out += "# " + band_line(range, *band);
  }
  return out;
}

}  // namespace fabricast
