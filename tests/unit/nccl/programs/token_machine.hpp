#pragma once
// A machine that moves symbolic data through a schedule's wiring: slices hold how often each rank's
// contribution is in them. No time passes; slots and order count, so a deadlock shows.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/links/machine.hpp"

namespace fabricast::testing {

/// Rank -> times contributed.
using Contributions = std::map<int, int>;

class TokenMachine final : public Machine {
 public:
  std::uint32_t add_link(LinkSpec) override { return links_++; }
  std::uint32_t add_thread() override { return threads_++; }
  void set_multimem(MultimemWire) override {}
  std::uint32_t add_worker_class(const WorkerClass&) override { return classes_++; }
  std::uint32_t add_relay_class(const RelayClass&) override { return classes_++; }
  void start_call() override {}
  std::uint32_t add_worker(std::uint32_t, const Program& program, Role role) override {
    workers_.push_back({&program, role, {}, {}, {}, {}, false});
    return workers() - 1;
  }
  std::uint32_t add_relay(std::uint32_t, std::uint32_t, std::uint32_t) override {
    workers_.push_back({nullptr, {}, {}, {}, {}, {}, true});
    return workers() - 1;
  }
  void connect(const ConnectionSpec& spec) override {
    workers_[spec.from].outputs.push_back(queues_.size());
    workers_[spec.to].inputs.push_back(queues_.size());
    queues_.push_back({spec.slots, {}, {spec.path.begin(), spec.path.end()}, spec.to});
  }
  std::uint32_t workers() const override { return static_cast<std::uint32_t>(workers_.size()); }

  bool has_inputs(std::uint32_t worker) const { return !workers_[worker].inputs.empty(); }
  bool has_outputs(std::uint32_t worker) const { return !workers_[worker].outputs.empty(); }
  /// Whether what the worker sends goes through a proxy sooner or later.
  bool reaches_proxy(std::uint32_t worker) const {
    return std::ranges::any_of(workers_[worker].outputs, [this](std::size_t queue) {
      const std::uint32_t to = queues_[queue].to;
      return workers_[to].is_relay || reaches_proxy(to);
    });
  }

  /// Until nothing moves. `own`: what a worker adds to every slice. `seen`: every slice that a
  /// worker has put together, and its payload. Returns the number of workers that are stuck.
  int run(const std::function<Contributions(std::uint32_t)>& own,
          const std::function<void(std::uint32_t, const Contributions&, Bytes)>& seen) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t id = 0; id < workers(); ++id) {
        while (step(id, own, seen)) moved = true;
      }
    }
    int stuck = 0;
    for (Worker& worker : workers_) {
      if (!worker.is_relay && !(worker.left == 0 && !fetch(worker))) ++stuck;
    }
    for (const Queue& queue : queues_) stuck += queue.slices.empty() ? 0 : 1;
    return stuck;
  }

  /// Payload that crossed each link, all links of a wide step counted.
  const std::map<std::uint32_t, std::int64_t>& crossed() const { return crossed_; }

 private:
  struct Slice {
    Contributions what;
    Bytes payload;
  };
  struct Queue {
    std::size_t slots;
    std::deque<Slice> slices;
    std::vector<std::uint32_t> path;
    std::uint32_t to;
  };
  struct Worker {
    const Program* program;
    Role role;
    Cursor cursor;
    Primitive primitive;
    std::vector<std::size_t> inputs, outputs;
    bool is_relay;
    std::uint32_t left = 0;  ///< slices of the primitive
  };

  static bool fetch(Worker& worker) {
    if (!worker.program->next(worker.role, worker.cursor, worker.primitive)) return false;
    worker.left = worker.primitive.slices;
    return true;
  }

  bool step(std::uint32_t id, const auto& own, const auto& seen) {
    Worker& worker = workers_[id];
    if (worker.is_relay) {
      worker.primitive.in = worker.primitive.out = 1;
    } else if (worker.left == 0 && !fetch(worker)) {
      return false;
    }
    for (std::size_t i = 0; i < worker.inputs.size(); ++i) {
      if ((worker.primitive.in >> i & 1) != 0 && queues_[worker.inputs[i]].slices.empty())
        return false;
    }
    for (std::size_t i = 0; i < worker.outputs.size(); ++i) {
      const Queue& queue = queues_[worker.outputs[i]];
      if ((worker.primitive.out >> i & 1) != 0 && queue.slices.size() == queue.slots) return false;
    }
    Slice slice;
    if (!worker.is_relay) {
      slice.what = own(id);
      const std::int64_t done =
          (worker.primitive.slices - worker.left) * std::int64_t{worker.primitive.slice.count};
      slice.payload = {std::min(worker.primitive.slice.count,
                                std::max<std::int64_t>(0, worker.primitive.chunk.count - done))};
      --worker.left;
    }
    for (std::size_t i = 0; i < worker.inputs.size(); ++i) {
      if ((worker.primitive.in >> i & 1) == 0) continue;
      std::deque<Slice>& slices = queues_[worker.inputs[i]].slices;
      for (const auto& [rank, times] : slices.front().what) slice.what[rank] += times;
      if (worker.is_relay) slice.payload = slices.front().payload;
      slices.pop_front();
    }
    for (std::size_t i = 0; i < worker.outputs.size(); ++i) {
      if ((worker.primitive.out >> i & 1) == 0) continue;
      Queue& queue = queues_[worker.outputs[i]];
      queue.slices.push_back(slice);
      for (const std::uint32_t link : queue.path)
        crossed_[link & kLinkBits] += piece_of(link, slice.payload).count;
    }
    seen(id, slice.what, slice.payload);
    return true;
  }

  std::vector<Worker> workers_;
  std::vector<Queue> queues_;
  std::map<std::uint32_t, std::int64_t> crossed_;
  std::uint32_t links_ = 0, threads_ = 0, classes_ = 0;
};

}  // namespace fabricast::testing
