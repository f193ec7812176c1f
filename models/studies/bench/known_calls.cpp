#include "models/studies/bench/known_calls.hpp"

#include <utility>

#include "models/nccl/call/same_run.hpp"

namespace fabricast {

KnownCalls::Known* KnownCalls::find(const Key& key, const CollectiveRun& run) {
  const auto alike = known_.find(key);
  if (alike == known_.end()) return nullptr;
  for (Known& one : alike->second)
    if (is_same_work(one.run, run)) return &one;
  return nullptr;
}

RunTimes KnownCalls::at(const Cluster& cluster, const CollectiveRun& run,
                        const std::function<RunTimes()>& simulate) {
  const Key key{cluster.nodes(), cluster.hosts(), cluster.fabric().routing,
                run.collective,  run.algorithm,   run.protocol,
                run.count,       run.channels};
  std::unique_lock lock(mutex_);
  ++counts_.asked;
  const bool is_comparable = is_same_work(run, run);
  while (const Known* one = find(key, run)) {
    if (one->times) return *one->times;
    ready_.wait(lock);
  }
  ++counts_.simulated;
  if (is_comparable) known_[key].push_back({run, {}});
  lock.unlock();
  std::optional<RunTimes> out;
  try {
    out = simulate();
  } catch (...) {
    lock.lock();
    std::erase_if(known_[key], [&](const Known& one) { return is_same_work(one.run, run); });
    ready_.notify_all();
    throw;
  }
  if (kept_ == Kept::times) {
    out->alone.links = {};
    out->alone.rank_finish = {};
  }
  lock.lock();
  if (Known* one = find(key, run)) one->times = out;
  ready_.notify_all();
  return *out;
}

MemoCounts KnownCalls::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace fabricast
