#include "sim/fluid/max_min.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace fabricast {
namespace {

/// Most weights are 1, and dividing takes as long as all the rest.
std::int64_t level_of(FineRate rate, std::int64_t weight) {
  return weight == 1 ? rate.count : rate.count / weight;
}

}  // namespace

std::uint32_t MaxMin::add_link(Bandwidth capacity) {
  Link link;
  link.capacity = FineRate::of(capacity);
  links_.push_back(std::move(link));
  return static_cast<std::uint32_t>(links_.size() - 1);
}

void MaxMin::mark(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_links_.push_back(link);
}

void MaxMin::set_capacity(std::uint32_t link, Bandwidth capacity) {
  if (links_[link].capacity == FineRate::of(capacity)) return;
  links_[link].capacity = FineRate::of(capacity);
  links_[link].changed = true;
  mark(link);
}

std::uint32_t MaxMin::add(const FlowShare& share) {
  assert(!share.links.empty() || share.cap.bytes_per_s > 0);
  assert(share.weight > 0);
  std::uint32_t id = static_cast<std::uint32_t>(flows_.size());
  if (free_flows_.empty()) {
    flows_.emplace_back();
  } else {
    id = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow flow;
  flow.hops = static_cast<std::uint32_t>(share.links.size());
  flow.weight = share.weight;
  flow.priority = share.priority;
  flow.cap = FineRate::of(share.cap);
  if (flow.hops < free_hops_.size() && !free_hops_[flow.hops].empty()) {
    flow.first_hop = free_hops_[flow.hops].back();
    free_hops_[flow.hops].pop_back();
  } else {
    flow.first_hop = static_cast<std::uint32_t>(hops_.size());
    hops_.resize(hops_.size() + flow.hops);
  }
  for (std::uint32_t i = 0; i < flow.hops; ++i) hops_[flow.first_hop + i] = {share.links[i], id, 0};
  flows_[id] = flow;
  rejoin(id);
  return id;
}

void MaxMin::rejoin(std::uint32_t id) {
  const Flow& flow = flows_[id];
  for (std::uint32_t hop = flow.first_hop; hop < flow.first_hop + flow.hops; ++hop) {
    Link& link = links_[hops_[hop].link];
    hops_[hop].place = static_cast<std::uint32_t>(link.crossings.size());
    link.crossings.push_back({hop, id});
    link.all_weight += flow.weight;
  }
  new_flows_.push_back(id);
}

void MaxMin::leave(std::uint32_t id) {
  Flow& flow = flows_[id];
  if (flow.limit != kNone) --links_[flow.limit].limited;
  for (const Hop& hop : hops_of(flow)) {
    Link& link = links_[hop.link];
    link.load.count -= flow.rate.count;
    const Crossing last = link.crossings.back();
    link.crossings[hop.place] = last;
    hops_[last.hop].place = hop.place;
    link.crossings.pop_back();
    link.all_weight -= flow.weight;
    mark(hop.link);
  }
  if (flow.round == 0) std::erase(new_flows_, id);
  flow.rate = {};
  flow.limit = kNone;
  flow.round = 0;
}

void MaxMin::remove(std::uint32_t id) {
  leave(id);
  Flow& flow = flows_[id];
  if (flow.hops >= free_hops_.size()) free_hops_.resize(flow.hops + std::size_t{1});
  free_hops_[flow.hops].push_back(flow.first_hop);
  flow = {};
  free_flows_.push_back(id);
}

void MaxMin::touch(std::uint32_t id) {
  if (links_[id].round == round_) return;
  links_[id].round = round_;
  links_[id].reached.clear();
  touched_.push_back(id);
}

/// Takes the flow out of the books of its links: they will share what it had.
void MaxMin::reach(std::uint32_t id) {
  Flow& flow = flows_[id];
  if (flow.round == round_) return;
  flow.round = round_;
  reached_.push_back(id);
  for (const Hop& hop : hops_of(flow)) {
    touch(hop.link);
    links_[hop.link].reached.push_back(id);
    links_[hop.link].load.count -= flow.rate.count;
  }
}

/// New flows, those that a link limited which somebody left, and all on a link of new capacity.
void MaxMin::reach_first() {
  for (const std::uint32_t flow : new_flows_) reach(flow);
  for (const std::uint32_t id : dirty_links_) {
    const Link& link = links_[id];
    if (link.limited == 0 && !link.changed) continue;
    for (const auto [hop, flow] : link.crossings)
      if (link.changed || flows_[flow].limit == id) reach(flow);
  }
}

/// Adds the flows of a link that the rates just filled are not fair to, or that are not fair to
/// them. False when there are none. Differences of rounding do not count.
bool MaxMin::reach_wronged(std::uint32_t id) {
  const Link& link = links_[id];
  if (link.reached.size() == link.crossings.size()) return false;
  if (link.limited == 0 && link.next_limited == 0) return false;
  standings_.clear();
  for (const std::uint32_t reached : link.reached) {
    const Flow& flow = flows_[reached];
    auto mine = std::find_if(standings_.begin(), standings_.end(), [&](const Standing& standing) {
      return standing.priority == flow.priority;
    });
    if (mine == standings_.end()) {
      standings_.push_back({flow.priority, -1, -1});
      mine = standings_.end() - 1;
    }
    const std::int64_t level = level_of(flow.next, flow.weight);
    mine->highest = std::max(mine->highest, level);
    if (flow.next_limit == id) mine->limited = std::max(mine->limited, level);
  }
  const std::int64_t weight = link.all_weight;
  const bool full = link.left.count < weight;
  const auto wronged = [&](const Flow& flow) {
    const std::int64_t level = level_of(flow.rate, flow.weight);
    const bool limited_here = flow.limit == id;
    if (limited_here && !full) return true;
    return std::any_of(standings_.begin(), standings_.end(), [&](const Standing& other) {
      if (other.priority == flow.priority) {
        return (other.limited >= 0 && level > other.limited + weight) ||
               (limited_here && other.highest > level + weight);
      }
      return other.priority > flow.priority ? other.limited >= 0 && level > 0
                                            : limited_here && other.highest > weight;
    });
  };
  const std::size_t before = reached_.size();
  for (const Crossing& crossing : link.crossings) {
    const Flow& flow = flows_[crossing.flow];
    if (flow.round != round_ && wronged(flow)) reach(crossing.flow);
  }
  return reached_.size() > before;
}

void MaxMin::push(std::int64_t level, std::uint32_t id) {
  candidates_.emplace_back(level, id);
  std::push_heap(candidates_.begin(), candidates_.end(), std::greater<>());
}

void MaxMin::freeze(std::uint32_t id, FineRate rate, std::uint32_t limit) {
  Flow& flow = flows_[id];
  flow.filled = true;
  flow.next = rate;
  flow.next_limit = limit;
  for (const Hop& hop : hops_of(flow)) {
    links_[hop.link].left.count -= rate.count;
    links_[hop.link].weight -= flow.weight;
  }
  if (limit != kNone) ++links_[limit].next_limited;
}

/// Levels of links only rise as others fill up: a candidate that has risen goes back to the queue.
void MaxMin::fill(std::uint8_t priority) {
  const auto links = static_cast<std::uint32_t>(links_.size());
  candidates_.clear();
  for (const std::uint32_t id : touched_) links_[id].weight = 0;
  for (const std::uint32_t id : reached_) {
    const Flow& flow = flows_[id];
    if (flow.priority != priority) continue;
    ++visits_;
    for (const Hop& hop : hops_of(flow)) links_[hop.link].weight += flow.weight;
    if (flow.cap.count > 0) candidates_.emplace_back(flow.cap.count / flow.weight, links + id);
  }
  for (const std::uint32_t id : touched_) {
    const Link& link = links_[id];
    if (link.weight > 0) candidates_.emplace_back(link.left.count / link.weight, id);
  }
  std::make_heap(candidates_.begin(), candidates_.end(), std::greater<>());
  while (!candidates_.empty()) {
    const auto [level, id] = candidates_.front();
    std::pop_heap(candidates_.begin(), candidates_.end(), std::greater<>());
    candidates_.pop_back();
    if (id >= links) {
      const Flow& flow = flows_[id - links];
      if (!flow.filled) freeze(id - links, {level * flow.weight}, kNone);
      continue;
    }
    Link& link = links_[id];
    if (link.weight == 0) continue;
    if (const std::int64_t now = link.left.count / link.weight; now > level) {
      push(now, id);
      continue;
    }
    for (const std::uint32_t reached : link.reached) {
      const Flow& flow = flows_[reached];
      if (!flow.filled && flow.priority == priority) freeze(reached, {level * flow.weight}, id);
    }
  }
}

void MaxMin::fill_all() {
  for (const std::uint32_t id : touched_) {
    Link& link = links_[id];
    link.left = {std::max<std::int64_t>(0, link.capacity.count - link.load.count)};
    link.next_limited = 0;
  }
  bool waiting[256] = {};
  for (const std::uint32_t id : reached_) {
    flows_[id].filled = false;
    waiting[flows_[id].priority] = true;
  }
  for (unsigned priority = 256; priority-- > 0;)
    if (waiting[priority]) fill(static_cast<std::uint8_t>(priority));
}

void MaxMin::commit() {
  for (const std::uint32_t id : reached_) {
    Flow& flow = flows_[id];
    for (const Hop& hop : hops_of(flow)) links_[hop.link].load.count += flow.next.count;
    if (flow.limit != kNone) --links_[flow.limit].limited;
    if (flow.next_limit != kNone) ++links_[flow.next_limit].limited;
    flow.limit = flow.next_limit;
    if (flow.next != flow.rate) changes_.push_back({id, flow.next});
    flow.rate = flow.next;
  }
}

std::span<const MaxMin::Change> MaxMin::solve() {
  changes_.clear();
  if (dirty_links_.empty() && new_flows_.empty()) return changes_;
  ++round_;
  reached_.clear();
  touched_.clear();
  reach_first();
  for (bool again = true; again;) {
    fill_all();
    again = false;
    const std::size_t touched = touched_.size();
    for (std::size_t i = 0; i < touched; ++i) again |= reach_wronged(touched_[i]);
  }
  commit();
  for (const std::uint32_t link : dirty_links_) links_[link].dirty = links_[link].changed = false;
  dirty_links_.clear();
  new_flows_.clear();
  return changes_;
}

}  // namespace fabricast
