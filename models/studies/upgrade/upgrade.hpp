#pragma once
// The study behind `fabricast upgrade`: what changes on these machines when NCCL goes from one
// release to another. Decisions of both releases, and of all whose rules are known between them,
// are compared call by call; what runs otherwise is grouped, simulated in both, and given its
// cause. Texts of it: upgrade_text.hpp.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/parts/parts.hpp"
#include "models/nccl/base/types.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/shared/job.hpp"
#include "models/studies/upgrade/call_key.hpp"
#include "models/studies/upgrade/upgrade_cause.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// A machine. Job::version means nothing.
struct UpgradeTarget : Job {
  std::string name;        ///< the preset's, or the file's without folder and ending
  std::vector<int> nodes;  ///< empty = what the topology says, else 1
  Place place;             ///< in a file of targets

  /// The job with this release.
  Job at(NcclVersion release) const {
    Job out = *this;
    out.version = release;
    return out;
  }
};

/// Times nearer to each other than this share are called equal.
inline constexpr double kEqualTimes = 0.005;

/// The question. Defaults are those of `fabricast upgrade`.
struct UpgradeConfig {
  NcclVersion from, to;
  std::vector<UpgradeTarget> targets;
  std::vector<Collective> collectives;  ///< tuned ones, of float32
  std::vector<Bytes> sizes;             ///< ascending, as nccl-tests counts them
  bool remedies = true;                 ///< look for them where time is lost
  /// Simulate every change on every number of nodes; else on the fewest and the most.
  bool every_count = false;
};

/// Neighbouring sizes of one collective on one number of nodes that change in the same way.
struct UpgradeStretch {
  int nodes = 1, ranks = 1;
  Bytes first, last;
  int calls = 0;                       ///< sizes asked for that lie in it
  Bytes size;                          ///< the one that is simulated
  CallKey before, after;               ///< there
  double before_us = 0, after_us = 0;  ///< there; 0 = cannot be simulated
  bool has_times() const { return before_us > 0 && after_us > 0; }
  /// Time after over time before, less 1. 0 where it is not known.
  double change() const { return has_times() ? after_us / before_us - 1 : 0; }
};

/// What gives time back.
struct UpgradeRemedy {
  std::string set;  ///< "NCCL_MIN_NCHANNELS=24", or a line for a tuner plugin
  bool is_tuner_line = false;
  double time_us = 0;  ///< with it, of the stretch it was tried on
};

/// Stretches of one target and collective with the same change for the same reason.
struct UpgradeChange {
  std::size_t target = 0;  ///< of the config
  Collective collective{};
  CallKey before, after;  ///< of the stretch that loses or gains most
  CallDifference difference;
  UpgradeCause cause;
  std::vector<UpgradeStretch> stretches;  ///< by nodes, then size
  std::size_t most = 0;                   ///< the stretch that loses or gains most
  /// Where a release between the two does something else again: the releases at which this call
  /// changed, and to what. The last is cause.since.
  std::vector<std::pair<NcclVersion, CallKey>> steps;
  std::optional<UpgradeRemedy> remedy;

  const UpgradeStretch& worst() const { return stretches[most]; }
};

/// Of one target.
struct UpgradeSummary {
  int calls = 0;      ///< collectives x numbers of nodes x sizes
  int choice = 0;     ///< whose algorithm or protocol changes
  int otherwise = 0;  ///< that change in channels, threads, chunks or ways alone
  int estimate = 0;   ///< of which NCCL's own estimate changes, though they run as before
  /// Changes of simulated time: 0.1 = 10 % longer, -0.1 = 10 % shorter. 0 where no call loses or
  /// gains; nothing where none of those that are known does by more than kEqualTimes and others are
  /// not known.
  std::optional<double> largest_loss = 0, largest_gain = 0;
};

/// A variable that the two releases read otherwise.
struct UpgradeVariable {
  std::string name;
  std::string_view kind;  ///< "new", "gone", "other default", "read otherwise"
  NcclVersion since;
  std::string text;
  bool is_set = false;  ///< in the environment of a target
};

struct UpgradeResult {
  UpgradeConfig config;
  std::vector<NcclVersion> releases;  ///< compared: both, and those between whose rules are known
  std::vector<UpgradeSummary> summaries;   ///< by target
  std::vector<UpgradeChange> changes;      ///< by target: the largest losses first, then gains
  std::vector<UpgradeVariable> variables;  ///< in the order of their names
  std::vector<std::string> notes;          ///< one sentence each

  /// Of all targets, as each target's.
  std::optional<double> largest_loss() const;
  /// That run otherwise, of one target or all, where one of both releases cannot be simulated.
  int calls_without_times(std::optional<std::size_t> target = {}) const;
};

/// Throws Error.
UpgradeResult run_upgrade(const UpgradeConfig& config, const PartsCatalogue& parts,
                          const ForEach& for_each);

}  // namespace fabricast
