#include "models/studies/training/layout_wishes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
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
const std::vector<std::string> kFixable = {"tp",  "cp", "pp",          "vpp",     "ep",
                                           "etp", "dp", "micro_batch", "sharding"};

using GroupOf = RankGroup (*)(const Layout&);
const std::map<std::string, GroupOf, std::less<>> kGroups = {{"tp", tensor_group},
                                                             {"cp", context_group},
                                                             {"ep", expert_group},
                                                             {"dp", dense_data_group},
                                                             {"pp", stage_pair}};

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

void LayoutWishes::fix(std::string_view text) {
  each_assignment(text, [&](std::string key, std::string value) {
    if (std::ranges::find(kFixable, key) == kFixable.end())
      throw Error(fmt::format("\"{}\" is no part of a layout", key), hint_nearest(key, kFixable));
    fixed_.push_back({std::move(key), std::move(value)});
  });
}

void LayoutWishes::keep_within(std::string_view text) {
  each_assignment(text, [&](std::string key, const std::string& value) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : kGroups) known.push_back(name);
    if (!kGroups.contains(key))
      throw Error(fmt::format("\"{}\" has no groups", key), hint_nearest(key, known));
    if (value != "node" && value != "rack")
      throw Error(fmt::format("{}={}: groups are kept within a node or a rack", key, value));
    within_.push_back(
        {std::move(key), value == "node" ? GroupShapes::Room::node : GroupShapes::Room::rack});
  });
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
    const GroupOf group_of = kGroups.find(wish.key)->second;
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
