#include "models/studies/hang/hang.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace fabricast {

namespace {

class Walk {
 public:
  explicit Walk(const std::vector<RankCall>& calls) {
    for (const RankCall& call : calls) {
      if (call.end.empty()) {
        queues_[call.rank].push_back(&call);
        if (call.peer < 0) {
          named_[call.group].insert(call.rank);
          named_[call.group].insert(call.members.begin(), call.members.end());
        }
        ++result_.calls;
      } else {
        ends_[call.rank] = call.end;
        queues_[call.rank];
      }
    }
    for (const auto& [rank, queue] : queues_) at_[rank] = 0;
  }

  HangResult run() {
    std::set<int> ready;
    for (const auto& [rank, queue] : queues_) ready.insert(rank);
    while (!ready.empty()) {
      const int rank = *ready.begin();
      ready.erase(ready.begin());
      const RankCall* const call = head(rank);
      if (call == nullptr) continue;
      if (call->op == "isend") {
        posted_[key_of(*call)].push_back(call);
        ++at_[rank];
        ready.insert({rank, call->peer});
        continue;
      }
      if (takes_posted(*call)) {
        ready.insert(rank);
        continue;
      }
      if (!all_there(*call)) continue;
      const std::vector<int> members = members_of(*call);
      for (const int member : members) {
        ++at_[member];
        ++sequences_[{member, key_of(*call)}];
        ready.insert(member);
      }
      ++result_.met;
    }
    tell();
    return std::move(result_);
  }

 private:
  /// A receive whose send was posted before.
  bool takes_posted(const RankCall& call) {
    if (call.op != "recv") return false;
    const auto posted = posted_.find(key_of(call));
    if (posted == posted_.end() || posted->second.empty()) return false;
    const RankCall& sent = *posted->second.front();
    if (call.elements && sent.elements && *call.elements != *sent.elements) return false;
    posted->second.pop_front();
    ++at_[call.rank];
    ++sequences_[{call.rank, key_of(call)}];
    ++result_.met;
    return true;
  }

  const RankCall* head(int rank) const {
    const auto queue = queues_.find(rank);
    if (queue == queues_.end()) return nullptr;
    const std::size_t at = at_.at(rank);
    return at < queue->second.size() ? queue->second[at] : nullptr;
  }

  /// The group of a call; "a -> b" of a message.
  static std::string key_of(const RankCall& call) {
    if (call.peer < 0) return call.group;
    const bool sends = call.op != "recv";
    return std::to_string(sends ? call.rank : call.peer) + " -> " +
           std::to_string(sends ? call.peer : call.rank);
  }

  std::vector<int> members_of(const RankCall& call) const {
    if (call.peer >= 0) return {call.rank, call.peer};
    if (!call.members.empty()) return call.members;
    const std::set<int>& all = named_.at(call.group);
    return {all.begin(), all.end()};
  }

  bool meets(const RankCall& call, const RankCall* other) const {
    return other != nullptr && (other->peer < 0) == (call.peer < 0) &&
           key_of(*other) == key_of(call);
  }

  static bool fits(const RankCall& a, const RankCall& b) {
    if (a.elements && b.elements && *a.elements != *b.elements) return false;
    return a.peer >= 0 ? a.op != b.op || a.rank == b.rank : a.op == b.op;
  }

  bool all_there(const RankCall& call) const {
    for (const int member : members_of(call)) {
      const RankCall* const other = head(member);
      if (!meets(call, other) || !fits(call, *other)) return false;
    }
    return true;
  }

  void tell() {
    result_.ranks = static_cast<int>(queues_.size());
    std::set<int> waited;
    for (const auto& [rank, queue] : queues_) {
      const RankCall* const call = head(rank);
      if (call == nullptr) continue;
      StuckRank stuck;
      stuck.rank = rank;
      stuck.call = *call;
      stuck.number = static_cast<int>(at_[rank]) + 1;
      stuck.sequence = sequences_[{rank, key_of(*call)}] + 1;
      for (const int member : members_of(*call)) {
        const RankCall* const other = head(member);
        const bool here = meets(*call, other);
        (here ? stuck.there : stuck.waits_for).push_back(member);
        if (!here) waited.insert(member);
        if (here && member > rank && !fits(*call, *other))
          result_.mismatches.push_back({*call, *other});
      }
      result_.stuck.push_back(std::move(stuck));
    }
    for (const int rank : waited) {
      if (head(rank) != nullptr) continue;
      const auto why = ends_.find(rank);
      const auto queue = queues_.find(rank);
      const int calls = queue == queues_.end() ? 0 : static_cast<int>(queue->second.size());
      result_.ended.push_back({rank, calls, why == ends_.end() ? "" : why->second});
    }
    find_cycle();
  }

  /// The shortest one from the first rank that is in any.
  void find_cycle() {
    std::map<int, const StuckRank*> stuck;
    for (const StuckRank& rank : result_.stuck) stuck[rank.rank] = &rank;
    for (const StuckRank& start : result_.stuck) {
      std::map<int, int> from;
      std::vector<int> wave = {start.rank};
      while (!wave.empty()) {
        std::vector<int> next;
        for (const int rank : wave) {
          for (const int other : stuck[rank]->waits_for) {
            if (other == start.rank) return keep_cycle(start.rank, rank, from);
            if (!stuck.contains(other) || from.contains(other)) continue;
            from[other] = rank;
            next.push_back(other);
          }
        }
        wave = std::move(next);
      }
    }
  }

  void keep_cycle(int start, int last, const std::map<int, int>& from) {
    for (int rank = last; rank != start; rank = from.at(rank)) result_.cycle.push_back(rank);
    result_.cycle.push_back(start);
    std::ranges::reverse(result_.cycle);
  }

  std::map<int, std::vector<const RankCall*>> queues_;
  std::map<int, std::size_t> at_;
  std::map<int, std::string> ends_;
  std::map<std::string, std::deque<const RankCall*>> posted_;  ///< sends nobody has taken, by way
  std::map<std::string, std::set<int>> named_;
  std::map<std::pair<int, std::string>, int> sequences_;
  HangResult result_;
};

}  // namespace

HangResult find_hang(const std::vector<RankCall>& calls) { return Walk(calls).run(); }

}  // namespace fabricast
