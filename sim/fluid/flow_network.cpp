#include "sim/fluid/flow_network.hpp"

#include <algorithm>
#include <cassert>

#include "sim/base/random.hpp"

namespace fabricast {
namespace {

__extension__ using Parts = __int128;
constexpr Parts kPartsPerByte = Parts{1'000'000'000'000} << FineRate::kFractionBits;

}  // namespace

std::uint32_t FlowNetwork::add_link(LinkSpec spec) {
  latencies_.push_back(spec.latency);
  return shares_.add_link(spec.rate);
}

std::uint32_t FlowNetwork::add_flow(const FluidSpec& spec) {
  assert(spec.start >= now_);
  assert(spec.size.count >= 0);
  const auto id = static_cast<std::uint32_t>(flows_.size());
  Flow flow;
  flow.size = spec.size;
  flow.again = spec.again;
  for (const std::uint32_t link : spec.links) flow.latency += latencies_[link];
  flow.pending = static_cast<std::uint32_t>(pending_.size());
  if (free_pending_.empty()) {
    pending_.emplace_back();
  } else {
    flow.pending = free_pending_.back();
    free_pending_.pop_back();
  }
  Pending& pending = pending_[flow.pending];
  pending.links.assign(spec.links.begin(), spec.links.end());
  pending.spec = spec;
  flows_.push_back(flow);
  starts_.set(id, spec.start);
  return id;
}

void FlowNetwork::send_again(std::uint32_t id, Instant start, Bytes size) {
  Flow& flow = flows_[id];
  assert(flow.again && flow.state == State::ended && start >= now_);
  flow.size = size;
  flow.state = State::waiting;
  starts_.set(id, start);
}

void FlowNetwork::start(std::uint32_t id) {
  Flow& flow = flows_[id];
  flow.since = now_;
  const Pending* first = flow.pending == kNone ? nullptr : &pending_[flow.pending];
  const bool unlimited =
      first != nullptr && first->links.empty() && first->spec.cap.bytes_per_s == 0;
  if (flow.size.count == 0 || unlimited) {
    if (!flow.again) leave_pending(flow);
    flow.state = State::ended;
    return;
  }
  flow.state = State::running;
  flow.left = flow.size == FluidSpec::kEndless ? 0 : flow.size.count * kPartsPerByte;
  if (flow.is_sharing) {
    continued_.push_back(id);
  } else {
    join(id);
  }
}

void FlowNetwork::join(std::uint32_t id) {
  Flow& flow = flows_[id];
  flow.is_sharing = true;
  if (flow.share != kNone) return shares_.rejoin(flow.share);
  const Pending& pending = pending_[flow.pending];
  flow.share =
      shares_.add({pending.links, pending.spec.weight, pending.spec.priority, pending.spec.cap});
  if (flow.share >= flow_of_share_.size()) flow_of_share_.resize(flow.share + std::size_t{1});
  flow_of_share_[flow.share] = id;
  leave_pending(flow);
}

void FlowNetwork::leave_pending(Flow& flow) {
  if (flow.pending == kNone) return;
  free_pending_.push_back(flow.pending);
  flow.pending = kNone;
}

/// One that may send again keeps its share until rates follow.
void FlowNetwork::end(std::uint32_t id) {
  Flow& flow = flows_[id];
  flow.left = left_at(flow, now_);
  flow.since = now_;
  flow.state = State::ended;
  if (flow.again) return ended_.push_back(id);
  shares_.remove(flow.share);
  flow.rate = {};
  flow.share = kNone;
  flow.is_sharing = false;
}

void FlowNetwork::stop(std::uint32_t id) {
  if (flows_[id].state == State::running) {
    ends_.erase(id);
    end(id);
  } else if (flows_[id].state == State::waiting) {
    starts_.erase(id);
    if (!flows_[id].again) leave_pending(flows_[id]);
    flows_[id].since = now_;
    flows_[id].state = State::ended;
  }
}

FlowNetwork::Wide FlowNetwork::left_at(const Flow& flow, Instant at) const {
  const Wide left = flow.left - Wide{flow.rate.count} * (at - flow.since).ps;
  return flow.size == FluidSpec::kEndless ? left : std::max<Wide>(left, 0);
}

/// Brings the rates up to date, and with them the ends to come.
void FlowNetwork::share() {
  for (const std::uint32_t id : ended_) {
    Flow& flow = flows_[id];
    if (flow.state == State::running || !flow.is_sharing) continue;
    shares_.leave(flow.share);
    flow.rate = {};
    flow.is_sharing = false;
  }
  ended_.clear();
  for (const MaxMin::Change& change : shares_.solve()) {
    const std::uint32_t id = flow_of_share_[change.flow];
    Flow& flow = flows_[id];
    flow.left = left_at(flow, now_);
    flow.since = now_;
    flow.rate = change.rate;
    schedule_end(id);
  }
  for (const std::uint32_t id : continued_)
    if (flows_[id].state == State::running) schedule_end(id);
  continued_.clear();
}

/// At its rate. REQUIRES: its `left` is of now.
void FlowNetwork::schedule_end(std::uint32_t id) {
  const Flow& flow = flows_[id];
  if (flow.size == FluidSpec::kEndless) return;
  if (flow.rate.count == 0) return ends_.erase(id);
  const Wide wait = (flow.left + flow.rate.count - 1) / flow.rate.count;
  const Wide longest = kForever.ps - now_.ps;
  ends_.set(id, wait < longest ? now_ + Duration{static_cast<std::int64_t>(wait)} : kForever);
}

/// Everything that happens at one instant, ends first; rates follow once.
void FlowNetwork::take_part_in(Instant now, const OnEnd& on_end) {
  now_ = now;
  for (;;) {
    const bool ends = !ends_.empty() && ends_.earliest() == now;
    if (!ends && (starts_.empty() || starts_.earliest() != now)) break;
    const std::uint32_t id = ends ? ends_.pop() : starts_.pop();
    ++events_;
    digest_ = mixed(digest_ + static_cast<std::uint64_t>(now.ps) + id);
    if (ends) {
      end(id);
    } else {
      start(id);
      if (flows_[id].state != State::ended) continue;
    }
    if (on_end) on_end(id);
  }
}

Instant FlowNetwork::next(Instant until) {
  // What happens now does not ask for rates, which hold from now on.
  const bool starts = !starts_.empty() && starts_.earliest() == now_;
  if (starts || (!ends_.empty() && ends_.earliest() == now_)) return now_;
  if (until <= now_) return kForever;
  share();
  Instant next = kForever;
  if (!ends_.empty()) next = std::min(next, ends_.earliest());
  if (!starts_.empty()) next = std::min(next, starts_.earliest());
  return next;
}

void FlowNetwork::run_until(Instant until, const OnEnd& on_end) {
  for (;;) {
    const Instant event = next(until);
    if (event > until || event == kForever) break;
    take_part_in(event, on_end);
  }
  if (until != kForever) now_ = std::max(now_, until);
}

void FlowNetwork::run(const OnEnd& on_end) { run_until(kForever, on_end); }

Bandwidth FlowNetwork::rate(std::uint32_t flow) const {
  return flows_[flow].state == State::running ? flows_[flow].rate.whole() : Bandwidth{};
}

Bytes FlowNetwork::sent(std::uint32_t id) const {
  const Flow& flow = flows_[id];
  if (flow.state == State::waiting) return {};
  const Wide left = left_at(flow, now_);
  const Wide whole = flow.size == FluidSpec::kEndless ? 0 : flow.size.count * kPartsPerByte;
  return {static_cast<std::int64_t>((whole - left) / kPartsPerByte)};
}

}  // namespace fabricast
