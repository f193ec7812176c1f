#include "models/studies/hang/flight_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kKeptMax = 5'000'000;
constexpr long long kOddMax = 200'000;  // ranks that differ in calls that ended

CallState state_of(FlightEntry::State state) {
  switch (state) {
    case FlightEntry::State::scheduled:
      return CallState::scheduled;
    case FlightEntry::State::started:
      return CallState::started;
    case FlightEntry::State::completed:
      return CallState::completed;
  }
  return CallState::called;
}

}  // namespace

int FlightCalls::group_of(const FlightGroup& group) {
  const auto [at, is_new] =
      by_name_.try_emplace({group.name, group.ranks}, static_cast<int>(groups_.size()));
  if (is_new) groups_.push_back({group.name, group.description, group.ranks, {}, {}, {}, false});
  return at->second;
}

int FlightCalls::word_of(const std::string& text) {
  const auto [at, is_new] = word_numbers_.try_emplace(text, static_cast<int>(words_.size()));
  if (is_new) words_.push_back(text);
  return at->second;
}

void FlightCalls::end(Group& group, const Number& number, int rank, const Same& same) {
  const auto [at, is_new] = group.ended.try_emplace(number, Ended{same, rank, {}});
  if (is_new || at->second.same == same || odd_ >= kOddMax) return;
  at->second.others.emplace_back(rank, same);
  ++odd_;
}

void FlightCalls::add(int rank, const FlightDump& dump) {
  ranks_.insert(rank);
  versions_.insert(dump.version);
  passed_over_ += dump.passed_over;
  calls_ += std::ssize(dump.entries);
  std::vector<int> groups, words;
  for (const FlightGroup& group : dump.groups) groups.push_back(group_of(group));
  for (const std::string& word : dump.words) words.push_back(word_of(word));
  struct Of {
    Number last{-1, 0};                  ///< of collectives
    const FlightEntry* ended = nullptr;  ///< the last one that did
    Number ended_number;
  };
  std::vector<Of> of(groups.size());
  std::vector<std::pair<const FlightEntry*, int>> kept;
  for (const FlightEntry& entry : dump.entries) {
    if (entry.created_ns > 0 && (first_ns_ == 0 || entry.created_ns < first_ns_))
      first_ns_ = entry.created_ns;
    Of& one = of[entry.group];
    Group& group = groups_[static_cast<std::size_t>(groups[entry.group])];
    if (group.ranks.empty()) group.users.insert(rank);
    const bool is_ended = entry.state == FlightEntry::State::completed;
    if (entry.is_message()) {
      if (!is_ended) kept.emplace_back(&entry, 0);
      continue;
    }
    one.last = {entry.sequence, one.last.first == entry.sequence ? one.last.second + 1 : 0};
    if (!is_ended) {
      kept.emplace_back(&entry, one.last.second);
      continue;
    }
    one.ended = &entry;
    end(group, one.last, rank, {words[entry.op], words[entry.dtype], entry.elements});
  }
  for (const Of& one : of) {
    if (one.ended != nullptr) kept.emplace_back(one.ended, 0);
  }
  std::ranges::stable_sort(kept, {}, [](const auto& one) { return one.first->record; });
  for (const auto& [entry, part] : kept)
    kept_.push_back({rank,
                     groups[entry->group],
                     words[entry->where],
                     {words[entry->op], words[entry->dtype], entry->elements},
                     *entry});
  if (kept_.size() > kKeptMax)
    throw Error(fmt::format("more than {} calls that did not end", kKeptMax),
                "give the dumps of fewer ranks");
}

/// A label for each group, one for all ranks: its description, with its first rank where several
/// groups have it.
void FlightCalls::name_groups() {
  std::map<std::string, std::map<int, int>> in_name;  // rank -> a group of that name
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (const int rank : groups_[i].ranks) {
      const auto [at, is_new] = in_name[groups_[i].name].try_emplace(rank, static_cast<int>(i));
      if (is_new) continue;
      groups_[i].disputed = true;
      groups_[static_cast<std::size_t>(at->second)].disputed = true;
    }
  }
  std::map<std::string, std::set<std::string>> names;          // of a label
  std::map<std::pair<std::string, std::string>, int> several;  // groups of a label and a name
  for (Group& group : groups_) {
    const bool described = !group.description.empty() && group.description != "undefined";
    group.label = described ? group.description : "group " + group.name;
    names[group.label].insert(group.name);
    ++several[{group.label, group.name}];
  }
  for (Group& group : groups_) {
    const int alike = several[{group.label, group.name}];
    const bool ambiguous = names[group.label].size() > 1;
    if (ambiguous) group.label += fmt::format(" (group {})", group.name);
    if (alike > 1 && !group.disputed && !group.ranks.empty())
      group.label += fmt::format(" of {}", group.ranks.front());
  }
}

