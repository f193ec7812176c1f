#include "models/training/calls/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr int kHostMost = 1 << 20;

/// "7" or "0-7"; false if it is neither.
bool parse_range(std::string_view text, int& first, int& last) {
  const auto number = [](std::string_view word, int& out) {
    out = to_number<int>(word).value_or(-1);
    return out >= 0 && out < kHostMost;
  };
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    if (!number(text, first)) return false;
    last = first;
    return true;
  }
  return number(text.substr(0, dash), first) && number(text.substr(dash + 1), last) &&
         first <= last;
}

int divided_up(int a, int b) { return (a + b - 1) / b; }

}  // namespace

RankRange parse_rank_range(const std::string& text) {
  RankRange out;
  std::string_view rest = text;
  out.racks = rest.starts_with("rack");
  if (out.racks) rest.remove_prefix(4);
  const std::size_t colon = out.racks ? std::string_view::npos : rest.find(':');
  bool valid = parse_range(rest.substr(0, colon), out.first, out.last);
  if (colon != std::string_view::npos)
    valid = valid && parse_range(rest.substr(colon + 1), out.first_gpu, out.last_gpu);
  if (!valid)
    throw Error(fmt::format("\"{}\" says no GPUs", text),
                "a host or several (12, 0-7), GPUs of one (3:4, 3:0-3), or a rack (rack2)");
  return out;
}

std::string to_text(const RankRange& range) {
  const auto numbers = [](int first, int last) {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  };
  std::string out = (range.racks ? "rack" : "") + numbers(range.first, range.last);
  if (range.last_gpu >= 0) out += ":" + numbers(range.first_gpu, range.last_gpu);
  return out;
}

RankSlots place_ranks(const std::vector<RankRange>& ranges, const Cluster& cluster,
                      int gpus_per_node, int gpus) {
  RankSlots out;
  const int trays = cluster.node().trays(), per_host = gpus_per_node / trays;
  const auto add_host = [&](int host, int first, int last) {
    for (int gpu = first; gpu <= last && static_cast<int>(out.size()) <= gpus; ++gpu)
      out.push_back(host * per_host + gpu);
  };
  for (const RankRange& range : ranges) {
    const int last_gpu = range.last_gpu < 0 ? per_host - 1 : range.last_gpu;
    if (last_gpu >= per_host)
      throw Error(fmt::format("ranks: host {} has no GPU {}: the job uses {} of each", range.first,
                              last_gpu, per_host));
    const int per_rack = cluster.fabric().nodes_per_rack;
    if (range.racks && per_rack == 0) throw Error("ranks: the fabric says no racks");
    const int scale = range.racks ? per_rack : 1;
    for (int host = range.first * scale; host < (range.last + 1) * scale; ++host)
      add_host(host, range.first_gpu, last_gpu);
  }
  if (static_cast<int>(out.size()) != gpus)
    throw Error(fmt::format("ranks: {}{} GPUs for {} ranks", out.size(),
                            static_cast<int>(out.size()) > gpus ? " or more" : "", gpus),
                "say one for each rank; `nodes` and `gpus_per_node` say how many ranks there are");
  RankSlots sorted = out;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw Error(
        fmt::format("ranks: GPU {} of host {} twice", *twice % per_host, *twice / per_host));
  return out;
}

/// One group: its nodes in the order of its ranks.
struct GroupShapes::Lying {
  int first = 0;  ///< its first rank
  std::vector<int> nodes;
  std::vector<int> gpus;     ///< of its first node
  std::string uneven;        ///< which nodes it has not as many GPUs of, if so
  bool mixed = false;        ///< it has other GPUs of one node than of the next
  int pods = 1, leaves = 1;  ///< how often the next rank's is another one, and one more

  bool wider_than(const Lying& other) const {
    return std::tuple(nodes.size(), pods, leaves) >
           std::tuple(other.nodes.size(), other.pods, other.leaves);
  }
};

namespace {

/// The number of this list among some, from 1 on.
template <class List>
int number_in(std::vector<List>& lists, List list) {
  const auto found = std::find(lists.begin(), lists.end(), list);
  if (found != lists.end()) return static_cast<int>(found - lists.begin()) + 1;
  lists.push_back(std::move(list));
  return static_cast<int>(lists.size());
}

bool counts_up_from_0(const std::vector<int>& numbers) {
  return numbers.back() == static_cast<int>(numbers.size()) - 1;
}

}  // namespace

void GroupShapes::place(RankSlots slots) {
  slots_ = std::move(slots);
  known_.clear();
}

