// What is told of a run: to an observer, and of workers that wait in vain.

#include <string>

#include "sim/machines/executor_access.hpp"

namespace fabricast {

template <class Stamp>
void Executor<Stamp>::show_post(const Post& post, Stamp begin, Stamp end) const {
  const std::uint32_t thread = workers_[post.relay].server;
  observer_->relays(post.relay, thread, {begin.ps}, {end.ps}, {post.cost.bytes});
}

/// What the worker's slice at `start` waited for. REQUIRES: its slots are as they were then.
template <class Stamp>
ObservedWait Executor<Stamp>::wait_of(Worker& worker, Stamp start) {
  ObservedWait wait;
  if (start.ps == worker.free.ps) return wait;
  all_inputs<false>(worker, [&](Connection& input) {
    const std::uint32_t i = input.next_drain;
    if (slot(input, i).ps != start.ps) return true;
    wait = {ObservedWait::For::full_slot, id_of(input), i, input.from};
    return false;
  });
  if (wait.what != ObservedWait::For::nothing) return wait;
  all_outputs<false>(worker, [&](Connection& output) {
    const std::uint32_t i = output.next_fill;
    if (slot(output, i).ps != start.ps) return true;
    wait = {ObservedWait::For::free_slot, id_of(output), i, output.to};
    return false;
  });
  return wait;
}

template <class Stamp>
ObservedSlice Executor<Stamp>::slice_of(Worker& worker, Stamp start, std::uint32_t payload) {
  return {id_of(worker), {worker.free.ps}, {start.ps}, {}, {payload}, wait_of(worker, start)};
}

template <class Stamp>
void Executor<Stamp>::show_departure(const Connection& connection, std::uint32_t slot,
                                     Stamp end) const {
  observer_->departs(id_of(connection), slot, Instant{end.ps} + transit_.latency(path(connection)));
}

/// Who waits for what, "" when all is done. A relay is done when its input is empty.
template <class Stamp>
std::string Executor<Stamp>::stuck() {
  std::string out;
  int named = 0;
  for (std::uint32_t id = 0; id < workers_.size() && named < 8; ++id) {
    const Worker& worker = workers_[id];
    if (worker.done) continue;
    if (worker.relay && connections_[worker.first_in].in_flight == 0) continue;
    out += "worker " + std::to_string(id) + " (lane " + std::to_string(courses_[id].role.lane) +
           ", position " + std::to_string(courses_[id].role.position) + ") waits for";
    all_inputs<false>(worker, [&](const Connection& input) {
      if (input.full == 0) out += " a slice of worker " + std::to_string(input.from);
      return true;
    });
    all_outputs<false>(worker, [&](const Connection& output) {
      if (output.in_flight == output.slots) out += " a slot of worker " + std::to_string(output.to);
      return true;
    });
    out += stuck_at_crossbar(worker);
    out += "; ";
    ++named;
  }
  return out;
}

template void Executor<PlainStamp>::show_post(const Post&, PlainStamp, PlainStamp) const;
template ObservedWait Executor<PlainStamp>::wait_of(Worker&, PlainStamp);
template ObservedSlice Executor<PlainStamp>::slice_of(Worker&, PlainStamp, std::uint32_t);
template void Executor<PlainStamp>::show_departure(const Connection&, std::uint32_t,
                                                   PlainStamp) const;
template std::string Executor<PlainStamp>::stuck();
template void Executor<CausalStamp>::show_post(const Post&, CausalStamp, CausalStamp) const;
template ObservedWait Executor<CausalStamp>::wait_of(Worker&, CausalStamp);
template ObservedSlice Executor<CausalStamp>::slice_of(Worker&, CausalStamp, std::uint32_t);
template void Executor<CausalStamp>::show_departure(const Connection&, std::uint32_t,
                                                    CausalStamp) const;
template std::string Executor<CausalStamp>::stuck();

}  // namespace fabricast
