#include "models/training/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/error.hpp"

namespace fabricast {

namespace {

constexpr int kHostMost = 1 << 20;

/// "7" or "0-7"; false if it is neither.
bool parse_range(std::string_view text, int& first, int& last) {
  const auto number = [](std::string_view word, int& out) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc{} && end == word.data() + word.size() && out >= 0 && out < kHostMost;
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
  std::vector<int> nodes;
  int gpus = 0;
  int pods = 1, leaves = 1;  ///< how often the next rank's is another one, and one more

  bool wider_than(const Lying& other) const {
    return std::tuple(nodes.size(), pods, leaves) >
           std::tuple(other.nodes.size(), other.pods, other.leaves);
  }
};

void GroupShapes::place(RankSlots slots) {
  slots_ = std::move(slots);
  known_.clear();
}

const GroupShape& GroupShapes::of(const RankGroup& group) {
  const auto found = known_.find(group);
  if (found != known_.end()) return found->second;
  return known_.emplace(group, is_flat(group) ? compact(group) : widest(group)).first->second;
}

/// All nodes hang on the same switches: where they are does not matter.
bool GroupShapes::is_flat(const RankGroup& group) const {
  if (group.job == 0) return true;
  if (!slots_.empty()) return false;
  if (cluster_.node().trays() > 1 || cluster_.planes() == 0) return true;
  return divided_up(group.job, gpus_per_node_) <= cluster_.nodes_per_leaf();
}

GroupShape GroupShapes::compact(const RankGroup& group) const {
  int here = std::clamp(gpus_per_node_ / group.stride, 1, group.size);
  if (here == group.size) here *= std::clamp(gpus_per_node_ / group.outer_stride, 1, group.outer);
  return {divided_up(group.ranks(), here), here, 0};
}

std::vector<int> GroupShapes::first_ranks(const RankGroup& group) const {
  const int job = slots_.empty() ? group.job : static_cast<int>(slots_.size());
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

GroupShapes::Lying GroupShapes::lying(const RankGroup& group, int first) {
  Lying out;
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
  std::vector<int>& some = gpus[out.nodes.front()];
  std::sort(some.begin(), some.end());
  out.gpus = static_cast<int>(some.size());
  for (auto& [node, here] : gpus) {
    if (here.size() != some.size())
      throw Error(fmt::format("the group of rank {} has {} GPUs of node {} and {} of node {}",
                              first, some.size(), out.nodes.front(), here.size(), node),
                  "groups with as many of each node are modelled");
    std::sort(here.begin(), here.end());
    mixes_gpus_ = mixes_gpus_ || here != some;
  }
  if (cluster_.planes() == 0) return out;
  const int per_leaf = cluster_.nodes_per_leaf(), per_pod = cluster_.nodes_per_pod();
  for (std::size_t i = 1; i < out.nodes.size(); ++i) {
    out.leaves += out.nodes[i] / per_leaf != out.nodes[i - 1] / per_leaf ? 1 : 0;
    if (per_pod > 0) out.pods += out.nodes[i] / per_pod != out.nodes[i - 1] / per_pod ? 1 : 0;
  }
  return out;
}

GroupShape GroupShapes::widest(const RankGroup& group) {
  Lying most;
  for (const int first : first_ranks(group)) {
    Lying one = lying(group, first);
    if (most.nodes.empty() || one.wider_than(most)) most = std::move(one);
  }
  if (most.nodes.empty()) return compact(group);
  const auto count = static_cast<int>(most.nodes.size());
  if (count == 1 || cluster_.planes() == 0) return {count, most.gpus, 0};
  const int per_leaf = cluster_.nodes_per_leaf(), per_pod = cluster_.nodes_per_pod();
  std::vector<int> numbers = {0};
  for (std::size_t i = 1; i < most.nodes.size(); ++i) {
    const int before = most.nodes[i - 1], now = most.nodes[i], last = numbers.back();
    if (per_pod > 0 && now / per_pod != before / per_pod) {
      numbers.push_back((last / per_pod + 1) * per_pod);
    } else if (now / per_leaf != before / per_leaf) {
      numbers.push_back((last / per_leaf + 1) * per_leaf);
    } else {
      numbers.push_back(last + 1);
    }
  }
  return {count, most.gpus, number_of(std::move(numbers))};
}

int GroupShapes::number_of(std::vector<int> nodes) {
  if (nodes.back() == static_cast<int>(nodes.size()) - 1) return 0;
  const auto found = std::find(spreads_.begin(), spreads_.end(), nodes);
  if (found != spreads_.end()) return static_cast<int>(found - spreads_.begin()) + 1;
  spreads_.push_back(std::move(nodes));
  return static_cast<int>(spreads_.size());
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

GroupShapes::Crossing GroupShapes::rack_crossings(const RankGroup& pairs) const {
  Crossing out;
  const int per_rack = cluster_.fabric().nodes_per_rack, trays = cluster_.node().trays();
  if (per_rack == 0) return out;
  const int per_host = gpus_per_node_ / trays;
  for (const int first : first_ranks(pairs)) {
    ++out.of;
    const auto rack = [&](int rank) { return slot(rank) / per_host / per_rack; };
    out.pairs += rack(first) != rack(first + pairs.stride) ? 1 : 0;
  }
  return out;
}

}  // namespace fabricast
