#include "models/studies/hang/hang.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "text/enum_words.hpp"

namespace fabricast {

namespace {

/// The group of a call; "a -> b" of a message.
std::string way_of(const RankCall& call) {
  if (call.peer < 0) return call.group;
  const bool sends = call.op != "recv";
  return std::to_string(sends ? call.rank : call.peer) + " -> " +
         std::to_string(sends ? call.peer : call.rank);
}

/// A call with the number of its way.
struct WayCall {
  const RankCall* call = nullptr;
  int way = 0;
};

/// Calls of a rank that are made one after another.
struct Lane {
  std::vector<WayCall> calls;
  std::size_t at = 0;
  long long passed = -1;  ///< sequence of the last one that completed
  const WayCall* head() const { return at < calls.size() ? &calls[at] : nullptr; }
};

class Walk {
 public:
  explicit Walk(const std::vector<RankCall>& calls, const RecordedJob* job = nullptr) : job_(job) {
    for (const RankCall& call : calls) {
      ranks_[call.rank];
      if (!call.end.empty()) {
        ends_[call.rank] = call.end;
        continue;
      }
      const auto [at, is_new] = ways_.try_emplace(way_of(call), static_cast<int>(ways_.size()));
      if (is_new) groups_.emplace_back();
      if (call.peer < 0) name_members(call, groups_[static_cast<std::size_t>(at->second)]);
      lanes_[key_of(call.rank, at->second)].calls.push_back({&call, at->second});
      ++ranks_[call.rank];
      last_[call.rank] = &call;
      ++result_.calls;
    }
    heads_.resize(ways_.size());
    for (const auto& [key, lane] : lanes_) ++heads_[static_cast<std::size_t>(lane.head()->way)];
  }

  HangResult run() {
    std::set<Key> ready;
    for (const auto& [key, lane] : lanes_) ready.insert(key);
    while (!ready.empty()) {
      const Key key = *ready.begin();
      ready.erase(ready.begin());
      const auto found = lanes_.find(key);
      if (found == lanes_.end() || found->second.head() == nullptr) continue;
      Lane& lane = found->second;
      const auto [call, way] = *lane.head();
      if (call->state == CallState::completed) {
        lane.passed = std::max(lane.passed, call->sequence.value_or(-1));
        advance(lane);
        ready.insert(key);
      } else if (call->state != CallState::called) {
        continue;  // it was recorded: this far, and no further
      } else if (call->op == "isend") {
        posted_[way].push_back(call);
        advance(lane);
        ready.insert({key, key_of(call->peer, way)});
      } else if (takes_posted(*call, way)) {
        ++sequences_[{call->rank, way}];
        ++result_.met;
        advance(lane);
        ready.insert(key);
      } else if (all_there(*call, way)) {
        for (const int member : members_of(*call, way)) {
          const Key other = key_of(member, way);
          advance(lanes_.at(other));
          ++sequences_[{member, way}];
          ready.insert(other);
        }
        ++result_.met;
      }
    }
    tell();
    return std::move(result_);
  }

 private:
  using Key = std::pair<int, int>;  ///< of a lane: rank; way, or -1 where a rank has one lane

  struct Group {
    std::set<int> named;
    std::vector<int> members;                ///< the same, once they are asked for
    const std::vector<int>* last = nullptr;  ///< whose members were named last
  };

  Key key_of(int rank, int way) const { return {rank, job_ != nullptr ? way : -1}; }

  void name_members(const RankCall& call, Group& group) {
    group.named.insert(call.rank);
    if (group.last != nullptr && *group.last == call.members) return;
    group.named.insert(call.members.begin(), call.members.end());
    group.last = &call.members;
    if (job_ == nullptr) return;
    const auto known = job_->groups.find(call.group);
    if (known != job_->groups.end()) group.named.insert(known->second.begin(), known->second.end());
  }

  /// A copy only of two: the ends of a message.
  const std::vector<int>& members_of(const RankCall& call, int way) {
    if (call.peer >= 0) {
      ends_of_message_ = {call.rank, call.peer};
      return ends_of_message_;
    }
    if (!call.members.empty()) return call.members;
    Group& group = groups_[static_cast<std::size_t>(way)];
    if (group.members.empty()) group.members.assign(group.named.begin(), group.named.end());
    return group.members;
  }

  void advance(Lane& lane) {
    --heads_[static_cast<std::size_t>(lane.head()->way)];
    ++lane.at;
    if (lane.head() != nullptr) ++heads_[static_cast<std::size_t>(lane.head()->way)];
  }

  /// A receive whose send was posted before.
  bool takes_posted(const RankCall& call, int way) {
    if (call.op != "recv") return false;
    const auto posted = posted_.find(way);
    if (posted == posted_.end() || posted->second.empty()) return false;
    const RankCall& sent = *posted->second.front();
    if (call.elements && sent.elements && *call.elements != *sent.elements) return false;
    posted->second.pop_front();
    return true;
  }

