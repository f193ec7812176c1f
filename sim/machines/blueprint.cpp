#include "sim/machines/blueprint.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

template <class T>
std::uint32_t number_of(std::vector<T>& known, const T& one) {
  const auto at = std::ranges::find(known, one);
  const auto number = static_cast<std::uint32_t>(at - known.begin());
  if (at == known.end()) known.push_back(one);
  return number;
}

}  // namespace

std::uint32_t Blueprint::add_link(LinkSpec spec) {
  links_.push_back(spec);
  return static_cast<std::uint32_t>(links_.size() - 1);
}

std::uint32_t Blueprint::add_worker_class(const WorkerClass& worker_class) {
  return number_of(worker_classes_, worker_class);
}

std::uint32_t Blueprint::add_relay_class(const RelayClass& relay_class) {
  return number_of(relay_classes_, relay_class);
}

std::uint32_t Blueprint::add_worker(std::uint32_t worker_class, const Program& program, Role role) {
  actors_.push_back({&program, role, worker_class});
  return workers() - 1;
}

std::uint32_t Blueprint::add_relay(std::uint32_t relay_class, std::uint32_t thread,
                                   std::uint32_t copies) {
  actors_.push_back({nullptr, {}, relay_class, thread, copies});
  return workers() - 1;
}

void Blueprint::connect(const ConnectionSpec& spec) {
  connections_.push_back(spec);
  connections_.back().path = {static_cast<const std::uint32_t*>(nullptr), 0};
  hops_.push_back(static_cast<std::uint32_t>(spec.path.size()));
  hops_.insert(hops_.end(), spec.path.begin(), spec.path.end());
}

Blueprint::Place Blueprint::build_on(Machine& machine, std::span<const std::uint32_t> links,
                                     std::uint32_t known,
                                     std::optional<std::uint32_t> first_thread) const {
  assert(links.size() == links_.size());
  machine.start_call();
  if (multimem_) machine.set_multimem(*multimem_);
  std::vector<std::uint32_t> threads;
  for (std::uint32_t i = 0; i < threads_; ++i)
    threads.push_back(first_thread && i < known ? *first_thread + i : machine.add_thread());
  const Place out{machine.workers(), threads.empty() ? 0 : threads.front()};
  build_actors(machine, threads);
  build_connections(machine, out.first_worker, links);
  return out;
}

void Blueprint::build_actors(Machine& machine, std::span<const std::uint32_t> threads) const {
  std::vector<std::uint32_t> worker_classes, relay_classes;
  for (const WorkerClass& kind : worker_classes_)
    worker_classes.push_back(machine.add_worker_class(kind));
  for (const RelayClass& kind : relay_classes_)
    relay_classes.push_back(machine.add_relay_class(kind));
  for (const Actor& actor : actors_) {
    if (actor.program != nullptr) {
      machine.add_worker(worker_classes[actor.kind], *actor.program, actor.role);
    } else {
      machine.add_relay(relay_classes[actor.kind], threads[actor.thread], actor.copies);
    }
  }
}

void Blueprint::build_connections(Machine& machine, std::uint32_t first_worker,
                                  std::span<const std::uint32_t> links) const {
  std::vector<std::uint32_t> path;
  std::size_t at = 0;
  for (ConnectionSpec spec : connections_) {
    const std::size_t end = at + 1 + hops_[at];
    path.clear();
    for (++at; at != end; ++at)
      path.push_back((hops_[at] & ~kLinkBits) | links[hops_[at] & kLinkBits]);
    spec.from += first_worker;
    spec.to += first_worker;
    spec.path = path;
    machine.connect(spec);
  }
}

}  // namespace fabricast
