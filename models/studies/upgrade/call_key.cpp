#include "models/studies/upgrade/call_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/nccl/tuner/call_plan.hpp"

namespace fabricast {

std::string CallKey::choice() const {
  if (!algorithm) return "refused";
  const bool has_protocols = speaks(*algorithm, Protocol::ll);
  return has_protocols ? fmt::format("{} {}", to_text(*algorithm), to_text(protocol))
                       : std::string(to_text(*algorithm));
}

std::string CallDifference::text() const {
  std::vector<std::string_view> words;
  if (choice) words.emplace_back("choice");
  if (channels) words.emplace_back("channels");
  if (threads) words.emplace_back("threads");
  if (chunk) words.emplace_back("chunk");
  if (ways) words.emplace_back("NICs");
  return fmt::format("{}", fmt::join(words, ", "));
}

CallDifference difference(const CallKey& a, const CallKey& b, bool same_ways) {
  CallDifference out;
  out.choice = a.algorithm != b.algorithm || (a.algorithm && a.protocol != b.protocol);
  if (out.choice || !a.algorithm) return out;
  out.channels = a.channels != b.channels;
  out.threads = a.threads != b.threads;
  out.chunk = a.chunk_bytes != b.chunk_bytes;
  out.ways = !same_ways;
  return out;
}

CallKey call_key(const TuningModel& model, Collective collective, std::int64_t count) {
  const Bytes size = message_size(collective, count, kCallElementBytes, model.input.ranks);
  const TunerDecision decision = decide(model, collective, size);
  CallKey out;
  out.algorithm = decision.algorithm;
  out.estimate_us = decision.time_us;
  if (!decision.algorithm) return out;
  const CallPlan plan = call_plan(split_of(model, collective, count, kCallElementBytes, decision));
  out.protocol = decision.protocol;
  out.channels = plan.channels;
  out.threads = decision.threads;
  out.chunk_bytes = plan.chunk.count;
  return out;
}

std::string ways_of(const TunerInput& input, Algorithm algorithm) {
  const ChannelGraph& graph = graph_of(input, algorithm);
  std::vector<std::pair<int, int>> nics;
  for (const GraphChannel& channel : graph.channels)
    nics.emplace_back(channel.net_in, channel.net_out);
  std::ranges::sort(nics);
  std::string out =
      fmt::format("{} {:g} {:g} {} {}", graph.channel_count(), graph.bw_intra, graph.bw_inter,
                  to_text(graph.type_intra), to_text(graph.type_inter));
  if (input.nodes == 1) return out;
  for (const auto& [in, back] : nics) out += fmt::format(" {}-{}", in, back);
  return out;
}

}  // namespace fabricast
