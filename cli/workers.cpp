#include "cli/workers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cli/options/values.hpp"
#include "models/io/host/cpus.hpp"

namespace fabricast {
namespace {

void for_each_on(int threads_max, std::size_t count, const std::function<void(std::size_t)>& one,
                 const std::function<void(double)>& progress) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  std::exception_ptr failure;
  std::size_t failed = count;  // the first of them: all before it have been begun
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        one(i);
        const std::lock_guard lock(mutex);
        if (progress) progress(static_cast<double>(++done) / static_cast<double>(count));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) failure = std::current_exception();
        failed = std::min(failed, i);
        next = count;
        return;
      }
    }
  };
  {
    const std::size_t most = std::min(static_cast<std::size_t>(threads_max), count);
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < most; ++i) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

CLI::Option* add_jobs_option(CLI::App& command) {
  return command
      .add_option("--jobs", "threads; default: one for each CPU that this process may use")
      ->check(whole_number(1, kJobsMax))
      ->type_name("INT");
}

ForEach on_all_cores(const Answers& answers, std::function<void(double)> progress) {
  const int jobs = answers.jobs > 0 ? answers.jobs : usable_cpus();
  return [jobs, progress = std::move(progress)](std::size_t count, const auto& one) {
    for_each_on(jobs, count, one, progress);
  };
}

}  // namespace fabricast
