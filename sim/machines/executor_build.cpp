// Building a machine, and what is found out about it before it runs.

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/machines/executor_access.hpp"

namespace fabricast {
namespace {

Error too_many(const char* what) {
  return Error(std::string("more than 65,536 kinds of ") + what + " in one run",
               "ask for fewer communicators at once, or fewer that differ");
}

/// Its place among those that are known, the last ones first and none of the first `before`; at the
/// end if it is new. Records hold 16 bits of it.
template <class Known, class One>
std::uint16_t number_of(Known& known, const One& one, const char* what, std::size_t before = 0) {
  const auto end = known.rend() - static_cast<std::ptrdiff_t>(before);
  const auto same = std::find(known.rbegin(), end, one);
  if (same != end) return static_cast<std::uint16_t>(known.rend() - same - 1);
  if (known.size() > UINT16_MAX) throw too_many(what);
  known.push_back(one);
  return static_cast<std::uint16_t>(known.size() - 1);
}

}  // namespace

template <class Stamp>
std::uint32_t Executor<Stamp>::add_thread() {
  threads_.push_back({});
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_worker_class(const WorkerClass& worker_class) {
  const std::uint32_t number = number_of(worker_classes_, worker_class, "workers");
  worker_costs_.resize(worker_classes_.size());
  return number;
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_relay_class(const RelayClass& relay_class) {
  const std::uint32_t number = number_of(relay_classes_, relay_class, "relays");
  relay_costs_.resize(relay_classes_.size());
  return number;
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_worker(std::uint32_t worker_class, const Program& program,
                                          Role role) {
  assert(worker_class < worker_classes_.size());
  Worker worker;
  worker.kind = static_cast<std::uint16_t>(worker_class);
  worker.readies = worker_classes_[worker_class].readies;
  workers_.push_back(worker);
  Course course;
  course.role = role;
  course.program = number_of(programs_, &program, "programs", programs_before_);
  courses_.push_back(course);
  return static_cast<std::uint32_t>(workers_.size() - 1);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::add_relay(std::uint32_t relay_class, std::uint32_t thread,
                                         std::uint32_t copies) {
  assert(relay_class < relay_classes_.size());
  assert(thread < threads_.size());
  assert(copies >= 1 && copies <= UINT8_MAX);
  Worker relay;
  relay.kind = static_cast<std::uint16_t>(relay_class);
  relay.server = thread;
  relay.relay = true;
  relay.copies = static_cast<std::uint8_t>(copies);
  workers_.push_back(relay);
  courses_.emplace_back();
  return static_cast<std::uint32_t>(workers_.size() - 1);
}

template <class Stamp>
void Executor<Stamp>::expect(std::size_t workers, std::size_t connections) {
  workers_.reserve(workers_.size() + workers);
  courses_.reserve(courses_.size() + workers);
  connections_.reserve(connections_.size() + connections);
}

template <class Stamp>
std::uint32_t Executor<Stamp>::repeat_call() {
  const std::size_t worker = workers_before_, connection = connections_before_,
                    program = programs_before_;
  start_call();
  const auto by = static_cast<std::uint32_t>(workers_.size() - worker);
  const std::size_t programs = programs_.size() - program;
  if (programs_.size() + programs > UINT16_MAX + std::size_t{1}) throw too_many("programs");
  for (std::size_t i = program; i < programs_before_; ++i) programs_.push_back(programs_[i]);
  for (std::size_t i = worker; i < workers_before_; ++i) {
    workers_.push_back(workers_[i]);
    courses_.push_back(courses_[i]);
    if (!workers_[i].relay)
      courses_.back().program = static_cast<std::uint16_t>(courses_[i].program + programs);
  }
  for (std::size_t i = connection; i < connections_before_; ++i) {
    connections_.push_back(connections_[i]);
    connections_.back().from += by;
    connections_.back().to += by;
  }
  return static_cast<std::uint32_t>(workers_before_);
}

template <class Stamp>
void Executor<Stamp>::connect(const ConnectionSpec& spec) {
  assert(spec.from < workers_.size() && spec.to < workers_.size());
  assert(spec.slots >= 1 && spec.slots < 256);
  assert(spec.copies == 1 || (spec.shares && spec.copies <= UINT16_MAX));
  Connection connection;
  connection.from = spec.from;
  connection.to = spec.to;
  connection.slots = static_cast<std::uint8_t>(spec.slots);
  connection.sized = workers_[spec.to].relay;
  connection.from_relay = workers_[spec.from].relay;
  is_shared_ = is_shared_ || spec.shares;
  Paths& paths = paths_[(spec.shares ? 1 : 0) + (goes_in_step(connection) ? 2 : 0)];
  const std::uint32_t path = paths.ways.add(spec.path);
  if (path == paths.begin.size()) {
    paths.begin.push_back(static_cast<std::uint32_t>(hops_.size()) + kPathHead);
    lay_path(spec.path, spec.shares);
  }
  connection.path = paths.begin[path];
  connection.shares = spec.shares && !spec.path.empty();
  connection.wide = std::any_of(spec.path.begin(), spec.path.end(),
                                [](std::uint32_t link) { return (link & ~kLinkBits) != 0; });
  ConnectionKind kind{spec.overhead, spec.end_saves, spec.sync, spec.credit, spec.ack,
                      spec.copies,   spec.shares,    {},        {},          {}};
  if (spec.by_line && !workers_[spec.to].relay) {
    const WorkerClass& receiver = worker_classes_[workers_[spec.to].kind];
    kind.line_rate = receiver.wire.rate_on_wire(receiver.copy_rate);
    kind.first_lines = receiver.wire.on_wire(receiver.first_pass + receiver.copied_ahead);
    kind.pass = receiver.wire.on_wire(receiver.copied_ahead);
  }
  connection.kind = number_of(connection_kinds_, kind, "connections");
  connections_.push_back(connection);
}

/// Links that stand in one step several times are kept once, if slices share them.
template <class Stamp>
void Executor<Stamp>::lay_path(std::span<const std::uint32_t> path, bool shares) {
  const std::int64_t latency_ps = transit_.latency(path).ps;
  hops_.resize(hops_.size() + kPathHead);
  std::memcpy(&hops_[hops_.size() - kLatency], &latency_ps, sizeof latency_ps);
  const std::size_t number = hops_.size();
  hops_.push_back(0);
  times_.resize(hops_.size());
  std::size_t step = hops_.size();
  for (const std::uint32_t hop : path) {
    if ((hop & kBeside) == 0) step = hops_.size();
    const auto same =
        std::find_if(hops_.begin() + static_cast<std::ptrdiff_t>(step), hops_.end(),
                     [&](std::uint32_t known) { return ((known ^ hop) & ~kBeside) == 0; });
    if (same == hops_.end() || !shares) {
      hops_.push_back(hop);
      times_.push_back(1);
    } else {
      const auto at = static_cast<std::size_t>(same - hops_.begin());
      if (times_[at] == UINT8_MAX)
        throw Error("a slice crosses a link more than 255 times", "ask for fewer heads on one NIC");
      ++times_[at];
    }
  }
  hops_[number] = static_cast<std::uint32_t>(hops_.size() - number - 1);
  hops_[number - kFirstCut] = hops_[number];
}

/// Numbers of connections, in the order of their receivers, and of each as they came.
template <class Stamp>
std::vector<std::uint32_t> Executor<Stamp>::by_receiver() const {
  std::vector<std::uint32_t> next(workers_.size() + 1), out(connections_.size());
  for (const Connection& connection : connections_) ++next[connection.to + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::uint32_t i = 0; i < out.size(); ++i) out[next[connections_[i].to]++] = i;
  return out;
}

/// Lays connections out by receiver, and gives every worker its inputs and outputs.
template <class Stamp>
void Executor<Stamp>::seal() {
  find_crossbars();
  const std::vector<std::uint32_t> order = by_receiver();
  std::vector<std::uint32_t> place(order.size());
  HugePageVector<Connection> sorted;
  sorted.reserve(order.size());
  std::uint32_t far = 0;
  bool is_sized = false;
  for (const std::uint32_t old : order) {
    place[old] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(connections_[old]);
    Connection& connection = sorted.back();
    connection.far = far;
    is_sized = is_sized || connection.sized;
    if (connection.sized) {
      far += connection.slots;
    } else if (connection.slots > kNearSlots) {
      far += connection.slots - kNearSlots;
    }
    ++workers_[connection.to].ins;
    ++workers_[connection.from].outs;
  }
  std::uint32_t in = 0, out = 0;
  for (Worker& worker : workers_) {
    assert(worker.ins <= 32 && worker.outs <= 32);
    assert(!worker.relay || (worker.ins == 1 && worker.outs == 1));
    worker.first_in = in;
    worker.first_out = out;
    in += worker.ins;
    out += worker.outs;
    worker.outs = 0;
  }
  out_connections_.resize(order.size());
  for (std::uint32_t old = 0; old < order.size(); ++old) {
    Worker& from = workers_[connections_[old].from];
    out_connections_[from.first_out + from.outs++] = place[old];
  }
  for (Worker& worker : workers_) {
    worker.single = worker.ins <= 1 && worker.outs <= 1 && worker.crossbar == kNobody;
    if (worker.outs == 1) worker.first_out = out_connections_[worker.first_out];
  }
  connections_ = std::move(sorted);
  paths_ = {};
  lay_legs();
  take_all_of_crossed();
  count_in_step();
  find_plain();
  find_alike();
  is_large_ = workers_.size() >= kLarge;
  is_huge_ = workers_.size() >= kHuge;
  waits_.resize(workers_.size());
  if (is_shared_ && !Stamp::kCausal) foremost_.resize(hops_.size());
  far_slots_.assign(far, Stamp{});
  slot_payload_.assign(is_sized ? far : 0, 0);
}

/// Connections whose slices go their way without anything that is rare.
template <class Stamp>
void Executor<Stamp>::find_plain() {
  for (Connection& connection : connections_) {
    connection.plain = !Stamp::kCausal && connection.first_leg == kNobody && !connection.wide &&
                       !connection.shares;
  }
  for (Worker& worker : workers_)
    worker.plain = !worker.relay && worker.single && worker.ins == 1 && worker.outs == 1 &&
                   connections_[worker.first_out].plain && !worker.late;
}

/// Workers whose outputs are of one kind, and so are their inputs.
template <class Stamp>
void Executor<Stamp>::find_alike() {
  for (Worker& worker : workers_) {
    const auto kind_of = [&](std::uint32_t i, bool is_input) {
      const bool is_direct = is_input || worker.outs == 1;
      const std::uint32_t at = (is_input ? worker.first_in : worker.first_out) + i;
      return connections_[is_direct ? at : out_connections_[at]].kind;
    };
    worker.alike = true;
    for (std::uint32_t i = 1; i < worker.ins; ++i)
      worker.alike = worker.alike && kind_of(i, true) == kind_of(0, true);
    for (std::uint32_t i = 1; i < worker.outs; ++i)
      worker.alike = worker.alike && kind_of(i, false) == kind_of(0, false);
  }
}

/// Links that are booked on arrival: those that ways of different lead join at, or a guest uses.
template <class Stamp>
std::vector<bool> Executor<Stamp>::joints() const {
  if (connections_.empty()) return {};
  std::vector<bool> joins =
      guest_ == nullptr ? std::vector<bool>(transit_.links.size()) : guest_->uses();
  struct Way {
    std::uint32_t path;
    std::int64_t lead;
  };
  std::vector<Way> ways;  // many connections have one and the same
  std::vector<std::int64_t> seen(hops_.size(), -1);
  for (const Connection& connection : connections_) {
    const bool from_worker = !workers_[connection.from].relay;
    const auto lead = from_worker ? connection_kinds_[connection.kind].overhead.ps : 0;
    if (std::exchange(seen[connection.path], lead) != lead) ways.push_back({connection.path, lead});
  }
  return transit_.joints(std::move(joins), [&](const auto& visit) {
    for (const Way& way : ways) visit(path(way.path), way.lead);
  });
}

/// Whether its worker goes on in step with others over its first link.
template <class Stamp>
bool Executor<Stamp>::goes_in_step(const Connection& connection) const {
  const Worker& from = workers_[connection.from];
  return !from.relay && !workers_[connection.to].relay && worker_classes_[from.kind].in_step;
}

/// Cuts paths into legs at the joints, and where the carrier takes over and hands back.
template <class Stamp>
void Executor<Stamp>::lay_legs() {
  const std::vector<bool> joins = joints();
  for (std::uint32_t c = 0; c < connections_.size(); ++c) {
    Connection& connection = connections_[c];
    const std::uint32_t begin = connection.path + 1, end = begin + hops_[connection.path];
    for (std::uint32_t hop = begin, next = hop; hop != end; hop = next) {
      next = step_end(hops_.data(), hop, end);
      if (hop == begin && goes_in_step(connection) && !transit_.is_carried(hops_[hop])) {
        workers_[connection.from].late = transit_.joins_at(joins, hops_.data(), hop, next);
        continue;
      }
      const bool was_carried = hop != begin && transit_.is_carried(hops_[hop - 1]);
      const bool goes_on = transit_.is_carried(hops_[hop])
                               ? was_carried
                               : !was_carried && !transit_.joins_at(joins, hops_.data(), hop, next);
      if (goes_on) continue;
      if (connection.first_leg != kNobody) {
        legs_.back().hop_end = hop;
        legs_.back().last = false;
      } else {
        connection.first_leg = static_cast<std::uint32_t>(legs_.size());
        hops_[connection.path - kFirstCut] = hop - begin;
      }
      legs_.push_back({c, hop, end, 0, 0, 0, true});
    }
  }
  if (transit_.carrier == nullptr) return;
  way_of_leg_.assign(legs_.size(), kNoWay);
  for (std::uint32_t id = 0; id < legs_.size(); ++id) {
    const Leg& leg = legs_[id];
    if (!transit_.is_carried(hops_[leg.hop])) continue;
    way_of_leg_[id] =
        transit_.carrier->add_way({hops_.data() + leg.hop, std::size_t{leg.hop_end} - leg.hop});
    leg_of_way_.resize(std::max(leg_of_way_.size(), way_of_leg_[id] + std::size_t{1}), kNobody);
    leg_of_way_[way_of_leg_[id]] = id;
  }
}

template std::uint32_t Executor<PlainStamp>::add_thread();
template std::uint32_t Executor<PlainStamp>::add_worker_class(const WorkerClass&);
template std::uint32_t Executor<PlainStamp>::add_relay_class(const RelayClass&);
template std::uint32_t Executor<PlainStamp>::add_worker(std::uint32_t, const Program&, Role);
template std::uint32_t Executor<PlainStamp>::add_relay(std::uint32_t, std::uint32_t, std::uint32_t);
template void Executor<PlainStamp>::expect(std::size_t, std::size_t);
template std::uint32_t Executor<PlainStamp>::repeat_call();
template void Executor<PlainStamp>::connect(const ConnectionSpec&);
template std::vector<std::uint32_t> Executor<PlainStamp>::by_receiver() const;
template void Executor<PlainStamp>::seal();
template std::uint32_t Executor<CausalStamp>::add_thread();
template std::uint32_t Executor<CausalStamp>::add_worker_class(const WorkerClass&);
template std::uint32_t Executor<CausalStamp>::add_relay_class(const RelayClass&);
template std::uint32_t Executor<CausalStamp>::add_worker(std::uint32_t, const Program&, Role);
template std::uint32_t Executor<CausalStamp>::add_relay(std::uint32_t, std::uint32_t,
                                                        std::uint32_t);
template void Executor<CausalStamp>::expect(std::size_t, std::size_t);
template std::uint32_t Executor<CausalStamp>::repeat_call();
template void Executor<CausalStamp>::connect(const ConnectionSpec&);
template std::vector<std::uint32_t> Executor<CausalStamp>::by_receiver() const;
template void Executor<CausalStamp>::seal();
template void Executor<PlainStamp>::lay_path(std::span<const std::uint32_t>, bool);
template void Executor<PlainStamp>::find_plain();
template void Executor<PlainStamp>::find_alike();
template std::vector<bool> Executor<PlainStamp>::joints() const;
template bool Executor<PlainStamp>::goes_in_step(const Connection&) const;
template void Executor<PlainStamp>::lay_legs();
template void Executor<CausalStamp>::lay_path(std::span<const std::uint32_t>, bool);
template void Executor<CausalStamp>::find_plain();
template void Executor<CausalStamp>::find_alike();
template std::vector<bool> Executor<CausalStamp>::joints() const;
template bool Executor<CausalStamp>::goes_in_step(const Connection&) const;
template void Executor<CausalStamp>::lay_legs();

}  // namespace fabricast
