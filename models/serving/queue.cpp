#include "models/serving/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "models/serving/worker.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

constexpr std::int64_t kBetweenReports = 256;  ///< events: below a millisecond

enum class Happens : std::uint8_t { arrival, handover, pass_ends };

struct Event {
  double time = 0;
  std::int64_t order = 0;  ///< of equal times
  Happens what{};
  int index = 0;       ///< a request, or a worker
  int generation = 0;  ///< of a worker's plan
  bool operator>(const Event& other) const {
    return std::pair(time, order) > std::pair(other.time, other.order);
  }
};

class Run {
 public:
  Run(const ServeQueue& queue, const std::vector<ServeRequest>& requests)
      : queue_(queue), requests_(requests) {
    const bool apart = queue.prefill.has_value();
    const ServePool& first = apart ? *queue.prefill : queue.pool;
    prompt_workers_ = first.workers;
    for (int i = 0; i < first.workers; ++i) workers_.emplace_back(first, apart);
    if (apart)
      for (int i = 0; i < queue.pool.workers; ++i) workers_.emplace_back(queue.pool, false);
    sender_free_.assign(workers_.size(), 0);
    out_.requests.resize(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      out_.requests[i].prompt = requests[i].prompt;
      out_.requests[i].output = requests[i].output;
    }
  }

  QueueResult run(const std::function<void(double)>& progress) {
    const std::size_t all = requests_.size();
    const std::size_t at_first =
        queue_.concurrency > 0 ? std::min(all, static_cast<std::size_t>(queue_.concurrency)) : all;
    for (; asked_ < at_first; ++asked_)
      arrive(static_cast<int>(asked_), queue_.concurrency > 0 ? 0 : requests_[asked_].arrival);
    for (std::int64_t taken = 0; !events_.empty(); ++taken) {
      if (progress && taken % kBetweenReports == 0)
        progress(static_cast<double>(done_) / static_cast<double>(all));
      const Event event = events_.top();
      events_.pop();
      take(event);
    }
    sum_up();
    return std::move(out_);
  }

 private:
  void push(double time, Happens what, int index, int generation = 0) {
    events_.push({time, order_++, what, index, generation});
  }
  void arrive(int request, double now) {
    out_.requests[static_cast<std::size_t>(request)].arrival = now;
    const int prompt = requests_[static_cast<std::size_t>(request)].prompt;
    front_free_ = std::max(front_free_, now) + prompt * queue_.token / prompt_workers_;
    push(front_free_ + queue_.front, Happens::arrival, request);
  }

  ServeItem item_of(int request) const {
    const ServeRequest& one = requests_[static_cast<std::size_t>(request)];
    ServeItem out;
    out.id = request;
    out.prompt = one.prompt;
    out.output = one.output;
    out.cached = std::min(one.cached, one.prompt - 1);
    out.left = out.prompt - out.cached;
    return out;
  }

  void take(const Event& event) {
    if (event.what == Happens::arrival) {
      deliver(item_of(event.index), 0, prompt_workers_, event.time);
    } else if (event.what == Happens::handover) {
      ServeItem item = item_of(event.index);
      item.cached = 0;
      item.left = 0;
      item.produced = 1;
      item.is_handed = true;
      if (item.output == 1) {
        out_.requests[static_cast<std::size_t>(event.index)].first_token = event.time;
        done(event.index, event.time);
      } else {
        deliver(item, prompt_workers_, static_cast<int>(workers_.size()), event.time);
      }
    } else if (ServeWorker& worker = workers_[static_cast<std::size_t>(event.index)];
               !worker.is_idle() && worker.generation() == event.generation) {
      end_passes(event.index, event.time);
    }
  }

  /// To the worker that has fewest, of those from `first` to before `last`, or that is next.
  void deliver(const ServeItem& item, int first, int last, double now) {
    int best = first;
    for (int i = first + 1; i < last; ++i)
      if (at(i).requests() < at(best).requests()) best = i;
    if (queue_.in_turn) best = first + turns_[first > 0]++ % (last - first);
    ServeWorker& worker = at(best);
    const int planned = worker.generation();
    worker.deliver(item, now);
    if (worker.is_idle()) {
      begin(best, now);
    } else if (worker.generation() != planned) {
      push(worker.end(), Happens::pass_ends, best, worker.generation());
    }
  }

