#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/studies/hang/hang.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kPlacesMax = 24, kRangesMax = 60, kNotesMax = 20;

/// The same, of many ranges the first.
std::string short_ranks(const std::vector<int>& ranks) {
  std::string out = ranks_text(ranks);
  std::size_t at = 0;
  for (std::size_t i = 0; i < kRangesMax && at != std::string::npos; ++i)
    at = out.find(' ', at + 1);
  if (at != std::string::npos)
    out = out.substr(0, at) + fmt::format(" ... ({} in all)", ranks.size());
  return out;
}

std::string call_text(const RankCall& call) {
  const std::string what =
      call.peer >= 0
          ? fmt::format("{} {} rank {}", call.op, call.op == "recv" ? "from" : "to", call.peer)
          : fmt::format("{} on {}", call.op, call.group);
  std::string size = call.elements ? counted(*call.elements, "element") : "";
  if (!call.dtype.empty()) size += (size.empty() ? "" : " of ") + call.dtype;
  if (call.sequence) size += fmt::format("{}sequence {}", size.empty() ? "" : ", ", *call.sequence);
  return size.empty() ? what : fmt::format("{} ({})", what, size);
}

/// With its line in the trace, or the user's that made it.
std::string placed_text(const RankCall& call) {
  if (call.line > 0) return fmt::format("{} (line {})", call_text(call), call.line);
  if (call.where.empty()) return call_text(call);
  return call.sequence ? fmt::format("{} at {}", call_text(call), call.where)
                       : fmt::format("{} ({})", call_text(call), call.where);
}

/// Ranks that wait at the same call stand together.
struct Waiting {
  const StuckRank* first = nullptr;
  std::vector<int> ranks;
};
std::vector<Waiting> places(const HangResult& result) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> known;
  std::vector<Waiting> out;
  for (const StuckRank& stuck : result.stuck) {
    const auto [at, is_new] = known.try_emplace({stuck.meeting, call_text(stuck.call)}, out.size());
    if (is_new) out.push_back({&stuck, {}});
    out[at->second].ranks.push_back(stuck.rank);
  }
  if (out.size() <= kPlacesMax) return out;
  // Of many those first at which it begins: nobody there waits for one that is stuck itself.
  std::set<int> stuck;
  for (const StuckRank& one : result.stuck) stuck.insert(one.rank);
  std::stable_partition(out.begin(), out.end(), [&](const Waiting& place) {
    return std::ranges::none_of(result.of(*place.first).missing,
                                [&](int rank) { return stuck.contains(rank); });
  });
  return out;
}

std::string places_text(const HangResult& result) {
  std::string out;
  const std::vector<Waiting> all = places(result);
  for (std::size_t i = 0; i < std::min(all.size(), kPlacesMax); ++i) {
    const StuckRank& first = *all[i].first;
    const bool several = all[i].ranks.size() > 1;
    out += fmt::format("  rank{} {} wait{} in ", several ? "s" : "", short_ranks(all[i].ranks),
                       several ? "" : "s");
    out += first.number > 0 ? fmt::format("{}, call {} (line {})", call_text(first.call),
                                          first.number, first.call.line)
                            : placed_text(first.call);
    const std::vector<int>& missing = result.of(first).missing;
    out += missing.empty() ? "\n" : fmt::format(" for {}\n", short_ranks(missing));
  }
  if (all.size() > kPlacesMax)
    out += fmt::format("  and in {} more calls: --format json has all\n", all.size() - kPlacesMax);
  return out;
}

/// PyTorch's word: "all_reduce" -> "ALLREDUCE".
std::string torch_word(const std::string& op) {
  std::string out;
  for (const char c : op) {
    if (c != '_' || op.starts_with("reduce_")) out += static_cast<char>(std::toupper(c));
  }
  return out;
}

/// Who made its call first; nothing where no time is given.
const StuckRank* first_to_fire(const HangResult& result) {
  const StuckRank* first = nullptr;
  for (const StuckRank& stuck : result.stuck) {
    if (stuck.call.at_s && (first == nullptr || *stuck.call.at_s < *first->call.at_s))
      first = &stuck;
  }
  return first;
}

std::string watchdog_text(const HangResult& result, double timeout_s) {
  const StuckRank* const timed = first_to_fire(result);
  const StuckRank& fires = timed != nullptr ? *timed : result.stuck.front();
  std::string out = "\nWatchdog: ";
  out += timed != nullptr
             ? fmt::format("rank {} first, at {:g} s ({:g} s after its call)", fires.rank,
                           *fires.call.at_s + timeout_s, timeout_s)
             : fmt::format("{:g} s after the calls, on each rank that waits", timeout_s);
  const std::string numel =
      fires.call.elements ? fmt::format("NumelIn={}, ", *fires.call.elements) : "";
  return out + fmt::format(
                   "; it prints\n  [Rank {}] Watchdog caught collective operation timeout: "
                   "WorkNCCL(SeqNum={}, OpType={}, {}Timeout(ms)={:.0f})\n",
                   fires.rank, fires.sequence, torch_word(fires.call.op), numel, 1000 * timeout_s);
}

std::string mismatch_text(const Mismatch& one) {
  const auto side = [](const std::vector<int>& ranks) {
    return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", short_ranks(ranks));
  };
  return fmt::format("  {} call{} {}, {} {}: they meet and do not fit ({})\n", side(one.ranks),
                     one.ranks.size() > 1 ? "" : "s", placed_text(one.one), side(one.other_ranks),
                     placed_text(one.other), one.what);
}

