// Crossbars: where each of some workers sends every slice to each of some others, as the ranks of
// a node do to the heads of NVLS, one record stands for all of their connections. Times are those
// that the connections have, and so are events: who is called by the last of its neighbours is
// called by the same event. Only a machine of plain stamps has them: those who look on are told of
// connections, and what caused a stamp depends on which of several came last.

#include <algorithm>
#include <string>

#include "sim/machines/executor_access.hpp"

namespace fabricast {

/// Connections that may be part of a crossbar, by worker, each worker's in the order of its inputs
/// or outputs.
template <class Stamp>
struct Executor<Stamp>::Candidates {
  struct By {
    std::vector<std::uint32_t> begin, connections;

    std::span<const std::uint32_t> of(std::uint32_t worker) const {
      return {connections.data() + begin[worker], connections.data() + begin[worker + 1]};
    }
  };
  By receiver, sender;

  template <class WorkerOf>
  static By sort(const std::vector<std::uint32_t>& all, std::size_t workers, WorkerOf worker_of) {
    By out{std::vector<std::uint32_t>(workers + 1), std::vector<std::uint32_t>(all.size())};
    for (const std::uint32_t connection : all) ++out.begin[worker_of(connection)];
    for (std::size_t i = 1; i <= workers; ++i) out.begin[i] += out.begin[i - 1];
    for (auto at = all.rbegin(); at != all.rend(); ++at)
      out.connections[--out.begin[worker_of(*at)]] = *at;
    return out;
  }
};

template <class Stamp>
bool Executor<Stamp>::may_be_crossed(const Connection& connection) const {
  const auto takes_all = [this](const Worker& worker) {
    return !worker.relay && programs_[courses_[id_of(worker)].program]->takes_all() &&
           !worker_classes_[worker.kind].in_step;
  };
  return hops_[connection.path] == 0 && connection.slots <= kCrossbarSlots &&
         connection.from != connection.to &&
         connection_kinds_[connection.kind].line_rate.bytes_per_s == 0 &&
         takes_all(workers_[connection.from]) && takes_all(workers_[connection.to]);
}

/// Puts crossbars in the place of connections. REQUIRES: connections are in the order of connect().
template <class Stamp>
void Executor<Stamp>::find_crossbars() {
  if (Stamp::kCausal || std::none_of(programs_.begin(), programs_.end(),
                                     [](const Program* program) { return program->takes_all(); }))
    return;
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < connections_.size(); ++i)
    if (may_be_crossed(connections_[i])) all.push_back(i);
  const Candidates candidates{
      Candidates::sort(all, workers_.size(), [this](auto i) { return connections_[i].to; }),
      Candidates::sort(all, workers_.size(), [this](auto i) { return connections_[i].from; })};
  for (std::uint32_t receiver = 0; receiver < workers_.size(); ++receiver) {
    const auto in = candidates.receiver.of(receiver);
    if (in.empty()) continue;
    const auto out = candidates.sender.of(connections_[in.front()].from);
    if (in.size() + out.size() > 2 && are_crossed(in, out, candidates)) add_crossbar(in, out);
  }
  drop_crossed(all);
}

/// Of these connections those that a crossbar stands for.
template <class Stamp>
void Executor<Stamp>::drop_crossed(const std::vector<std::uint32_t>& candidates) {
  std::vector<bool> is_crossed(connections_.size());
  for (const std::uint32_t i : candidates) {
    const Worker &from = workers_[connections_[i].from], &to = workers_[connections_[i].to];
    is_crossed[i] = from.fills && !to.fills && from.crossbar == to.crossbar;
  }
  std::size_t left = 0;
  for (std::size_t i = 0; i < connections_.size(); ++i)
    if (!is_crossed[i]) connections_[left++] = connections_[i];
  connections_.resize(left);
}

