#include "models/studies/shared/call_times.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "models/nccl/run/exchange_bounds.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/period.hpp"
#include "models/nccl/run/same_time.hpp"

namespace fabricast {

std::size_t CallTimes::add(const Cluster& cluster, CollectiveRun run,
                           const SoftwareCosts* software) {
  calls_.push_back({&cluster, software ? software : &software_, std::move(run), {}, {}, 0});
  return calls_.size() - 1;
}

void CallTimes::look_at(Call& call) const {
  if (call.size) return;
  const CollectiveRun& run = call.run;
  call.symmetry = find_symmetry(*call.cluster, run);
  const std::uint64_t slices =
      weighs_messages_ && !run.has_algorithm()
          ? events_of_exchange(*call.cluster, *call.software, run, call.symmetry)
          : job_size(*call.cluster, *call.software, run, call.symmetry).simulated;
  call.size = size_of_call(run, slices);
}

void CallTimes::look_at_all() {
  std::vector<std::size_t> unseen;
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (!calls_[i].size) unseen.push_back(i);
  std::vector<std::size_t> order = unseen;
  const std::vector<std::size_t> twins = take_twins(order);
  for_each_(order.size(), [&](std::size_t i) { look_at(calls_[order[i]]); });
  for (const std::size_t i : unseen) {
    if (calls_[i].size) continue;
    const Call& twin = calls_[twins[i]];
    calls_[i].symmetry = twin.symmetry;
    calls_[i].size = size_of_call(calls_[i].run, twin.size->simulated);
  }
}

TimeRecipe CallTimes::recipe(const CallAt& at, const NumberAt& number_at, std::uint64_t most) {
  const auto size_of = [&](const CallAt& there) -> std::optional<CallSize> {
    const std::optional<std::size_t> number = number_at(there);
    if (!number) return std::nullopt;
    look_at(calls_[*number]);
    return calls_[*number].size;
  };
  TimeRecipe out;
  for (const CallShare& share : affordable(at, most, size_of))
    out.shares.emplace_back(*number_at(share.at), share.weight);
  return out;
}

std::vector<TimeRecipe> CallTimes::recipes(std::span<const Asked> asked,
                                           std::optional<std::uint64_t> budget) {
  std::vector<TimeRecipe> out;
  std::vector<const TimeRecipe*> all;
  slices_max_ = slices_allowed_;
  for (const Asked& one : asked) out.push_back(recipe(one.at, one.number_at));
  for (;;) {
    all.clear();
    for (const TimeRecipe& one : out) all.push_back(&one);
    std::vector<std::size_t> calls = needed(all);
    take_twins(calls);
    if (!budget || slices_max_ <= kSlicesLeast || slices_ + slices_of(calls) <= *budget) return out;
    slices_max_ = std::max(slices_max_ / 2, kSlicesLeast);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      TimeRecipe smaller = recipe(asked[i].at, asked[i].number_at);
      if (smaller.exists()) out[i] = std::move(smaller);
    }
  }
}

std::vector<std::size_t> CallTimes::needed(const std::vector<const TimeRecipe*>& recipes) const {
  std::vector<std::size_t> out;
  for (const TimeRecipe* recipe : recipes)
    for (const auto& [call, weight] : recipe->shares)
      if (!calls_[call].is_simulated) out.push_back(call);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::uint64_t CallTimes::slices_of(std::size_t call) const {
  return slices_in_a_row(calls_[call].size->simulated);
}

std::uint64_t CallTimes::slices_of(const std::vector<std::size_t>& calls) const {
  std::uint64_t out = 0;
  for (const std::size_t call : calls) out += slices_of(call);
  return out;
}

void CallTimes::simulate(const std::vector<const TimeRecipe*>& recipes) {
  std::vector<std::size_t> order = needed(recipes);
  const std::vector<std::size_t> twins = take_twins(order);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return calls_[i].size->simulated; });
  const std::vector<std::vector<std::size_t>> families = families_of(order);
  for_each_(families.size(), [&](std::size_t i) { simulate_family(families[i]); });
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    calls_[i].time_us = calls_[twins[i]].time_us;
    calls_[i].is_simulated = calls_[twins[i]].is_simulated;
  }
  simulated_ += order.size();
  slices_ += slices_of(order);
}

std::vector<std::vector<std::size_t>> CallTimes::families_of(
    const std::vector<std::size_t>& order) const {
  std::vector<std::vector<std::size_t>> out;
  std::map<std::pair<const Cluster*, const SoftwareCosts*>, std::vector<std::size_t>> by_place;
  for (const std::size_t i : order) {
    const Call& call = calls_[i];
    std::vector<std::size_t>& there = by_place[{call.cluster, call.software}];
    const auto family = std::ranges::find_if(there, [&](std::size_t number) {
      const Call& first = calls_[out[number].front()];
      return SizesInARow::gains(first.run, call.run) && first.symmetry.moves == call.symmetry.moves;
    });
    if (family != there.end()) {
      out[*family].push_back(i);
      continue;
    }
    if (SizesInARow::gains(call.run, call.run)) there.push_back(out.size());
    out.push_back({i});
  }
  return out;
}

void CallTimes::simulate_family(const std::vector<std::size_t>& family) {
  const Call& first = calls_[family.front()];
  SizesInARow row(*first.cluster, *first.software, family.size() > 1);
  for (const std::size_t i : family) {
    Call& call = calls_[i];
    call.time_us = microseconds_of(row.of(call.run, call.symmetry));
    call.run = {};
    call.symmetry = {};
    call.is_simulated = true;
  }
}

std::vector<std::size_t> CallTimes::take_twins(std::vector<std::size_t>& order) const {
  std::vector<std::size_t> first(calls_.size());
  std::iota(first.begin(), first.end(), std::size_t{0});
  using Key = std::tuple<const Cluster*, const SoftwareCosts*, std::int64_t>;
  std::map<Key, std::vector<std::size_t>> seen;
  std::erase_if(order, [&](std::size_t i) {
    const Call& call = calls_[i];
    std::vector<std::size_t>& like = seen[{call.cluster, call.software, call.run.count}];
    const auto twin = std::ranges::find_if(like, [&](std::size_t other) {
      return takes_same_time(*call.cluster, *call.software, calls_[other].run, call.run);
    });
    if (twin == like.end()) {
      like.push_back(i);
      return false;
    }
    first[i] = *twin;
    return true;
  });
  return first;
}

double CallTimes::time_us(const TimeRecipe& recipe) const {
  SharesTime out;
  for (const auto& [call, weight] : recipe.shares) out.add(weight, calls_[call].time_us);
  return out.whole();
}

}  // namespace fabricast