/// What a rank that is waited for did last, without the rank.
std::string ended_text(const HangResult& result, const EndedRank& ended) {
  if (!result.recorded)
    return fmt::format("{} after {}",
                       ended.why.empty() ? "made no further call" : "ended (" + ended.why + ")",
                       counted(ended.calls, "call"));
  if (!ended.last) return ended.why.empty() ? "made none of the calls recorded" : ended.why;
  return fmt::format("{}; its last: {}{}", ended.why.empty() ? "made no further call" : ended.why,
                     placed_text(*ended.last),
                     ended.last->state == CallState::completed ? ", which ended" : "");
}

std::string ended_ranks_text(const HangResult& result) {
  std::vector<std::pair<std::string, std::vector<int>>> alike;
  std::map<std::string, std::size_t> known;
  for (const EndedRank& ended : result.ended) {
    const auto [at, is_new] = known.try_emplace(ended_text(result, ended), alike.size());
    if (is_new) alike.push_back({at->first, {}});
    alike[at->second].second.push_back(ended.rank);
  }
  std::string out;
  for (const auto& [text, ranks] : alike)
    out += fmt::format("  rank{} {} {}\n", ranks.size() > 1 ? "s" : "", short_ranks(ranks), text);
  return out;
}

/// Calls at which nobody is missing, yet they did not end.
std::string unfinished_text(const HangResult& result) {
  std::string out;
  std::size_t shown = 0;
  for (const Waiting& place : places(result)) {
    const Meeting& meeting = result.of(*place.first);
    if (!result.recorded || !meeting.is_unfinished() || ++shown > kPlacesMax) continue;
    const std::string_view state = to_text(place.first->call.state);
    out += meeting.past.empty()
               ? fmt::format(
                     "  {}: all {} are there ({}), and it does not end: not the order of "
                     "calls, but a GPU, a link or a process\n",
                     placed_text(place.first->call), meeting.there.size(), state)
               : fmt::format(
                     "  {}: it ended on ranks {}, not on {} ({}): their GPU, link or "
                     "process\n",
                     placed_text(place.first->call), short_ranks(meeting.past),
                     short_ranks(meeting.there), state);
  }
  return out;
}

std::string cycle_text(const HangResult& result) {
  if (result.cycle.empty()) return {};
  std::map<int, const StuckRank*> stuck;
  const auto waits_for = [&](const StuckRank& one, int rank) {
    return std::ranges::binary_search(result.of(one).missing, rank);
  };
  std::string out = "  a cycle:";
  for (std::size_t i = 0; i < result.cycle.size(); ++i) {
    const int rank = result.cycle[i], next = result.cycle[(i + 1) % result.cycle.size()];
    const auto at = std::ranges::find_if(result.stuck, [&](const StuckRank& one) {
      return one.rank == rank && waits_for(one, next);
    });
    out += fmt::format("{} rank {} in {} waits for rank {}", i > 0 ? "," : "", rank,
                       call_text(at->call), next);
  }
  return out + "\n";
}

std::string causes_text(const HangResult& result) {
  std::string out;
  for (std::size_t i = 0; i < std::min(result.mismatches.size(), kPlacesMax); ++i)
    out += mismatch_text(result.mismatches[i]);
  if (result.mismatches.size() > kPlacesMax)
    out += fmt::format("  and {} more that do not fit\n", result.mismatches.size() - kPlacesMax);
  return out + ended_ranks_text(result) + unfinished_text(result) + cycle_text(result);
}

std::string notes_text(const HangResult& result) {
  std::string out;
  for (std::size_t i = 0; i < std::min(result.notes.size(), kNotesMax); ++i)
    out += fmt::format("note: {}\n", result.notes[i]);
  if (result.notes.size() > kNotesMax)
    out +=
        fmt::format("note: and {} more: --format json has all\n", result.notes.size() - kNotesMax);
  return out;
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    words.push_back(last > i + 1 ? fmt::format("{}-{}", ranks[i], ranks[last])
                                 : fmt::format("{}", ranks[i]));
    i = last > i + 1 ? last + 1 : i + 1;
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string hang_text(const HangResult& result, double timeout_s) {
  std::string out = fmt::format("fabricast hang: {}, {}: ", counted(result.ranks, "rank"),
                                counted(result.calls, "call"));
  if (!result.hangs() && result.mismatches.empty())
    return out +
           (result.recorded ? fmt::format("all {} ended, nobody waits\n", result.met)
                            : fmt::format("all {} meet, nobody waits\n", result.met)) +
           notes_text(result);
  if (result.hangs()) {
    std::set<int> stuck;
    for (const StuckRank& one : result.stuck) stuck.insert(one.rank);
    out += fmt::format("{} {}, then {} cannot go on\n\n", result.met,
                       result.recorded ? "ended" : "met", counted(std::ssize(stuck), "rank"));
    out += places_text(result);
  } else {
    out += fmt::format("{} ended, nobody waits\n", result.met);
  }
  out += "\nBecause\n" + causes_text(result);
  if (!result.recorded) out += watchdog_text(result, timeout_s);
  const std::string notes = notes_text(result);
  return out + (notes.empty() ? "" : "\n" + notes);
}

}  // namespace fabricast
