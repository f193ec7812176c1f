#include "models/studies/upgrade/upgrade_cause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "text/counted.hpp"

namespace fabricast {

namespace {

bool same_run(const CallKey& a, const CallKey& b) { return !difference(a, b, true).any(); }

/// `to` with what the search and the channel counts of `from` gave.
TunerInput with_search_of(const TunerInput& from, TunerInput to) {
  to.ring = from.ring;
  to.tree = from.tree;
  to.collnet_direct = from.collnet_direct;
  to.collnet_chain = from.collnet_chain;
  to.nvls_graph = from.nvls_graph;
  to.nvls = from.nvls;
  to.nvls_heads = from.nvls_heads;
  to.collnet = from.collnet;
  to.collnet_chain_ok = from.collnet_chain_ok;
  to.collnet_heads = from.collnet_heads;
  to.collnet_direct_heads = from.collnet_direct_heads;
  to.nodes = from.nodes;
  return to;
}
TunerInput with_channels_of(const TunerInput& from, TunerInput to) {
  to.channels = from.channels;
  to.nvls_setup = from.nvls_setup;
  return to;
}

std::int64_t nics_of(const ChannelGraph& graph) {
  std::set<int> nics;
  for (const GraphChannel& channel : graph.channels) {
    for (const int nic : {channel.net_in, channel.net_out})
      if (nic >= 0) nics.insert(nic);
  }
  return static_cast<std::int64_t>(nics.size());
}

std::string graph_text(const TunerInput& in, Algorithm algorithm) {
  const ChannelGraph& graph = graph_of(in, algorithm);
  if (graph.channels.empty()) return "none";
  std::string out = fmt::format("{} x {:g} GB/s", graph.channel_count(),
                                in.nodes > 1 ? graph.bw_inter : graph.bw_intra);
  if (in.nodes > 1) {
    out += fmt::format(" on {} ({})", counted(nics_of(graph), "NIC"), to_text(graph.type_inter));
  } else {
    out += fmt::format(" ({})", to_text(graph.type_intra));
  }
  return out;
}

const TunedPair& pair_of(const TuningModel& model, Collective collective, const CallKey& key) {
  return model.pair(collective, *key.algorithm, key.protocol);
}

class CauseFinder {
 public:
  CauseFinder(const TuningModel& before, const TuningModel& after, Collective collective,
              std::int64_t count)
      : a_(before),
        b_(after),
        collective_(collective),
        count_(count),
        was_(call_key(before, collective, count)),
        is_(call_key(after, collective, count)) {}

  UpgradeCause find() {
    UpgradeCause out;
    out.since = b_.input.version;
    if (find_gate(out) || find_search(out) || find_channels(out)) return with_rule(out);
    out.stage = difference(was_, is_, true).choice ? UpgradeStage::model
                : was_.threads != is_.threads      ? UpgradeStage::width
                : was_.chunk_bytes != is_.chunk_bytes || was_.channels != is_.channels
                    ? UpgradeStage::split
                    : UpgradeStage::search;
    out.text = out.stage == UpgradeStage::model    ? figures_text()
               : out.stage == UpgradeStage::search ? search_text()
                                                   : width_text();
    return with_rule(out);
  }

 private:
  bool find_gate(UpgradeCause& out) const {
    if (!difference(was_, is_, true).choice) return false;
    out.stage = UpgradeStage::gate;
    if (!is_.algorithm || !was_.algorithm) {
      out.text = is_.algorithm ? "the call was refused" : "nothing is left for the call";
      return true;
    }
    const std::string& was_out = pair_of(b_, collective_, was_).excluded;
    const std::string& is_out = pair_of(a_, collective_, is_).excluded;
    if (!was_out.empty()) {
      out.text = fmt::format("{} is out: {}", was_.choice(), was_out);
    } else if (!is_out.empty()) {
      out.text = fmt::format("{} was out: {}", is_.choice(), is_out);
    }
    // A graph that was not found before, or no longer, is the search's doing.
    return !out.text.empty() && ways_of(a_.input, *is_.algorithm).front() != '0' &&
           ways_of(b_.input, *was_.algorithm).front() != '0';
  }

  CallKey with(const TunerInput& input) const {
    return call_key(tuning_model(input), collective_, count_);
  }

  bool find_search(UpgradeCause& out) const {
    const bool differ = ways_differ();
    if (!differ) return false;
    const TunerInput old_ways = with_channels_of(a_.input, with_search_of(a_.input, b_.input));
    const CallKey key = with(old_ways);
    const bool by_search = same_run(key, was_) && !same_run(key, is_);
    if (!by_search && !same_run(was_, is_)) return false;
    out.stage = UpgradeStage::search;
    out.text = search_text();
    return true;
  }

