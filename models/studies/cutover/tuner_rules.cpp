#include "models/studies/cutover/tuner_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/nccl/run/period.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/cutover/cutover.hpp"
#include "models/studies/shared/site.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr double kTreeBetweenNodes = 1.8;
/// Sizes looked at: every power of two between these.
constexpr int kSmallest = 3, kLargest = 32;

/// A collective on a number of nodes.
class Column {
 public:
  Column(const Cluster& cluster, const Communicator& communicator, const SoftwareCosts& software,
         Collective collective)
      : cluster_(cluster),
        communicator_(communicator),
        software_(software),
        collective_(collective) {}

  /// Nothing where the size rounds down to no element.
  std::optional<TunerPick> pick(Bytes asked) const {
    const std::int64_t count = element_count(collective_, asked, kFloatBytes, communicator_.ranks);
    if (count == 0) return std::nullopt;
    TunerPick out;
    out.collective = collective_;
    out.nodes = communicator_.nodes;
    out.ranks = communicator_.ranks;
    out.size = message_size(collective_, count, kFloatBytes, communicator_.ranks);
    const TunerDecision own = decide(communicator_.model, collective_, out.size, kFloatBytes);
    if (!own.algorithm) return std::nullopt;
    out.algorithm = out.own_algorithm = *own.algorithm;
    out.protocol = out.own_protocol = own.protocol;
    out.channels = own.channels;
    for (const Candidate& one : own.candidates) {
      if (is_own(one, out)) out.time_us = out.own_us = time_of(one, count);
    }
    double least = out.own_us;
    for (const Candidate& one : own.candidates) {
      if (!one.excluded.empty() || is_own(one, out)) continue;
      const double time = time_of(one, count);
      const double doubted = time * doubt_of(one.algorithm, out.nodes);
      if (doubted >= least) continue;
      least = doubted;
      TunerDecision taken = own;
      take(communicator_.model, one, out.size, taken);
      out.algorithm = one.algorithm;
      out.protocol = one.protocol;
      out.channels = taken.channels;
      out.time_us = time;
    }
    return out;
  }

 private:
  static bool is_own(const Candidate& one, const TunerPick& pick) {
    return one.algorithm == pick.own_algorithm && one.protocol == pick.own_protocol;
  }

  double time_of(const Candidate& candidate, std::int64_t count) const {
    const DecidedCall call =
        decided_as(communicator_, {collective_, count, kFloatBytes, 0}, candidate);
    return microseconds_of(time_in_a_row(cluster_, software_, call.run));
  }

  const Cluster& cluster_;
  const Communicator& communicator_;
  const SoftwareCosts& software_;
  Collective collective_;
};

bool same_choice(const TunerPick& a, const TunerPick& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// Ranges that touch, from 0 to the largest number. Between two picks a choice gives way in the
/// middle of their logarithms.
void add_rules(const std::vector<TunerPick>& picks, std::vector<TunerRule>& rules) {
  std::int64_t from = 0;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const TunerPick& pick = picks[i];
    const bool last = i + 1 == picks.size();
    if (!last && same_choice(pick, picks[i + 1])) continue;
    TunerRule rule{pick.collective, from,          kAnyTunerSize, pick.algorithm,
                   pick.protocol,   pick.channels, pick.nodes,    pick.ranks};
    if (!last)
      rule.bytes_max = std::llround(std::sqrt(static_cast<double>(pick.size.count) *
                                              static_cast<double>(picks[i + 1].size.count)));
    from = last ? 0 : rule.bytes_max + 1;
    rules.push_back(rule);
  }
}

}  // namespace

double doubt_of(Algorithm algorithm, int nodes) {
  return algorithm == Algorithm::tree && nodes > 1 ? kTreeBetweenNodes : 1 + kNear;
}

bool TunerPlan::changes_something() const {
  return std::ranges::any_of(picks, [](const TunerPick& pick) { return !pick.is_own(); });
}

TunerPlan plan_tuner(const BenchConfig& config, const PartsCatalogue& parts,
                     const ForEach& for_each) {
  if (config.version < kOwnTunerSince)
    throw Error(fmt::format("no tuner plugin for NCCL {} reads a file", to_text(config.version)),
                "those for 2.21 and later do: --nccl 2.27.7");
  TunerPlan out;
  out.version = config.version;
  std::vector<int> nodes = config.nodes;
  if (nodes.empty()) nodes = {0};
  const Topology topology = topology_of(config, parts);
  for (const int n : nodes) {
    const Site site = site_of(topology, config, nodes_of(config, n));
    const Cluster& cluster = site.cluster;
    const Communicator communicator = site.make();
    for (const Collective collective : config.collectives) {
      if (!is_tuned(collective)) continue;
      const Column column(cluster, communicator, parts.software, collective);
      std::vector<std::optional<TunerPick>> found(kLargest - kSmallest + 1);
      for_each(found.size(), [&](std::size_t i) {
        found[i] = column.pick(Bytes{std::int64_t{1} << (kSmallest + static_cast<int>(i))});
      });
      std::vector<TunerPick> picks;
      for (const auto& pick : found) {
        if (pick) picks.push_back(*pick);
      }
      add_rules(picks, out.rules);
      out.picks.insert(out.picks.end(), picks.begin(), picks.end());
    }
  }
  return out;
}

std::string tuner_file(const TunerPlan& plan) {
  std::string out =
      "# For the tuner plugin of Fabricast (plugins/tuner), NCCL 2.21 and later, which leaves "
      "other\n"
      "# calls alone:\n"
      "#   export NCCL_TUNER_PLUGIN=libnccl-tuner-fabricast.so NCCL_TUNER_CONFIG_FILE=<this "
      "file>\n";
  if (plan.version >= kTunerFileSince)
    out +=
        "# Or for NCCL's example plugin, libnccl-tuner-example.so, NCCL 2.27.5 and later. Calls "
        "that no\n"
        "# line speaks of run on a single channel while that is loaded: load it for jobs of these\n"
        "# numbers of nodes and ranks and these collectives only.\n";
  for (const TunerPick& pick : plan.picks) {
    if (pick.is_own()) continue;
    out += fmt::format("# {} {}: {} {} {:.1f} us, NCCL's own {} {} {:.1f} us\n",
                       to_text(pick.collective), to_text(pick.size), to_text(pick.algorithm),
                       to_text(pick.protocol), pick.time_us, to_text(pick.own_algorithm),
                       to_text(pick.own_protocol), pick.own_us);
  }
  out +=
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  for (const TunerRule& rule : plan.rules) out += tuner_csv_line(rule) + "\n";
  return out;
}

}  // namespace fabricast
