#include "models/studies/skew/match_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "models/io/imports/collective_word.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kGroupMax = 1 << 20;

bool is_message(const std::string& collective) {
  const std::string word = collective_word(collective);
  return word == "sendrecv" || word.find("send") != std::string::npos ||
         word.find("recv") != std::string::npos;
}

/// The step that launched it; nothing where none did.
const RankStep* step_of(const RankTrace& trace, const RankCollective& one) {
  auto at = std::ranges::upper_bound(trace.steps, one.launched_ns, {}, &RankStep::start_ns);
  if (at == trace.steps.begin()) return nullptr;
  --at;
  return one.launched_ns < at->end_ns ? &*at : nullptr;
}

std::vector<int> common_steps(const std::vector<RankTrace>& traces, MatchedCalls& out) {
  std::map<int, std::size_t> seen;
  for (const RankTrace& trace : traces) {
    std::set<int> numbers;
    for (const RankStep& step : trace.steps) numbers.insert(step.number);
    for (const int number : numbers) ++seen[number];
  }
  std::vector<int> all;
  for (const auto& [number, count] : seen)
    if (count == traces.size()) all.push_back(number);
  for (const RankTrace& trace : traces) {
    std::vector<int> lacks;
    for (const auto& [number, count] : seen)
      if (std::ranges::find(trace.steps, number, &RankStep::number) == trace.steps.end())
        lacks.push_back(number);
    if (!lacks.empty() && !all.empty())
      out.notes.push_back(fmt::format("{} lacks step{} {}: not compared.", trace.file,
                                      lacks.size() > 1 ? "s" : "", fmt::join(lacks, ", ")));
  }
  if (all.empty() && !seen.empty())
    out.notes.emplace_back("no step (ProfilerStep) is in all traces: calls are matched by order.");
  if (all.empty()) all.push_back(0);
  return all;
}

}  // namespace

bool ends_together(const std::string& collective) {
  static constexpr std::string_view kWords[] = {"all_reduce", "all_gather", "reduce_scatter",
                                                "alltoall"};
  return std::ranges::find(kWords, collective_word(collective)) != std::end(kWords);
}

std::vector<int> ranks_of_group(const std::string& text, int size) {
  std::string_view inside = text;
  if (!inside.starts_with('[') || !inside.ends_with(']') || size < 1 || size > kGroupMax) return {};
  inside = inside.substr(1, inside.size() - 2);
  std::vector<int> out;
  bool cut = false;
  for (const std::string_view item : comma_items(inside)) {
    if (item == "...") {
      cut = true;
      continue;
    }
    const auto rank = to_number<int>(item);
    if (!rank || *rank < 0 || *rank >= kGroupMax) return {};
    out.push_back(*rank);
  }
  if (!cut) return std::ssize(out) == size ? out : std::vector<int>{};
  if (out.size() < 3) return {};
  const int stride = out[1] - out[0];
  for (std::size_t i = 2; i + 1 < out.size(); ++i)
    if (out[i] - out[i - 1] != stride) return {};
  if (stride < 1 || out.back() != out.front() + (size - 1) * stride) return {};
  const int first = out.front();
  out.clear();
  for (int i = 0; i < size; ++i) out.push_back(first + i * stride);
  return out;
}

MatchedCalls match_calls(const std::vector<RankTrace>& traces) {
  MatchedCalls out;
  out.steps = common_steps(traces, out);
  const bool has_steps = out.steps != std::vector<int>{0};
  const bool has_seq = std::ranges::all_of(traces, [](const RankTrace& trace) {
    return std::ranges::all_of(trace.collectives,
                               [](const RankCollective& one) { return one.seq >= 0; });
  });
  /// Group, then step (0 with numbers), then number.
  using Key = std::tuple<std::string, std::string, int, int, std::int64_t>;
  std::map<Key, MatchedCall> found;
  for (std::size_t rank = 0; rank < traces.size(); ++rank) {
    std::map<Key, std::int64_t> counts;
    for (std::size_t i = 0; i < traces[rank].collectives.size(); ++i) {
      const RankCollective& one = traces[rank].collectives[i];
      if (is_message(one.collective)) {
        ++out.messages;
        continue;
      }
      const RankStep* const step = has_steps ? step_of(traces[rank], one) : nullptr;
      const bool inside =
          !has_steps || (step != nullptr && std::ranges::binary_search(out.steps, step->number));
      if (!inside) {
        ++out.outside;
        continue;
      }
      const int number = step == nullptr ? 0 : step->number;
      Key key(one.group.empty() ? one.description : one.group, one.ranks, one.group_size,
              has_seq ? 0 : number, 0);
      std::get<4>(key) = has_seq ? one.seq : counts[key]++;
      MatchedCall& call = found[key];
      call.step = number;
      if (call.ranks.empty() || call.ranks.back().rank != static_cast<int>(rank))
        call.ranks.push_back({static_cast<int>(rank), i});
    }
  }
  for (auto& [key, call] : found) {
    const auto& first = traces[static_cast<std::size_t>(call.ranks.front().rank)]
                            .collectives[call.ranks.front().collective];
    const bool alike = std::ranges::all_of(call.ranks, [&](const MatchedRank& one) {
      const auto& other = traces[static_cast<std::size_t>(one.rank)].collectives[one.collective];
      return other.collective == first.collective && other.dtype == first.dtype &&
             (other.in_elements == first.in_elements || !ends_together(first.collective) ||
              collective_word(first.collective) == "alltoall");
    });
    const int size = first.group_size;
    if (!alike) {
      ++out.unlike;
    } else if (call.ranks.size() < 2) {
      if (size != 1) ++out.alone;
    } else if (size > 0 && std::ssize(call.ranks) > size) {
      ++out.unlike;  // groups of one name that nothing tells apart
    } else {
      call.is_whole = size == 0 || std::ssize(call.ranks) == size;
      out.calls.push_back(std::move(call));
    }
  }
  return out;
}

}  // namespace fabricast