const GroupShape& GroupShapes::of(const RankGroup& group) {
  const auto found = known_.find(group);
  if (found != known_.end()) return found->second;
  const Lying some = is_flat(group) ? compact(group) : widest(group);
  GroupShape out{static_cast<int>(some.nodes.size()), static_cast<int>(some.gpus.size())};
  std::vector<int> nodes = renumbered(some.nodes);
  if (!counts_up_from_0(nodes)) out.spread = number_in(spreads_, std::move(nodes));
  Sides sides = beside(group, some);
  if (sides.size() > 1 || !counts_up_from_0(sides.front()))
    out.sides = number_in(sides_, std::move(sides));
  return known_.emplace(group, out).first->second;
}

/// All nodes hang on the same switches, and all groups cross as many: where they are does not
/// matter.
bool GroupShapes::is_flat(const RankGroup& group) const {
  if (group.job == 0) return true;
  if (!slots_.empty()) return false;
  const bool some_cross = group.along > group.size && group.stride < gpus_per_node_;
  if (some_cross && group.job > gpus_per_node_) return false;
  return !has_leaves() || divided_up(group.job, gpus_per_node_) <= cluster_.nodes_per_leaf();
}

/// The first ranks' group, or where it is not even, one of as many GPUs of each node.
GroupShapes::Lying GroupShapes::compact(const RankGroup& group) const {
  Lying out = lying(group, 0);
  if (!out.mixed) return out;
  int here = std::clamp(gpus_per_node_ / group.stride, 1, group.size);
  if (here == group.size) here *= std::clamp(gpus_per_node_ / group.outer_stride, 1, group.outer);
  out.nodes.resize(static_cast<std::size_t>(divided_up(group.ranks(), here)));
  std::iota(out.nodes.begin(), out.nodes.end(), 0);
  out.gpus.resize(static_cast<std::size_t>(here));
  std::iota(out.gpus.begin(), out.gpus.end(), 0);
  return out;
}

/// Of a job that is not known, those of the nodes that a group needs.
int GroupShapes::ranks_of_job(const RankGroup& group) const {
  if (!slots_.empty()) return static_cast<int>(slots_.size());
  if (group.job > 0) return group.job;
  const int span = (group.size - 1) * group.stride + (group.outer - 1) * group.outer_stride;
  return divided_up(span + 1, gpus_per_node_) * gpus_per_node_;
}

std::set<int> GroupShapes::gpus_of_job(const RankGroup& group, int node) const {
  std::set<int> out;
  for (int rank = 0; rank < ranks_of_job(group); ++rank) {
    if (slot(rank) / gpus_per_node_ == node) out.insert(slot(rank) % gpus_per_node_);
  }
  return out;
}

std::vector<int> GroupShapes::first_ranks(const RankGroup& group) const {
  const int job = ranks_of_job(group);
  const int along = std::max(group.along, group.size);
  const int span = (group.size - 1) * group.stride + (group.outer - 1) * group.outer_stride;
  std::vector<int> out;
  for (int rank = 0; rank + span < job; ++rank) {
    if (rank / group.stride % along + group.size > along) continue;
    if (group.outer > 1 && rank / group.outer_stride % group.outer != 0) continue;
    out.push_back(rank);
  }
  return out;
}

GroupShapes::Lying GroupShapes::lying(const RankGroup& group, int first) const {
  Lying out;
  out.first = first;
  std::map<int, std::vector<int>> gpus;  // by node
  for (int outer = 0; outer < group.outer; ++outer) {
    for (int i = 0; i < group.size; ++i) {
      const int at = slot(first + i * group.stride + outer * group.outer_stride);
      const int node = at / gpus_per_node_;
      std::vector<int>& here = gpus[node];
      if (here.empty()) out.nodes.push_back(node);
      here.push_back(at % gpus_per_node_);
    }
  }
  for (auto& [node, here] : gpus) std::sort(here.begin(), here.end());
  out.gpus = gpus[out.nodes.front()];
  for (const auto& [node, here] : gpus) {
    out.mixed = out.mixed || here != out.gpus;
    if (here.size() != out.gpus.size())
      out.uneven = fmt::format("{} GPUs of node {} and {} of node {}", out.gpus.size(),
                               out.nodes.front(), here.size(), node);
  }
  if (!has_leaves()) return out;
  const int per_leaf = cluster_.nodes_per_leaf(), per_pod = cluster_.nodes_per_pod();
  for (std::size_t i = 1; i < out.nodes.size(); ++i) {
    out.leaves += out.nodes[i] / per_leaf != out.nodes[i - 1] / per_leaf ? 1 : 0;
    if (per_pod > 0) out.pods += out.nodes[i] / per_pod != out.nodes[i - 1] / per_pod ? 1 : 0;
  }
  return out;
}

