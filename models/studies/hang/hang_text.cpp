#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/studies/hang/hang.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

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

std::string call_text(const RankCall& call) {
  const std::string what =
      call.peer >= 0
          ? fmt::format("{} {} rank {}", call.op, call.op == "recv" ? "from" : "to", call.peer)
          : fmt::format("{} on {}", call.op, call.group);
  return call.elements ? fmt::format("{} ({} elements)", what, *call.elements) : what;
}

/// Ranks that wait at the same call stand together.
struct Waiting {
  const StuckRank* first = nullptr;
  std::vector<int> ranks;
};
std::vector<Waiting> places(const HangResult& result) {
  std::vector<Waiting> out;
  for (const StuckRank& stuck : result.stuck) {
    const auto same = std::ranges::find_if(out, [&](const Waiting& place) {
      const StuckRank& first = *place.first;
      return first.there == stuck.there && first.waits_for == stuck.waits_for &&
             call_text(first.call) == call_text(stuck.call);
    });
    if (same == out.end()) {
      out.push_back({&stuck, {stuck.rank}});
    } else {
      same->ranks.push_back(stuck.rank);
    }
  }
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

std::string causes_text(const HangResult& result) {
  std::string out;
  // Of equal ones the first.
  std::map<std::set<std::string>, int> pairs;
  const auto key = [](const Mismatch& mismatch) {
    return std::set{call_text(mismatch.one), call_text(mismatch.other)};
  };
  for (const Mismatch& mismatch : result.mismatches) ++pairs[key(mismatch)];
  for (const Mismatch& mismatch : result.mismatches) {
    int& count = pairs[key(mismatch)];
    if (count == 0) continue;
    const int more = std::exchange(count, 0) - 1;
    out += fmt::format(
        "  rank {} calls {} (line {}), rank {} {} (line {}): they meet and do not "
        "fit{}\n",
        mismatch.one.rank, call_text(mismatch.one), mismatch.one.line, mismatch.other.rank,
        call_text(mismatch.other), mismatch.other.line,
        more > 0 ? fmt::format("; so do {}", counted(more, "more pair")) : "");
  }
  for (const EndedRank& ended : result.ended) {
    out += fmt::format("  rank {} {} after {}\n", ended.rank,
                       ended.why.empty() ? "makes no further call" : "ended (" + ended.why + ")",
                       counted(ended.calls, "call"));
  }
  if (!result.cycle.empty()) {
    std::map<int, const StuckRank*> stuck;
    for (const StuckRank& rank : result.stuck) stuck[rank.rank] = &rank;
    out += "  a cycle:";
    for (std::size_t i = 0; i < result.cycle.size(); ++i) {
      const int rank = result.cycle[i], next = result.cycle[(i + 1) % result.cycle.size()];
      out += fmt::format("{} rank {} in {} waits for rank {}", i > 0 ? "," : "", rank,
                         call_text(stuck.at(rank)->call), next);
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string hang_text(const HangResult& result, double timeout_s) {
  std::string out = fmt::format("fabricast hang: {}, {}: ", counted(result.ranks, "rank"),
                                counted(result.calls, "call"));
  if (!result.hangs()) return out + fmt::format("all {} meet, nobody waits\n", result.met);
  out += fmt::format("{} met, then {} cannot go on\n\n", result.met,
                     counted(std::ssize(result.stuck), "rank"));
  for (const Waiting& place : places(result)) {
    const StuckRank& first = *place.first;
    const bool several = place.ranks.size() > 1;
    out += fmt::format("  rank{} {} wait{} in {}, call {} (line {})", several ? "s" : "",
                       ranks_text(place.ranks), several ? "" : "s", call_text(first.call),
                       first.number, first.call.line);
    out += first.waits_for.empty() ? "\n" : fmt::format(" for {}\n", ranks_text(first.waits_for));
  }
  return out + "\nBecause\n" + causes_text(result) + watchdog_text(result, timeout_s);
}

}  // namespace fabricast
