#include "cli/workers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cli/options/values.hpp"
#include "models/io/host/cpus.hpp"

namespace fabricast {
namespace {

constexpr std::chrono::milliseconds kBetweenPolls{100};

/// Pieces of work that threads take one after another.
class Pieces {
 public:
  Pieces(std::size_t count, const std::function<void(std::size_t)>& one,
         const std::function<void(double)>& progress, const std::function<void()>& poll)
      : count_(count), one_(one), progress_(progress), poll_(poll), failed_(count) {}

  void run_on(std::size_t threads_max) {
    const std::size_t all = std::min(threads_max, count_);
    at_work_ = all;  // before the first of them may end
    std::vector<std::jthread> threads;
    threads.reserve(all);
    try {
      while (threads.size() + 1 < all) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no more may be made: those that there are do it
      const std::lock_guard lock(mutex_);
      at_work_ -= all - 1 - threads.size();
    }
    if (all > 0) work();
    wait();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        if (poll_) poll_();
        one_(i);
        const std::lock_guard lock(mutex_);
        if (progress_) progress_(static_cast<double>(++done_) / static_cast<double>(count_));
      } catch (...) {
        fail(i);
      }
    }
    const std::lock_guard lock(mutex_);
    if (--at_work_ == 0) ended_.notify_all();
  }

  /// The first thread, which may be the only one that is told of a signal, has nothing else to do.
  void wait() {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kBetweenPolls, [this] { return at_work_ == 0; })) {
      if (!poll_) continue;
      lock.unlock();
      try {
        poll_();
      } catch (...) {
        fail(count_ - 1);
      }
      lock.lock();
    }
  }

  void fail(std::size_t piece) {
    const std::lock_guard lock(mutex_);
    if (piece < failed_) failure_ = std::current_exception();
    failed_ = std::min(failed_, piece);
    next_ = count_;
  }

  std::size_t count_;
  const std::function<void(std::size_t)>& one_;
  const std::function<void(double)>& progress_;
  const std::function<void()>& poll_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  ///< of what is below
  std::condition_variable ended_;
  std::size_t at_work_ = 0;  ///< threads
  std::size_t done_ = 0;
  std::exception_ptr failure_;
  std::size_t failed_;  ///< the first of them: all before it have been begun
};

/// `progress_of_pass`: of the pass that begins.
ForEach for_each_of(const Answers& answers,
                    std::function<std::function<void(double)>()> progress_of_pass) {
  const int jobs = answers.jobs > 0 ? answers.jobs : usable_cpus();
  return [jobs, poll = answers.poll, begin = std::move(progress_of_pass)](std::size_t count,
                                                                          const auto& one) {
    const std::function<void(double)> progress = begin();
    Pieces(count, one, progress, poll).run_on(static_cast<std::size_t>(jobs));
  };
}

}  // namespace

CLI::Option* add_jobs_option(CLI::App& command) {
  return command
      .add_option("--jobs", "threads; default: one for each CPU that this process may use")
      ->check(whole_number(1, kJobsMax))
      ->type_name("INT");
}

ForEach on_all_cores(const Answers& answers, std::function<void(double)> progress) {
  return for_each_of(answers, [progress = std::move(progress)] { return progress; });
}

Passes::Passes(std::function<void(double)> progress, std::vector<double> shares)
    : progress_(std::move(progress)), shares_(std::move(shares)) {}

std::function<void(double)> Passes::next() {
  const double begun = begun_;
  const double share = passes_ < shares_.size() ? shares_[passes_] : (1 - begun) / 2;
  ++passes_;
  begun_ += share;
  return [this, begun, share](double of_pass) { progress_(begun + share * of_pass); };
}

ForEach on_all_cores(const Answers& answers, Passes& passes) {
  return for_each_of(answers, [&passes] { return passes.next(); });
}

std::function<void(double)> piece_of(std::function<void(double)> progress, std::size_t piece,
                                     std::size_t count) {
  return [progress = std::move(progress), begin = static_cast<double>(piece),
          all = static_cast<double>(count)](double share) { progress((begin + share) / all); };
}

}  // namespace fabricast