  void begin(int worker, double now) {
    at(worker).begin(now);
    if (!at(worker).is_idle())
      push(at(worker).end(), Happens::pass_ends, worker, at(worker).generation());
  }

  void end_passes(int worker, double now) {
    const ServeWorker::Ended ended = at(worker).finish();
    if (queue_.prefill && worker < prompt_workers_) {
      for (const ServeItem& item : ended.first) hand_over(worker, item, now);
    } else {
      for (const ServeItem& item : ended.first)
        out_.requests[static_cast<std::size_t>(item.id)].first_token = now;
      for (const ServeItem& item : ended.done) done(item.id, now);
    }
    if (at(worker).is_idle()) begin(worker, now);
  }

  /// Keys and values leave over NICs that send one request's after another's.
  void hand_over(int worker, const ServeItem& item, double now) {
    double& free = sender_free_[static_cast<std::size_t>(worker)];
    double ready = now;
    if (queue_.sends) {
      const double occupied = queue_.sends(item.prompt);
      const double waits = queue_.waits(item.prompt, now - item.computing);
      ready = std::max(now + waits, free + occupied);
      free = ready;
    }
    push(ready, Happens::handover, item.id);
  }

  void done(int request, double now) {
    ++done_;
    out_.requests[static_cast<std::size_t>(request)].finish = now;
    out_.end = std::max(out_.end, now);
    if (queue_.concurrency > 0 && asked_ < requests_.size())
      arrive(static_cast<int>(asked_++), now);
  }

  void sum_up() {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      workers_[i].add_to(out_, queue_.prefill && static_cast<int>(i) < prompt_workers_);
    double time = 0, begin = out_.end;
    for (const ServedRequest& one : out_.requests) {
      time += one.finish - one.arrival;
      begin = std::min(begin, one.arrival);
    }
    const double span = out_.end - begin;
    if (span <= 0) return;
    out_.in_flight = time / span;
    out_.busy /= span * queue_.pool.workers;
    if (queue_.prefill) out_.prefill_busy /= span * prompt_workers_;
    for (const auto& [gap, times] : out_.gaps)
      out_.decoding += gap * times / span / queue_.pool.workers;
  }

  ServeWorker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }

  const ServeQueue& queue_;
  const std::vector<ServeRequest>& requests_;
  std::vector<ServeWorker> workers_;  ///< those of prompts first
  int prompt_workers_ = 0;
  std::array<int, 2> turns_{};  ///< of the workers for prompts, of the others
  std::vector<double> sender_free_;
  double front_free_ = 0;  ///< front ends, one of each engine: when they are done with those before
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t order_ = 0;
  std::size_t asked_ = 0, done_ = 0;  ///< requests
  QueueResult out_;
};

void check(const ServePool& pool, const ServeRequest& request, int output) {
  const std::int64_t needed = pool.rules.blocks_of(request.prompt + output);
  if (needed <= pool.rules.blocks) return;
  throw Error(
      fmt::format(
          "a request of {} + {} tokens needs {} blocks of keys and values, an engine has {}",
          request.prompt, output, needed, pool.rules.blocks),
      "more GPUs, smaller requests or 8-bit weights make room");
}

}  // namespace

double BatchRules::tokens_per_pass() const {
  double out = 1, right = 1;
  for (int i = 0; i < drafts; ++i) out += right *= acceptance;
  return out;
}

std::int64_t BatchRules::blocks_of(double tokens) const {
  return static_cast<std::int64_t>(std::ceil(tokens / block_tokens - 1e-9));
}

QueueResult run_queue(const ServeQueue& queue, const std::vector<ServeRequest>& requests,
                      const std::function<void(double)>& progress) {
  for (const ServeRequest& one : requests) {
    check(queue.pool, one, one.output);
    if (queue.prefill) check(*queue.prefill, one, 1);
  }
  return Run(queue, requests).run(progress);
}

}  // namespace fabricast
