#pragma once
// Why a call runs otherwise in the next release: what of its rules does it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/tuner/tuner.hpp"
#include "models/studies/upgrade/call_key.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// Where in NCCL the difference arises.
enum class UpgradeStage : std::uint8_t {
  search,    ///< the graph search, or the paths it looks at, find other channels
  channels,  ///< the same graphs make another number of channels
  gate,      ///< an algorithm or a protocol is new, or allowed or left out otherwise
  model,     ///< the tuning model's figures: latencies, bandwidths, corrections
  width,     ///< channels and threads of a call
  split      ///< how a call is split over channels, and its chunks
};
inline constexpr auto kUpgradeStageWords = enum_words<UpgradeStage>(
    "search", "channel count", "gate", "tuning model", "channels and threads", "split");

struct UpgradeCause {
  NcclVersion since;  ///< the first of the compared releases that does as the last one does
  UpgradeStage stage{};
  std::string text;    ///< what differs on this machine, with figures
  std::string rule;    ///< the rule that changed, in a sentence; "" where none is known
  std::string source;  ///< file of NCCL; "" without a rule
};

/// The cause between two releases next to each other. REQUIRES: the call runs otherwise in `after`
/// than in `before`, which are of the same machine.
UpgradeCause upgrade_cause(const TuningModel& before, const TuningModel& after,
                           Collective collective, std::int64_t count);

/// A rule of NCCL that a release changed.
struct RuleChangeNote {
  /// The machines it is about.
  enum class Machine : std::uint8_t { any, hopper, blackwell, amd, intel, grace, nvswitch };

  NcclVersion since;
  UpgradeStage stage;
  std::string_view of;  ///< algorithm or protocol that it is about: "Tree", "LL128"; "" = any
  std::string_view text, source;
  Machine machine = Machine::any;
};
/// The rules that this release changed at this stage, that are about one of the two choices and of
/// this machine.
std::vector<const RuleChangeNote*> rule_changes(NcclVersion since, UpgradeStage stage,
                                                const TunerInput& machine, const CallKey& before,
                                                const CallKey& after);

}  // namespace fabricast