GroupShapes::Lying GroupShapes::widest(const RankGroup& group) {
  Lying most;
  for (const int first : first_ranks(group)) {
    Lying one = lying(group, first);
    if (!one.uneven.empty())
      throw Error(fmt::format("the group of rank {} has {}", first, one.uneven),
                  "groups with as many of each node are modelled");
    mixes_gpus_ = mixes_gpus_ || one.mixed;
    if (most.nodes.empty() || one.wider_than(most)) most = std::move(one);
  }
  return most.nodes.empty() ? compact(group) : most;
}

std::vector<int> GroupShapes::renumbered(const std::vector<int>& nodes) const {
  const int per_leaf = cluster_.nodes_per_leaf(), per_pod = cluster_.nodes_per_pod();
  std::vector<int> out = {0};
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const int before = nodes[i - 1], now = nodes[i], last = out.back();
    if (has_leaves() && per_pod > 0 && now / per_pod != before / per_pod) {
      out.push_back((last / per_pod + 1) * per_pod);
    } else if (has_leaves() && now / per_leaf != before / per_leaf) {
      out.push_back((last / per_leaf + 1) * per_leaf);
    } else {
      out.push_back(last + 1);
    }
  }
  return out;
}

/// Pairs of neighbours are taken every other one: each rank is in one.
Sides GroupShapes::beside(const RankGroup& group, const Lying& some) const {
  const int per_host = gpus_per_node_ / cluster_.node().trays();
  const auto hosts_of = [&](const std::vector<int>& gpus) {
    std::set<int> out;
    for (const int gpu : gpus) out.insert(gpu / per_host);
    return out;
  };
  const bool pairs = group.along > group.size;
  const auto turn = [&](int first) { return first / group.stride % group.along % group.size; };
  const std::set<int> nodes(some.nodes.begin(), some.nodes.end());
  Sides out = {some.gpus};
  std::set<int> taken(some.gpus.begin(), some.gpus.end());
  const auto add = [&](const std::vector<int>& gpus) {
    if (std::ranges::any_of(gpus, [&](int gpu) { return taken.contains(gpu); })) return;
    taken.insert(gpus.begin(), gpus.end());
    if (hosts_of(gpus) == hosts_of(some.gpus)) out.push_back(gpus);
  };
  for (const int first : first_ranks(group)) {
    if (!nodes.contains(slot(first) / gpus_per_node_)) continue;
    if (pairs && turn(first) != turn(some.first)) continue;
    const Lying one = lying(group, first);
    if (one.uneven.empty() && std::set<int>(one.nodes.begin(), one.nodes.end()) == nodes)
      add(one.gpus);
  }
  std::vector<int> left;
  const std::set<int> used = gpus_of_job(group, some.nodes.front());
  for (const int gpu : used) {
    if (pairs || taken.contains(gpu)) continue;
    left.push_back(gpu);
    if (left.size() == some.gpus.size()) add(std::exchange(left, {}));
  }
  return out;
}

Sides GroupShapes::sides(const GroupShape& shape) const {
  if (shape.sides > 0) return sides_[static_cast<std::size_t>(shape.sides - 1)];
  std::vector<int> first(static_cast<std::size_t>(shape.gpus));
  std::iota(first.begin(), first.end(), 0);
  return {first};
}

std::vector<int> GroupShapes::nodes(const GroupShape& shape, int count) const {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(
        shape.spread == 0
            ? i
            : spreads_[static_cast<std::size_t>(shape.spread - 1)][static_cast<std::size_t>(i)]);
  }
  return out;
}

GroupShapes::Crossing GroupShapes::crossings(const RankGroup& group, Room room) const {
  Crossing out;
  const int per_rack = cluster_.fabric().nodes_per_rack;  // hosts
  const int slots =
      room == Room::node ? gpus_per_node_ : gpus_per_node_ / cluster_.node().trays() * per_rack;
  if (slots == 0) return out;
  for (const int first : first_ranks(group)) {
    ++out.of;
    bool crosses = false;
    for (int outer = 0; outer < group.outer; ++outer)
      for (int i = 0; i < group.size; ++i)
        crosses = crosses || slot(first + i * group.stride + outer * group.outer_stride) / slots !=
                                 slot(first) / slots;
    out.groups += crosses ? 1 : 0;
  }
  return out;
}

}  // namespace fabricast
