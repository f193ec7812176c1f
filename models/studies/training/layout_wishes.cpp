#include "models/studies/training/layout_wishes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "models/training/calls/rank_groups.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

std::string value_of(std::string_view key, const Layout& l) {
  const std::map<std::string_view, int> numbers = {
      {"tp", l.tensor},   {"cp", l.context},
      {"pp", l.pipeline}, {"vpp", l.virtual_stages},
      {"ep", l.expert},   {"etp", l.expert_tensor},
      {"dp", l.data()},   {"micro_batch", l.micro_batch}};
  const auto found = numbers.find(key);
  return found == numbers.end() ? std::string(to_text(l.sharding)) : std::to_string(found->second);
}
constexpr std::string_view kFixable[] = {"tp",  "cp", "pp",          "vpp",     "ep",
                                         "etp", "dp", "micro_batch", "sharding"};

constexpr std::string_view kGrouped[] = {"tp", "cp", "ep", "dp", "pp"};
using GroupOf = RankGroup (*)(const Layout&);
constexpr GroupOf kGroups[] = {tensor_group, context_group, expert_group, dense_data_group,
                               stage_pair};  // of each of kGrouped
static_assert(std::size(kGroups) == std::size(kGrouped));

GroupOf grouping(std::string_view key) {
  return kGroups[std::ranges::find(kGrouped, key) - std::begin(kGrouped)];
}

/// Throws Error, `"key" WHAT`, unless it is one of `known`.
void check_key(std::string_view key, std::span<const std::string_view> known,
               std::string_view what) {
  if (std::ranges::find(known, key) == known.end())
    throw Error(fmt::format("\"{}\" {}", key, what),
                hint_nearest(key, {known.begin(), known.end()}));
}

/// Calls `add` with each KEY=VALUE of a list.
void each_assignment(std::string_view text,
                     const std::function<void(std::string, std::string)>& add) {
  for (const std::string& one : comma_words(text)) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == one.size())
      throw Error(fmt::format("\"{}\" says nothing", one), "KEY=VALUE, like tp=8");
    add(one.substr(0, equals), one.substr(equals + 1));
  }
}

/// Numbers by size, words by letter.
bool comes_first(const std::string& a, const std::string& b) {
  return std::pair(a.size(), a) < std::pair(b.size(), b);
}

}  // namespace

std::span<const std::string_view> fix_keys() { return kFixable; }
std::span<const std::string_view> within_keys() { return kGrouped; }

void LayoutWishes::fix(std::string_view text) {
  std::vector<Fixed> all = fixed_;  // a mistake leaves what was there
  each_assignment(text, [&](std::string key, std::string value) {
    check_key(key, kFixable, "is no part of a layout");
    all.push_back({std::move(key), std::move(value)});
  });
  fixed_ = std::move(all);
}

void LayoutWishes::keep_within(std::string_view text) {
  std::vector<Within> all = within_;
  each_assignment(text, [&](std::string key, const std::string& value) {
    check_key(key, kGrouped, "has no groups");
    if (value != "node" && value != "rack")
      throw Error(fmt::format("{}={}: groups are kept within a node or a rack", key, value));
    all.push_back(
        {std::move(key), value == "node" ? GroupShapes::Room::node : GroupShapes::Room::rack});
  });
  within_ = std::move(all);
}

std::vector<Layout> LayoutWishes::chosen_from(const std::vector<Layout>& layouts,
                                              const CollectiveTimes& collectives) const {
  std::vector<Layout> left = layouts;
  for (const Fixed& wish : fixed_) {
    std::set<std::string, decltype(&comes_first)> known(&comes_first);
    for (const Layout& l : left) known.insert(value_of(wish.key, l));
    std::erase_if(left, [&](const Layout& l) { return value_of(wish.key, l) != wish.value; });
    if (left.empty())
      throw Error(fmt::format("no layout has {}={}", wish.key, wish.value),
                  fmt::format("{} can be {}", wish.key, fmt::join(known, ", ")));
  }
  for (const Within& wish : within_) {
    std::map<RankGroup, bool> stays;
    const GroupOf group_of = grouping(wish.key);
    std::erase_if(left, [&](const Layout& l) {
      const RankGroup group = group_of(l);
      const auto [known, is_new] = stays.try_emplace(group, true);
      if (is_new && group.ranks() > 1) {
        known->second = collectives.shapes().crossings(group, wish.room).groups == 0;
      }
      return !known->second;
    });
    if (left.empty())
      throw Error(fmt::format("no layout keeps all of {} within a {}", wish.key,
                              wish.room == GroupShapes::Room::node ? "node" : "rack"));
  }
  return left;
}

}  // namespace fabricast
