#include "models/studies/decide/decide_explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/studies/decide/decide_kernels.hpp"
#include "models/studies/decide/decide_text.hpp"
#include "models/studies/decide/graph_text.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

std::string two_digits(float value) { return fmt::format("{:.2f}", value); }

std::string percent_more(float value, float than) {
  return fmt::format("{:+.1f} %", 100.0 * (static_cast<double>(value) / than - 1));
}

/// Candidates in the race, fastest first; NCCL's order where times are equal.
std::vector<const Candidate*> race(const TunerDecision& decision) {
  std::vector<const Candidate*> out;
  for (const Candidate& one : decision.candidates) {
    if (one.excluded.empty()) out.push_back(&one);
  }
  std::ranges::stable_sort(out, {}, [](const Candidate* one) { return one->time_us; });
  return out;
}

std::string race_text(const DecideRow& row) {
  const std::vector<const Candidate*> candidates = race(row.decision);
  if (candidates.empty()) return {};
  TextTable table("  ");
  for (std::size_t column = 1; column <= 4; ++column) table.align_right(column);
  table.add({"", "latency us", "bandwidth us", "total us", "algbw GB/s", "against the winner"});
  for (const Candidate* one : candidates) {
    const bool is_plugged = !row.decision.plugin.empty();
    const bool wins = is_plugged ? one->algorithm == row.decision.algorithm &&
                                       one->protocol == row.decision.protocol
                                 : one == candidates.front();
    std::string against = percent_more(one->time_us, candidates.front()->time_us);
    if (wins && is_plugged) {
      against = fmt::format("the tuner plugin's: {}", row.decision.plugin);
    } else if (wins) {
      against = candidates.size() == 1
                    ? "chosen: nothing else is in the race"
                    : fmt::format("chosen: {} is {} slower by this model",
                                  choice_text(candidates[1]->algorithm, candidates[1]->protocol),
                                  percent_more(candidates[1]->time_us, one->time_us).substr(1));
    }
    table.add({(wins ? "> " : "  ") + choice_text(one->algorithm, one->protocol),
               two_digits(one->latency_us), two_digits(one->time_us - one->latency_us),
               two_digits(one->time_us), two_digits(one->bandwidth_GBps), against});
  }
  return table.text();
}

/// One line per reason, with all it excluded.
std::string excluded_text(const DecideRow& row) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const Candidate& one : row.decision.candidates) {
    if (one.excluded.empty()) continue;
    const std::string name = choice_text(one.algorithm, one.protocol);
    const auto known = std::ranges::find(reasons, one.excluded, [](auto& r) { return r.first; });
    if (known == reasons.end()) {
      reasons.emplace_back(one.excluded, name);
    } else {
      known->second += ", " + name;
    }
  }
  if (reasons.empty()) return {};
  TextTable table("  ");
  for (const auto& [reason, names] : reasons) table.add({names, reason});
  return "Not in the race:\n" + table.text();
}

const ChannelGraph& graph_of(const NcclGraphs& graphs, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return graphs.tree;
    case Algorithm::collnet_direct:
      return graphs.collnet_direct;
    case Algorithm::collnet_chain:
      return graphs.collnet_chain;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return graphs.nvls;
    case Algorithm::ring:
    case Algorithm::pat:
      break;
  }
  return graphs.ring;
}

std::string graph_text(const NcclCommunicator& made, Algorithm algorithm) {
  const ChannelGraph& graph = graph_of(made.graphs, algorithm);
  return fmt::format("Ways in each node, which the communicator's channels take in turn:\n  {}\n{}",
                     pattern_text(graph), channels_text(graph, "  "));
}

/// How channels, threads and chunk follow from the size.
std::string plan_text(const NcclCommunicator& made, const DecideRow& row) {
  const TuningModel& model = made.model;
  const std::size_t a = index_of(*row.decision.algorithm), p = index_of(row.decision.protocol);
  std::string out = fmt::format("channels  {} ", row.decision.channels);
  out += row.decision.plugin_counts ? "as the tuner plugin says"
         : is_nvls(*row.decision.algorithm)
             ? "of NVLS's own, whatever the size"
             : fmt::format("of {}: as many as give each thread {} B or more",
                           model.input.channels.of_ring_and_tree(model.input.version),
                           model.bytes_per_thread[a][p]);
  out += fmt::format("; {} {} work\n", row.channels, row.channels == 1 ? "gets" : "get");
  out += fmt::format("threads   {} a channel; no more than {} move data\n", row.threads,
                     model.threads_max[a][p]);
  const BufferSizes& buffers = model.input.settings.buffers;
  out += fmt::format("chunk     {} ({} B) of data; a buffer of {} is {} slots\n",
                     chunk_text(Bytes{row.chunk_bytes}), row.chunk_bytes,
                     to_text(buffers.of(row.decision.protocol)), kConnectionSlots);
  return out;
}

std::string summary(const DecideRow& row) {
  if (!row.decision.algorithm) return "NCCL refuses the call";
  return fmt::format("{}, {} x {} threads, chunk {}, {} us",
                     choice_text(row.decision.algorithm, row.decision.protocol),
                     counted(row.channels, "channel"), row.threads,
                     chunk_text(Bytes{row.chunk_bytes}), two_digits(row.decision.time_us));
}

std::string effect_text(const VariableEffect& effect, const DecideRow& row) {
  if (effect.acts_on(row))
    return "acts; without it: " + (effect.without ? summary(*effect.without) : effect.problem);
  if (effect.changes_ways) return "acts on the simulated time, not on the choice";
  return "changes nothing for this call";
}

std::string effects_text(const std::vector<VariableEffect>& effects, const DecideRow& row) {
  std::string out;
  for (const VariableEffect& effect : effects)
    out += fmt::format("{}={}  {}\n", effect.name, effect.value, effect_text(effect, row));
  return out;
}

}  // namespace

std::string explain_text(const DecideResult& result) {
  std::string out;
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      if (!out.empty()) out += '\n';
      out += fmt::format("{} {}\n{}\n", to_text(row.requested),
                         decide_head(result, block, row.collective), summary(row));
      out += "\n" + race_text(row) + excluded_text(row);
      if (row.decision.algorithm)
        out += "\n" + plan_text(block.communicator, row) + "\n" +
               graph_text(block.communicator, *row.decision.algorithm);
      if (const std::string kernels = kernels_text(result.config, {&row}); !kernels.empty())
        out += "\n" + kernels;
      if (block.effects.empty()) continue;
      const std::string effects =
          effects_text(block.effects[static_cast<std::size_t>(&row - block.rows.data())], row);
      if (!effects.empty()) out += "\n" + effects;
    }
  }
  for (const std::string& note : result.notes) out += fmt::format("note: {}\n", note);
  return out;
}

}  // namespace fabricast