RankCall FlightCalls::call_of(const Kept& kept) const {
  const Group& group = groups_[static_cast<std::size_t>(kept.group)];
  const FlightEntry& entry = kept.entry;
  RankCall out;
  out.rank = kept.rank;
  out.op = words_[static_cast<std::size_t>(kept.same.op)];
  out.group = group.label;
  out.dtype = words_[static_cast<std::size_t>(kept.same.dtype)];
  if (kept.same.elements >= 0) out.elements = kept.same.elements;
  out.state = state_of(entry.state);
  out.where = words_[static_cast<std::size_t>(kept.where)];
  if (entry.created_ns > 0) out.at_s = static_cast<double>(entry.created_ns - first_ns_) / 1e9;
  if (entry.is_message()) {
    const int peer = out.op == "recv" ? entry.from : entry.to;
    const bool known = peer < std::ssize(group.ranks);
    out.peer = known ? group.ranks[static_cast<std::size_t>(peer)] : peer;
    return out;
  }
  out.sequence = entry.sequence;
  if (group.disputed) out.members = group.ranks;
  return out;
}

/// Calls that ended and were not the same on all ranks: what they wrote may be wrong.
void FlightCalls::compare_ended(RecordedCalls& out) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (const auto& [number, ended] : groups_[i].ended) {
      ++out.job.met;
      if (ended.others.empty()) continue;
      const auto call = [&, sequence = number.first](int rank, const Same& same) {
        Kept kept{rank, static_cast<int>(i), 0, same, {}};
        kept.entry.sequence = sequence;
        kept.entry.state = FlightEntry::State::completed;
        return call_of(kept);
      };
      std::vector<std::pair<Same, std::vector<int>>> sides;
      std::set<int> odd;
      for (const auto& [rank, same] : ended.others) {
        const auto side = std::ranges::find(sides, same, &decltype(sides)::value_type::first);
        side == sides.end() ? sides.push_back({same, {rank}}) : side->second.push_back(rank);
        odd.insert(rank);
      }
      std::vector<int> rest;
      const Group& group = groups_[i];
      for (const int rank : group.ranks.empty()
                                ? std::vector(group.users.begin(), group.users.end())
                                : group.ranks) {
        if (!odd.contains(rank) && ranks_.contains(rank)) rest.push_back(rank);
      }
      for (const auto& [same, ranks] : sides) {
        const RankCall one = call(ended.rank, ended.same), other = call(ranks.front(), same);
        const std::string what = misfit(one, other);
        if (!what.empty()) out.job.mismatches.push_back({one, other, rest, ranks, what});
      }
    }
  }
}

RecordedCalls FlightCalls::finish() {
  RecordedCalls out;
  name_groups();
  for (const Kept& kept : kept_) {
    RankCall call = call_of(kept);
    if (call.peer == call.rank) {
      ++passed_over_;
    } else {
      out.calls.push_back(std::move(call));
    }
  }
  std::set<int> without;
  for (const Group& group : groups_) {
    if (!group.disputed && !group.ranks.empty()) out.job.groups[group.label] = group.ranks;
    for (const int rank : group.ranks) {
      if (!ranks_.contains(rank) && !unread_.contains(rank)) without.insert(rank);
    }
  }
  for (const int rank : without) unread_[rank] = "left no dump: nothing is known of it";
  if (!without.empty())
    out.job.notes.push_back(fmt::format("no dump of {} {}", without.size() > 1 ? "ranks" : "rank",
                                        ranks_text({without.begin(), without.end()})));
  out.job.remarks = unread_;
  out.job.ranks = static_cast<int>(ranks_.size());
  out.job.calls = calls_;
  compare_ended(out);
  if (versions_.size() > 1)
    out.job.notes.push_back(
        fmt::format("dumps are of several versions: {}", fmt::join(versions_, ", ")));
  if (passed_over_ > 0)
    out.job.notes.push_back(
        fmt::format("{} no call and passed over", counted(passed_over_, "entry that is")));
  if (odd_ >= kOddMax)
    out.job.notes.push_back(
        fmt::format("of ranks that differ in calls that ended, the first {} "
                    "are told",
                    kOddMax));
  return out;
}

}  // namespace fabricast
