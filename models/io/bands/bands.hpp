#pragma once
// How far measurements lie from predictions: the middle 80 % of ratios measured / predicted, of
// runs whose source the fit had not seen, each source as much as any other; and the ratio that a
// share of runs stays below, for a few shares. By hardware, collective
// and range of sizes; where sources are few, drawn towards those of the same hardware, its kind of
// network, and all. What is further from all that was measured is at least as wide as runs were
// whose machine the fit without their source knew as little of.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/bands/size_range.hpp"

namespace fabricast {

/// What was measured that is like the machine of a prediction, from the nearest on.
enum class Known : std::uint8_t { hardware_and_network, hardware, generation, nothing };
inline constexpr std::size_t kKnowns = 4;
inline constexpr std::array<std::string_view, kKnowns> kKnownWords = {
    "same hardware and network", "same hardware", "same generation", "nothing"};
constexpr std::string_view to_text(Known known) {
  return kKnownWords[static_cast<std::size_t>(known)];
}

/// What a prediction is about.
struct BandKey {
  std::string hardware{};  ///< GPU part and kind of node: "H100_SXM5 nvswitch"
  std::string network{};   ///< "ib", ... as NetKind has it; "none" inside a node
  std::string collective{};
  std::size_t range = 0;  ///< size_range()
  int generation = 0;     ///< of the GPU, its compute capability's first digit; 0 = over all
  /// The host's thread is busy launching for as long as the call takes.
  bool by_launches = false;

  bool operator==(const BandKey&) const = default;
};

/// How near what was measured of `other` is to `key`, whatever their collective and size; nothing
/// where `other` is over all hardware.
Known nearness(const BandKey& key, const BandKey& other);

/// One measured point and its prediction.
struct BandSample {
  BandKey key;
  std::string run, source;
  double log_ratio = 0;   ///< of measured / predicted
  Known known{};          ///< to the fit that had not seen the source
  std::string machine{};  ///< which, and how many GPUs of it
  Bytes size{};
  double log_predicted = 0;  ///< us
};

/// Shares of runs that are no slower than Slow says. `upper` is that of kUpperShare.
inline constexpr std::array<double, 4> kSlowShares = {0.8, 0.9, 0.95, 0.99};
inline constexpr std::size_t kUpperShare = 1;
/// By share: measured / predicted; 0 = not known, as in files of before there were such.
using Slow = std::array<double, kSlowShares.size()>;

/// Factors on a prediction. Empty fields of the key: over all of them.
struct Band {
  BandKey key;
  double lower = 1, upper = 1;
  int runs = 0;
  Slow slow{};
};

struct BandTable {
  std::vector<Band> bands;
  /// Beyond Known::hardware_and_network: by range, of runs of which as much was known. Where there
  /// were none, of those of which more was.
  std::array<std::vector<Band>, kKnowns> further;
  /// Of times that the host's launches decide: of all GPUs and sizes, since it is hosts that
  /// differ.
  std::optional<Band> launches;
  std::vector<Band> changes;  ///< of ratios, by range (ratio_band.hpp)
};
BandTable make_bands(const std::vector<BandSample>& samples);
/// Of the samples of all other sources.
BandTable bands_without(const std::vector<BandSample>& samples, const std::string& source);

/// The band of one prediction, and what it rests on. It holds the prediction.
struct FoundBand {
  double lower = 1, upper = 1;  ///< lower <= 1 <= upper
  Known known{};
  int runs = 0;
  std::string basis;  ///< "12 runs of A100_SXM4_80 nvswitch ib"
  Slow slow{};        ///< >= 1, or 0
};
/// The factor on a prediction that this share of runs stays below: measured at kSlowShares, a line
/// between them. Throws Error for a share outside of these, or where none is known.
double slow_limit(const FoundBand& band, double share);
/// `at_most`: how near to what was measured the prediction is at best, whatever its machine:
/// faults, background traffic and schedules of one's own are nothing that was. Nothing where the
/// table is empty.
std::optional<FoundBand> find_band(const BandTable& table, const BandKey& key,
                                   Known at_most = Known::hardware_and_network);

/// A band that has not seen one source's runs, of a key of theirs.
struct LeftOutBand {
  BandKey key;
  double lower = 1, upper = 1;
  Known known{};
};
/// Of each different key of the source's samples, in the order of the samples.
std::vector<LeftOutBand> left_out_bands(const std::vector<BandSample>& samples,
                                        const std::string& source);

/// "  <64KiB   -9 .. +12 %  12 runs of ..."
std::string band_line(std::size_t range, const FoundBand& band);

}  // namespace fabricast
