#pragma once
// How far measurements lie from predictions: the middle 80 % of ratios measured / predicted, of
// runs whose source the fit had not seen, each source as much as any other. By hardware, collective
// and range of sizes; where sources are few, drawn towards those of the same hardware, its kind of
// network, and all.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/bands/size_range.hpp"

namespace fabricast {

/// What a prediction is about.
struct BandKey {
  std::string hardware;  ///< GPU part and kind of node: "H100_SXM5 nvswitch"
  std::string network;   ///< "ib", ... as NetKind has it; "none" inside a node
  std::string collective;
  std::size_t range = 0;  ///< size_range()

  bool operator==(const BandKey&) const = default;
};

/// One measured point and its prediction.
struct BandSample {
  BandKey key;
  std::string run, source;
  double log_ratio = 0;       ///< of measured / predicted
  bool extrapolated = false;  ///< the fit had seen no such hardware on such a network
};

/// Factors on a prediction. Empty fields of the key: over all of them.
struct Band {
  BandKey key;
  double lower = 1, upper = 1;
  int runs = 0;
};

struct BandTable {
  std::vector<Band> bands;
  std::vector<Band> extrapolated;  ///< by range: hardware that nothing was measured on
};
BandTable make_bands(const std::vector<BandSample>& samples);

/// The band of one prediction, and what it rests on. It holds the prediction.
struct FoundBand {
  double lower = 1, upper = 1;  ///< lower <= 1 <= upper
  bool measured = false;        ///< runs on such hardware
  int runs = 0;
  std::string basis;  ///< "12 runs of A100_SXM4_80 nvswitch ib", "extrapolated from 30 runs on ib"
};
/// Nothing where the table is empty.
std::optional<FoundBand> find_band(const BandTable& table, const BandKey& key);

/// "  <64KiB   -9 .. +12 %  12 runs of ..."
std::string band_line(std::size_t range, const FoundBand& band);

}  // namespace fabricast