  const RankCall* head_on(int rank, int way) const {
    const auto lane = lanes_.find(key_of(rank, way));
    if (lane == lanes_.end() || lane->second.head() == nullptr) return nullptr;
    return lane->second.head()->way == way ? lane->second.head()->call : nullptr;
  }

  /// The call of a member that is there.
  const RankCall* there(const RankCall& call, int way, int member) const {
    const RankCall* const other = head_on(member, way);
    const bool meets = other != nullptr &&
                       (!call.sequence || !other->sequence || *call.sequence == *other->sequence);
    return meets ? other : nullptr;
  }

  bool all_there(const RankCall& call, int way) {
    const std::vector<int>& members = members_of(call, way);
    if (heads_[static_cast<std::size_t>(way)] < static_cast<int>(members.size())) return false;
    return std::ranges::all_of(members, [&](int member) {
      const RankCall* const other = there(call, way, member);
      return other != nullptr && misfit(call, *other).empty();
    });
  }

  bool is_past(const RankCall& call, int way, int member) const {
    const auto lane = lanes_.find(key_of(member, way));
    return call.sequence && lane != lanes_.end() && lane->second.passed >= *call.sequence;
  }

  /// Sides of ranks that make the same call; each but the largest (of equals the first) does not
  /// fit it.
  void split(const std::vector<const RankCall*>& calls, Meeting& meeting) {
    std::vector<std::vector<const RankCall*>> sides;
    for (const RankCall* const call : calls) {
      const auto side = std::ranges::find_if(
          sides, [&](const auto& one) { return misfit(*one.front(), *call).empty(); });
      side == sides.end() ? sides.push_back({call}) : side->push_back(call);
    }
    if (sides.size() < 2) return;
    meeting.fits = false;
    const auto ranks = [](const std::vector<const RankCall*>& side) {
      std::vector<int> out;
      for (const RankCall* const call : side) out.push_back(call->rank);
      return out;
    };
    const auto main =
        std::ranges::max_element(sides, {}, [](const auto& one) { return one.size(); });
    for (auto side = sides.begin(); side != sides.end(); ++side) {
      if (side == main) continue;
      const auto& [one, other] = std::minmax(main, side);
      result_.mismatches.push_back({*one->front(), *other->front(), ranks(*one), ranks(*other),
                                    misfit(*one->front(), *other->front())});
    }
  }

  /// That of a call, made where it is the first of its meeting.
  std::size_t meeting_of(const RankCall& call, int way) {
    const std::vector<int>& members = members_of(call, way);
    auto& known = met_at_[{way, call.sequence.value_or(-1)}];
    for (const auto& [first, number] : known) {
      const std::vector<int>& others = call.peer >= 0 ? members : members_of(*first, way);
      if (&others == &members || others == members) return number;
    }
    Meeting out;
    std::vector<const RankCall*> calls;
    for (const int member : std::set(members.begin(), members.end())) {
      if (const RankCall* const other = there(call, way, member); other != nullptr) {
        out.there.push_back(member);
        calls.push_back(other);
      } else {
        (is_past(call, way, member) ? out.past : out.missing).push_back(member);
      }
    }
    // It ended for some, so all have come.
    if (!out.past.empty() && needs_everyone(call.op)) out.missing.clear();
    split(calls, out);
    known.emplace_back(&call, result_.meetings.size());
    result_.meetings.push_back(std::move(out));
    return result_.meetings.size() - 1;
  }

  void tell() {
    result_.ranks = static_cast<int>(ranks_.size());
    std::set<int> stuck, waited;
    for (const auto& [key, lane] : lanes_) {
      if (lane.head() == nullptr) continue;
      const auto [call, way] = *lane.head();
      StuckRank one;
      one.rank = key.first;
      one.call = *call;
      if (job_ == nullptr) one.number = static_cast<long long>(lane.at) + 1;
      one.sequence = call->sequence.value_or(sequences_[{key.first, way}] + 1);
      one.meeting = meeting_of(*call, way);
      stuck.insert(key.first);
      result_.stuck.push_back(std::move(one));
    }
    for (const Meeting& meeting : result_.meetings)
      waited.insert(meeting.missing.begin(), meeting.missing.end());
    for (const int rank : waited) {
      if (!stuck.contains(rank)) result_.ended.push_back(ended(rank));
    }
    find_cycle();
    if (job_ != nullptr) tell_of_record();
  }

  EndedRank ended(int rank) const {
    EndedRank out;
    out.rank = rank;
    if (const auto calls = ranks_.find(rank); calls != ranks_.end()) out.calls = calls->second;
    if (const auto why = ends_.find(rank); why != ends_.end()) out.why = why->second;
    if (job_ == nullptr) return out;
    if (const auto why = job_->remarks.find(rank); why != job_->remarks.end())
      out.why = why->second;
    if (const auto last = last_.find(rank); last != last_.end()) out.last = *last->second;
    return out;
  }

