// What an exchange looks at before it begins: all ways that its messages will take, for which of
// their links are booked on arrival.

#include <algorithm>
#include <cassert>

#include "sim/base/distinct_ways.hpp"
#include "sim/machines/exchange.hpp"

namespace fabricast {
namespace {

constexpr std::uint32_t kLineHops = 8;  // links of a way in half a cache line

}  // namespace

std::uint64_t ExchangeSchedule::each_way(std::uint32_t blocks, const WayVisitor& visit) const {
  std::uint64_t chunks = 0;
  ExchangeBatch batch;
  ExchangeWay asked;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    std::uint32_t cursor = 0;
    while (next(block, cursor, batch)) {
      for (const ExchangeLane& lane : batch.sends) {
        way(block, lane, asked);
        visit(asked);
        chunks += lane.chunks();
      }
    }
  }
  return chunks;
}

/// Counts chunks, and finds the links that are booked on arrival, besides `joins`: those where many
/// senders meet, and Transit::joints().
template <class Stamp>
void Exchange<Stamp>::survey(std::vector<bool> joins) {
  const std::size_t links = transit_.links.size();
  DistinctWays near, far;  // apart: many of either follow one another
  std::size_t near_max = 0, far_max = 0;
  std::vector<bool> to_relays(links);  // whose thread takes what comes in turn, whoever is first
  const auto note = [&](const ExchangeWay& way) {
    for (std::size_t i = 0; way.relayed && i < way.near.size(); ++i)
      to_relays[way.near[i] & kLinkBits] = true;
    near_max = std::max(near_max, way.near.size());
    far_max = std::max(far_max, way.far.size());
    near.add(way.near);
    far.add(way.far);
  };
  chunks_in_all_ = schedule_.each_way(static_cast<std::uint32_t>(blocks_.size()), note);
  for (std::uint32_t link = 0; link < links; ++link) {
    const bool gathers = transit_.links.gathers(link) && !to_relays[link];
    joins[link] = joins[link] || transit_.is_carried(link) || gathers;
  }
  const auto each = [&](const auto& visit) {
    for (const DistinctWays* ways : {&near, &far})
      for (std::size_t i = 0; i < ways->count(); ++i) visit((*ways)[i]);
  };
  const auto hops = static_cast<std::uint32_t>(near_max + far_max);
  assert(hops <= UINT8_MAX);
  hops_max_ = (hops + kLineHops - 1) / kLineHops * kLineHops;
  used_.assign(links, false);
  each([&](std::span<const std::uint32_t> way) {
    for (const std::uint32_t link : way) used_[link & kLinkBits] = true;
  });
  joins_ = transit_.joints(joins, [&](const auto& visit) {
    each([&](std::span<const std::uint32_t> way) { visit(way, 0); });
  });
}

template void Exchange<PlainStamp>::survey(std::vector<bool>);
template void Exchange<CausalStamp>::survey(std::vector<bool>);

}  // namespace fabricast
