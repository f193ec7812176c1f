// Workers that share a link evenly go on in step: where one pauses, all of them leave the link
// idle.

#include <map>
#include <utility>

#include "sim/machines/executor_access.hpp"

namespace fabricast {

/// Workers of one program are one kernel, and go on in step. Other programs' do not wait for them.
template <class Stamp>
void Executor<Stamp>::count_in_step() {
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint16_t> counts;  // by link and program
  const auto count_of = [&](Worker& worker) -> std::uint16_t* {
    if (worker.relay || worker.outs == 0 || !worker_classes_[worker.kind].in_step) return nullptr;
    const Connection& output = first_output(worker);
    if (workers_[output.to].relay || hops_[output.path] == 0) return nullptr;
    worker.server = hops_[output.path + 1] & kLinkBits;
    return &counts[{worker.server, courses_[id_of(worker)].program}];
  };
  for (Worker& worker : workers_)
    if (std::uint16_t* count = count_of(worker)) ++*count;
  for (Worker& worker : workers_) {
    const std::uint16_t* const count = count_of(worker);
    if (count == nullptr) continue;
    worker.in_step = *count;
    worker.pauses = worker_classes_[worker.kind].pauses;
  }
  if (counts.empty()) return;
  idle_.resize(transit_.links.size());
  idle_seen_.resize(workers_.size(), Duration{-1});
  sent_in_step_.resize(workers_.size());
}

/// A worker in step has handled a slice that it does not send: it leaves its share of the link
/// idle.
template <class Stamp>
void Executor<Stamp>::leave_idle(const Worker& worker, Stamp start, Duration busy) {
  const Duration idle = still_in_step(worker, {busy.ps / worker.in_step});
  if (idle.ps == 0) return;
  const std::uint32_t number = worker.server;
  Link& link = transit_.links[number];
  const std::int64_t was_free = link.free.ps;
  link.free = later(link.free, start).plus(idle, Cause::worker);
  idle_[number] += Duration{link.free.ps - was_free};
}

/// Of a time that workers in step spend together, what is left of it as they drift apart.
template <class Stamp>
Duration Executor<Stamp>::still_in_step(const Worker& worker, Duration together) const {
  const std::int64_t slices = worker_classes_[worker.kind].in_step_slices;
  if (slices == 0) return together;
  const std::int64_t left = slices - sent_in_step_[id_of(worker)];
  return {left == 0 ? 0 : together.ps * left / slices};
}

/// Whether nothing is left of it for good.
template <class Stamp>
bool Executor<Stamp>::has_drifted(const Worker& worker) const {
  const std::uint32_t slices = worker_classes_[worker.kind].in_step_slices;
  return slices > 0 && sent_in_step_[id_of(worker)] == slices;
}

/// A worker in step is about to send a slice: since its last one the link was idle for as long as
/// all of them paused.
template <class Stamp>
void Executor<Stamp>::pause(Worker& worker, Stamp begin, Duration overhead) {
  overhead = still_in_step(worker, overhead);
  if (overhead.ps == 0) {
    if (has_drifted(worker)) worker.pauses = false;
    return;
  }
  const std::uint32_t number = worker.server;
  Link& link = transit_.links[number];
  Duration& idle = idle_[number];
  Duration& seen = idle_seen_[id_of(worker)];
  if (begin.ps > link.free.ps) {
    idle += Duration{begin.ps - link.free.ps};
  } else if (const Duration missing = overhead - (idle - seen); seen.ps >= 0 && missing.ps > 0) {
    link.free = link.free.plus(missing, Cause::latency);
    idle += missing;
  }
  seen = idle;
  std::uint32_t& sent = sent_in_step_[id_of(worker)];
  if (sent < worker_classes_[worker.kind].in_step_slices) ++sent;
}

template void Executor<PlainStamp>::count_in_step();
template void Executor<PlainStamp>::leave_idle(const Worker&, PlainStamp, Duration);
template void Executor<PlainStamp>::pause(Worker&, PlainStamp, Duration);
template void Executor<CausalStamp>::count_in_step();
template void Executor<CausalStamp>::leave_idle(const Worker&, CausalStamp, Duration);
template void Executor<CausalStamp>::pause(Worker&, CausalStamp, Duration);
template Duration Executor<PlainStamp>::still_in_step(const Worker&, Duration) const;
template bool Executor<PlainStamp>::has_drifted(const Worker&) const;
template Duration Executor<CausalStamp>::still_in_step(const Worker&, Duration) const;
template bool Executor<CausalStamp>::has_drifted(const Worker&) const;

}  // namespace fabricast