  void tell_of_record() {
    result_.recorded = true;
    result_.ranks = job_->ranks;
    result_.calls = job_->calls;
    result_.met = job_->met;
    result_.notes = job_->notes;
    result_.mismatches.insert(result_.mismatches.begin(), job_->mismatches.begin(),
                              job_->mismatches.end());
  }

  /// Whether ranks of the meeting wait for each other in a cycle, seen over meetings alone: all
  /// that are there wait for the same ones.
  bool returns_to(std::size_t start, const std::vector<std::set<std::size_t>>& next) const {
    std::set<std::size_t> seen;
    std::vector<std::size_t> open = {start};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t other : next[at]) {
        if (other == start) return true;
        if (seen.insert(other).second) open.push_back(other);
      }
    }
    return false;
  }

  /// The shortest one from the first rank that is in any.
  void find_cycle() {
    std::map<int, std::vector<std::size_t>> at;  // meetings at which a rank is stuck
    for (const StuckRank& rank : result_.stuck) at[rank.rank].push_back(rank.meeting);
    std::vector<std::set<std::size_t>> next(result_.meetings.size());
    for (std::size_t i = 0; i < next.size(); ++i) {
      for (const int rank : result_.meetings[i].missing) {
        if (const auto other = at.find(rank); other != at.end())
          next[i].insert(other->second.begin(), other->second.end());
      }
    }
    for (const StuckRank& start : result_.stuck) {
      if (next[start.meeting].empty() || !returns_to(start.meeting, next)) {
        next[start.meeting].clear();
        continue;
      }
      if (keep_cycle(start, at)) return;
    }
  }

  bool keep_cycle(const StuckRank& start, const std::map<int, std::vector<std::size_t>>& at) {
    std::map<int, int> from;
    std::vector<int> wave = {start.rank};
    while (!wave.empty()) {
      std::vector<int> next;
      for (const int rank : wave) {
        for (const std::size_t meeting : at.at(rank)) {
          for (const int other : result_.meetings[meeting].missing) {
            if (other == start.rank) {
              for (int one = rank; one != start.rank; one = from.at(one))
                result_.cycle.push_back(one);
              result_.cycle.push_back(start.rank);
              std::ranges::reverse(result_.cycle);
              return true;
            }
            if (!at.contains(other) || !from.try_emplace(other, rank).second) continue;
            next.push_back(other);
          }
        }
      }
      wave = std::move(next);
    }
    return false;
  }

  const RecordedJob* job_;
  std::map<std::string, int> ways_;
  std::vector<Group> groups_;  ///< by way
  std::map<Key, Lane> lanes_;
  std::vector<int> heads_;    ///< lanes whose next call is on this way
  std::map<int, int> ranks_;  ///< with their calls
  std::map<int, std::string> ends_;
  std::map<int, const RankCall*> last_;
  std::map<int, std::deque<const RankCall*>> posted_;  ///< sends nobody has taken, by way
  std::map<std::pair<int, int>, long long> sequences_;
  std::map<std::pair<int, long long>, std::vector<std::pair<const RankCall*, std::size_t>>> met_at_;
  std::vector<int> ends_of_message_;
  HangResult result_;
};

}  // namespace

std::string_view to_text(CallState state) {
  return enum_words<CallState>("called", "scheduled", "started", "completed")[state];
}

bool needs_everyone(std::string_view op) {
  static constexpr std::array<std::string_view, 8> kOneWay = {
      "broadcast", "reduce", "gather", "scatter", "send", "recv", "isend", "coalesced"};
  return std::ranges::find(kOneWay, op) == kOneWay.end();
}

std::string misfit(const RankCall& one, const RankCall& other) {
  std::string out;
  const auto add = [&](bool differs, std::string_view what) {
    if (differs) out += (out.empty() ? "" : " and ") + std::string(what);
  };
  const bool message = one.peer >= 0;
  add(message ? one.rank != other.rank && (one.op == "recv") == (other.op == "recv")
              : one.op != other.op,
      "operation");
  add(one.elements && other.elements && *one.elements != *other.elements, "elements");
  add(!message && !one.members.empty() && !other.members.empty() && one.members != other.members,
      "members");
  add(!one.dtype.empty() && !other.dtype.empty() && one.dtype != other.dtype, "type");
  return out;
}

HangResult find_hang(const std::vector<RankCall>& calls) { return Walk(calls).run(); }

HangResult find_hang(const std::vector<RankCall>& calls, const RecordedJob& job) {
  return Walk(calls, &job).run();
}

}  // namespace fabricast