  bool ways_differ() const {
    for (const Algorithm algorithm : algorithms())
      if (ways_of(a_.input, algorithm) != ways_of(b_.input, algorithm)) return true;
    return false;
  }
  std::vector<Algorithm> algorithms() const {
    std::vector<Algorithm> out;
    for (const CallKey* key : {&was_, &is_})
      if (key->algorithm && std::ranges::find(out, *key->algorithm) == out.end())
        out.push_back(*key->algorithm);
    return out;
  }

  std::string search_text() const {
    std::string out = "the search finds";
    const char* between = " ";
    for (const Algorithm algorithm : algorithms()) {
      if (ways_of(a_.input, algorithm) == ways_of(b_.input, algorithm)) continue;
      out += fmt::format("{}{} {} instead of {}", between, to_text(algorithm),
                         graph_text(b_.input, algorithm), graph_text(a_.input, algorithm));
      between = ", ";
    }
    // Rings get no more channels than trees have.
    const bool by_tree = is_fallen_back(b_.input.tree) && !is_fallen_back(a_.input.tree);
    if (by_tree) out += "; no tree is found, which leaves rings and trees one channel";
    return out;
  }
  /// A channel in index order, at a rate that stands for none (src/graph/search.cc).
  static bool is_fallen_back(const ChannelGraph& graph) {
    return graph.channel_count() == 1 && graph.bw_intra < 0.2F;
  }

  bool find_channels(UpgradeCause& out) const {
    const TunerInput& a = a_.input;
    const TunerInput& b = b_.input;
    if (a.channels == b.channels && a.nvls_setup == b.nvls_setup) return false;
    const CallKey key = with(with_channels_of(a, b));
    if (same_run(key, is_) || difference(key, was_, true).channels) return false;
    if (difference(key, was_, true).choice && difference(was_, is_, true).choice) return false;
    out.stage = UpgradeStage::channels;
    out.text = a.channels == b.channels
                   ? fmt::format("NVLS has {} channels instead of {}", b.nvls_setup.channels,
                                 a.nvls_setup.channels)
                   : fmt::format("the communicator has {} channels instead of {}",
                                 b.channels.of_ring_and_tree(b.version),
                                 a.channels.of_ring_and_tree(a.version));
    return true;
  }

  /// What the model says of the two choices, in both releases.
  std::string figures_text() const {
    const auto one = [&](const CallKey& key) {
      const TunedPair& a = pair_of(a_, collective_, key);
      const TunedPair& b = pair_of(b_, collective_, key);
      if (a.latency_us == b.latency_us && a.bandwidth_GBps == b.bandwidth_GBps)
        return fmt::format("{} as it was ({:.3g} us + {:.3g} GB/s)", key.choice(), b.latency_us,
                           b.bandwidth_GBps);
      return fmt::format("{} {:.3g} us + {:.3g} GB/s instead of {:.3g} us + {:.3g} GB/s",
                         key.choice(), b.latency_us, b.bandwidth_GBps, a.latency_us,
                         a.bandwidth_GBps);
    };
    return fmt::format("NCCL expects of {}; of {}", one(is_), one(was_));
  }

  std::string width_text() const {
    return fmt::format("{} channels of {} threads, chunks of {} B, instead of {} of {}, {} B",
                       is_.channels, is_.threads, is_.chunk_bytes, was_.channels, was_.threads,
                       was_.chunk_bytes);
  }

  /// Going back, a rule that the newer of the two brought is there no longer.
  UpgradeCause with_rule(UpgradeCause out) const {
    const bool is_back = b_.input.version < a_.input.version;
    const NcclVersion newer = std::max(a_.input.version, b_.input.version);
    for (const RuleChangeNote* note : rule_changes(newer, out.stage, b_.input, was_, is_)) {
      out.rule +=
          (out.rule.empty() ? is_back ? "no longer: " : "" : "; ") + std::string(note->text);
      if (out.source.find(note->source) == std::string::npos)
        out.source += (out.source.empty() ? "" : ", ") + std::string(note->source);
    }
    return out;
  }

  const TuningModel& a_;
  const TuningModel& b_;
  Collective collective_;
  std::int64_t count_;
  CallKey was_, is_;
};

}  // namespace

UpgradeCause upgrade_cause(const TuningModel& before, const TuningModel& after,
                           Collective collective, std::int64_t count) {
  return CauseFinder(before, after, collective, count).find();
}

}  // namespace fabricast
