#include <fmt/format.h>

#include <algorithm>

#include "models/io/tuners/tuner_csv.hpp"
#include "models/studies/upgrade/upgrade_parts.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

/// Losses below this are not worth a setting, and what gives back less than half of a loss is no
/// remedy.
constexpr double kWorthwhile = 0.03, kShare = 0.5;
/// Of each target, so many of the largest losses are tried.
constexpr int kTried = 3;

class RemedySearch {
 public:
  RemedySearch(const UpgradeConfig& config, const PartsCatalogue& parts,
               const UpgradeChange& change)
      : config_(config),
        parts_(parts),
        target_(config.targets[change.target]),
        change_(change),
        stretch_(change.worst()),
        best_us_(stretch_.after_us - kShare * (stretch_.after_us - stretch_.before_us)) {}

  std::optional<UpgradeRemedy> find() {
    const UpgradeSite after(target_.at(config_.to), stretch_.nodes, parts_);
    const UpgradeSite before(target_.at(config_.from), stretch_.nodes, parts_);
    try_tuner(after);
    for (const std::string& set : settings(before, after)) try_setting(set, after);
    return best_;
  }

 private:
  /// The choice of old, call by call.
  void try_tuner(const UpgradeSite& after) {
    const CallKey& old = stretch_.before;
    if (!change_.difference.choice || !old.algorithm) return;
    const double time =
        after.time_us(change_.collective, stretch_.size, *old.algorithm, old.protocol);
    if (time == 0 || time > best_us_) return;
    TunerRule rule{change_.collective, stretch_.first.count, stretch_.last.count, *old.algorithm,
                   old.protocol,       old.channels,         stretch_.nodes,      stretch_.ranks};
    best_us_ = time;
    best_ = {tuner_csv_line(rule), true, time};
  }

  /// What may change this stage back.
  std::vector<std::string> settings(const UpgradeSite& before, const UpgradeSite& after) const {
    const UpgradeStage stage = change_.cause.stage;
    std::vector<std::string> out;
    if (before.channels() > after.channels())
      out.push_back(fmt::format("NCCL_MIN_NCHANNELS={}", before.channels()));
    if (before.channels() < after.channels())
      out.push_back(fmt::format("NCCL_MAX_NCHANNELS={}", before.channels()));
    if (stage == UpgradeStage::search || stage == UpgradeStage::channels) {
      for (const char* one :
           {"NCCL_P2P_LEVEL=SYS", "NCCL_P2P_LEVEL=PHB", "NCCL_NET_GDR_LEVEL=PHB",
            "NCCL_NET_GDR_LEVEL=SYS", "NCCL_CROSS_NIC=1", "NCCL_CROSS_NIC=0", "NCCL_PXN_DISABLE=1"})
        out.emplace_back(one);
      if (config_.to >= kNccl2_27) out.emplace_back("NCCL_PXN_C2C=0");
      if (config_.to >= kNccl2_26)
        out.emplace_back(config_.to >= kNccl2_27 ? "NCCL_NET_GDR_C2C=0" : "NCCL_NET_GDR_C2C=1");
      if (config_.to >= kNccl2_28) out.emplace_back("NCCL_NETDEVS_POLICY=ALL");
    }
    if (change_.difference.choice && stretch_.after.algorithm) {
      out.push_back(fmt::format("NCCL_ALGO=^{}", to_text(*stretch_.after.algorithm)));
      if (speaks(*stretch_.after.algorithm, Protocol::ll))
        out.push_back(fmt::format("NCCL_PROTO=^{}", to_text(stretch_.after.protocol)));
      out.emplace_back("NCCL_PROTO=LL,LL128,Simple");
    }
    return out;
  }

  void try_setting(const std::string& set, const UpgradeSite& after) {
    Job job = target_.at(config_.to);
    const std::string name = set.substr(0, set.find('='));
    if (job.environment.get(name)) return;  // the user's word stands
    job.environment.set(set);
    try {
      const UpgradeSite site(job, stretch_.nodes, parts_);
      const CallKey key = site.key(change_.collective, stretch_.size);
      if (!key.algorithm) return;
      const bool same_ways = site.ways(*key.algorithm) == after.ways(*key.algorithm);
      if (!difference(key, stretch_.after, same_ways).any()) return;
      const double time = site.time_us(change_.collective, stretch_.size);
      // A line for one call beats a setting for all, unless that gives much more.
      const bool is_better = best_ ? time < best_->time_us * 0.98 : time <= best_us_;
      if (!is_better) return;
      best_ = {set, false, time};
    } catch (const Error&) {
      return;  // NCCL would refuse it here
    }
  }

  const UpgradeConfig& config_;
  const PartsCatalogue& parts_;
  const UpgradeTarget& target_;
  const UpgradeChange& change_;
  const UpgradeStretch& stretch_;
  double best_us_;
  std::optional<UpgradeRemedy> best_;
};

}  // namespace

void find_remedies(const UpgradeConfig& config, const PartsCatalogue& parts,
                   const ForEach& for_each, std::vector<UpgradeChange>& changes) {
  std::vector<UpgradeChange*> tried;
  std::vector<int> of_target(config.targets.size());
  for (UpgradeChange& change : changes) {
    if (change.worst().change() < kWorthwhile || of_target[change.target] == kTried) continue;
    ++of_target[change.target];
    tried.push_back(&change);
  }
  for_each(tried.size(), [&](std::size_t i) {
    tried[i]->remedy = RemedySearch(config, parts, *tried[i]).find();
  });
}

}  // namespace fabricast
