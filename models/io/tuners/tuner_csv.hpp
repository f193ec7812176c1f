#pragma once
// The file of NCCL's example tuner plugin (plugins/tuner/example of 2.28 and later,
// ext-tuner/example of 2.27.5: plugin.c): which algorithm, protocol and number of channels a call
// takes. Read as the plugin reads it, quirks included.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/tuner/tuner_plugin.hpp"

namespace fabricast {

inline constexpr std::int64_t kAnyTunerSize = INT64_MAX;
/// The first release whose example plugin reads a file; that of older ones reads none.
inline constexpr NcclVersion kTunerFileSince{27, 5};
/// The first release that calls an interface of our own plugin (plugins/tuner): v2.
inline constexpr NcclVersion kOwnTunerSince = kNccl2_21;

/// One line. -1: any, or of `channels`: "keep", which the plugin takes for 1.
struct TunerRule {
  Collective collective = Collective::all_reduce;
  std::int64_t bytes_min = 0, bytes_max = kAnyTunerSize;  ///< both inclusive; of the larger buffer
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = -1;
  int nodes = -1, ranks = -1;
  int operations = -1;  ///< of the group that share the decision
  int registered = -1;  ///< buffers: 0, 1

  bool operator==(const TunerRule&) const = default;
};

/// A file with what its writer may not have meant.
struct TunerCsv {
  std::vector<TunerRule> rules;
  std::vector<int> lines;          ///< of each rule, from 1 on
  std::vector<std::string> notes;  ///< "line 3: ...": lines passed over, words misread
};
/// As the plugin does it: lines of `#` and empty ones are skipped, as are those of fewer than eight
/// fields; words it does not know are allreduce, ring and simple; a line of 256 characters or more
/// is read as several.
TunerCsv read_tuner_csv(std::string_view text);
std::vector<TunerRule> parse_tuner_csv(std::string_view text);

/// The place of the first rule that matches and whose algorithm and protocol are to be had.
std::optional<std::size_t> matching_rule(const std::vector<TunerRule>& rules, const TunerCall& call,
                                         const TunerOffers& is_there);

/// Which plugin has the file: NCCL's example tells NCCL one channel unless a rule that matches has
/// a number, ours tells it nothing then.
enum class TunerSilence : std::uint8_t { one_channel, nothing };
/// `file` is for messages.
std::unique_ptr<const TunerPlugin> csv_tuner(TunerCsv csv, std::string file, TunerSilence silence);

/// With all ten fields.
std::string tuner_csv_line(const TunerRule& rule);

}  // namespace fabricast