/// Whether those who send to one worker, over `in`, are joined to those that one of them sends to,
/// over `out`, and to nobody else, in like ways, and have no crossbar yet.
template <class Stamp>
bool Executor<Stamp>::are_crossed(std::span<const std::uint32_t> in,
                                  std::span<const std::uint32_t> out,
                                  const Candidates& candidates) const {
  const Connection& first = connections_[in.front()];
  const auto is_free = [this](std::uint32_t worker) {
    return workers_[worker].crossbar == kNobody;
  };
  const auto goes_to_all = [&](std::uint32_t sender) {
    const auto its = candidates.sender.of(sender);
    return is_free(sender) && std::ranges::equal(its, out, [&](std::uint32_t a, std::uint32_t b) {
             return connections_[a].to == connections_[b].to &&
                    connections_[a].kind == first.kind && connections_[a].slots == first.slots;
           });
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint32_t sender = connections_[in[i]].from;
    const bool is_known = std::any_of(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](auto at) { return connections_[at].from == sender; });
    if (is_known || !goes_to_all(sender)) return false;
  }
  return std::ranges::all_of(out, [&](std::uint32_t at) {
    const std::uint32_t receiver = connections_[at].to;
    return is_free(receiver) && candidates.receiver.of(receiver).size() == in.size();
  });
}

template <class Stamp>
void Executor<Stamp>::add_crossbar(std::span<const std::uint32_t> in,
                                   std::span<const std::uint32_t> out) {
  const auto number = static_cast<std::uint32_t>(crossbars_.size());
  const Connection& first = connections_[in.front()];
  Crossbar crossbar;
  crossbar.kind = first.kind;
  crossbar.slots = first.slots;
  crossbar.senders = static_cast<std::uint8_t>(in.size());
  crossbar.receivers = static_cast<std::uint8_t>(out.size());
  crossbar.waiting = static_cast<std::uint32_t>(crossbar_waiting_.size());
  crossbar_waiting_.resize(crossbar_waiting_.size() + in.size() + out.size());
  crossbars_.push_back(crossbar);
  for (const std::uint32_t at : in) {
    workers_[connections_[at].from].crossbar = number;
    workers_[connections_[at].from].fills = true;
  }
  for (const std::uint32_t at : out) workers_[connections_[at].to].crossbar = number;
}

/// What their programs say of inputs and outputs counts those of the crossbar.
template <class Stamp>
void Executor<Stamp>::take_all_of_crossed() {
  for (Worker& worker : workers_) {
    if (worker.crossbar == kNobody) continue;
    worker.in = static_cast<std::uint32_t>((std::uint64_t{1} << worker.ins) - 1);
    worker.out = static_cast<std::uint32_t>((std::uint64_t{1} << worker.outs) - 1);
  }
}

/// That of a primitive's outputs counts, or of its inputs when it only receives.
template <class Stamp>
Duration Executor<Stamp>::crossbar_overhead(const Worker& worker) const {
  if (worker.crossbar == kNobody || (!worker.fills && worker.out != 0)) return {};
  return connection_kinds_[crossbars_[worker.crossbar].kind].overhead;
}

/// Adds what the next slice waits for there.
template <class Stamp>
void Executor<Stamp>::look_at_crossbar(const Worker& worker, Waits& out) {
  Crossbar& crossbar = crossbars_[worker.crossbar];
  const std::uint32_t crossed = waits_[id_of(worker)].crossed;
  const std::uint32_t slot = crossed % crossbar.slots;
  const bool is_missing =
      worker.fills ? crossed - crossbar.drained == crossbar.slots : crossed == crossbar.filled;
  if (!is_missing) {
    const Stamp& since = worker.fills ? crossbar.free[slot] : crossbar.full[slot];
    out.at = later(out.at, Instant{since.ps});
    return;
  }
  ++out.missing;
  const std::uint32_t place =
      worker.fills ? crossbar.senders_waiting++ : crossbar.senders + crossbar.receivers_waiting++;
  crossbar_waiting_[crossbar.waiting + place] = id_of(worker);
}

/// The worker has sent a slice. Whoever waits there, waits for the slice that is complete with it.
template <class Stamp>
void Executor<Stamp>::fill_crossbar(const Worker& worker, Stamp end) {
  Crossbar& crossbar = crossbars_[worker.crossbar];
  const std::uint32_t slot = waits_[id_of(worker)].crossed++ % crossbar.slots;
  Stamp& full = crossbar.full[slot];
  full = later(full, end.plus(connection_kinds_[crossbar.kind].sync, Cause::latency));
  if (++crossbar.fills[slot] < crossbar.senders) return;
  crossbar.fills[slot] = 0;
  ++crossbar.filled;
  call(crossbar.waiting + crossbar.senders, crossbar.receivers_waiting, full);
}

/// The worker has taken a slice.
template <class Stamp>
void Executor<Stamp>::drain_crossbar(const Worker& worker, Stamp end) {
  Crossbar& crossbar = crossbars_[worker.crossbar];
  const std::uint32_t slot = waits_[id_of(worker)].crossed++ % crossbar.slots;
  Stamp& free = crossbar.free[slot];
  free = later(free, end.plus(connection_kinds_[crossbar.kind].credit, Cause::slots));
  if (++crossbar.drains[slot] < crossbar.receivers) return;
  crossbar.drains[slot] = 0;
  ++crossbar.drained;
  call(crossbar.waiting, crossbar.senders_waiting, free);
}

/// Those who wait, `count` of them, from there on in crossbar_waiting_.
template <class Stamp>
void Executor<Stamp>::call(std::uint32_t waiting, std::uint8_t& count, const Stamp& at) {
  for (std::uint32_t i = 0; i < count; ++i) brought(crossbar_waiting_[waiting + i], at);
  count = 0;
}

/// Whom the worker waits for there.
template <class Stamp>
std::string Executor<Stamp>::stuck_at_crossbar(const Worker& worker) const {
  std::string out;
  if (worker.crossbar == kNobody) return out;
  const Crossbar& crossbar = crossbars_[worker.crossbar];
  const std::uint32_t crossed = waits_[id_of(worker)].crossed;
  for (std::uint32_t id = 0; id < workers_.size(); ++id) {
    if (workers_[id].crossbar != worker.crossbar || workers_[id].fills == worker.fills) continue;
    const std::uint32_t its = waits_[id].crossed;
    if (worker.fills ? crossed - its == crossbar.slots : its == crossed)
      out += (worker.fills ? " a slot of worker " : " a slice of worker ") + std::to_string(id);
  }
  return out;
}

template void Executor<PlainStamp>::find_crossbars();
template bool Executor<PlainStamp>::may_be_crossed(const Connection&) const;
template bool Executor<PlainStamp>::are_crossed(std::span<const std::uint32_t>,
                                                std::span<const std::uint32_t>,
                                                const Candidates&) const;
template void Executor<PlainStamp>::add_crossbar(std::span<const std::uint32_t>,
                                                 std::span<const std::uint32_t>);
template void Executor<PlainStamp>::drop_crossed(const std::vector<std::uint32_t>&);
template void Executor<PlainStamp>::take_all_of_crossed();
template Duration Executor<PlainStamp>::crossbar_overhead(const Worker&) const;
template void Executor<PlainStamp>::look_at_crossbar(const Worker&, Waits&);
template void Executor<PlainStamp>::fill_crossbar(const Worker&, PlainStamp);
template void Executor<PlainStamp>::drain_crossbar(const Worker&, PlainStamp);
template void Executor<PlainStamp>::call(std::uint32_t, std::uint8_t&, const PlainStamp&);
template std::string Executor<PlainStamp>::stuck_at_crossbar(const Worker&) const;
template void Executor<CausalStamp>::find_crossbars();
template bool Executor<CausalStamp>::may_be_crossed(const Connection&) const;
template bool Executor<CausalStamp>::are_crossed(std::span<const std::uint32_t>,
                                                 std::span<const std::uint32_t>,
                                                 const Candidates&) const;
template void Executor<CausalStamp>::add_crossbar(std::span<const std::uint32_t>,
                                                  std::span<const std::uint32_t>);
template void Executor<CausalStamp>::drop_crossed(const std::vector<std::uint32_t>&);
template void Executor<CausalStamp>::take_all_of_crossed();
template Duration Executor<CausalStamp>::crossbar_overhead(const Worker&) const;
template void Executor<CausalStamp>::look_at_crossbar(const Worker&, Waits&);
template void Executor<CausalStamp>::fill_crossbar(const Worker&, CausalStamp);
template void Executor<CausalStamp>::drain_crossbar(const Worker&, CausalStamp);
template void Executor<CausalStamp>::call(std::uint32_t, std::uint8_t&, const CausalStamp&);
template std::string Executor<CausalStamp>::stuck_at_crossbar(const Worker&) const;

}  // namespace fabricast
