#include "cli/sweep/worker.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <fstream>
#include <mutex>
#include <new>
#include <sstream>
#include <thread>

#include "models/io/report/answer.hpp"
#include "models/io/report/report.hpp"
#include "models/studies/questions/question.hpp"
#include "models/studies/shared/for_each.hpp"
#include "models/studies/sweep/headline.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t kLease = 60;  // seconds
constexpr int kTriesMax = 3;
constexpr double kBatch = 0.2;  // seconds of work that are claimed at once
constexpr std::size_t kBatchMax = 256;
constexpr auto kPause = std::chrono::milliseconds(100);

volatile int stop_asked = 0;

std::int64_t now() { return static_cast<std::int64_t>(std::time(nullptr)); }

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// When a process began, in ticks since the host did; "" = there is none.
std::string start_of(long pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::stringstream text;
  text << in.rdbuf();
  const std::string stat = text.str();
  const std::size_t name = stat.rfind(')');  // it may hold blanks
  if (name == std::string::npos) return {};
  std::istringstream fields(stat.substr(name + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

double cpu_seconds(const rusage& use) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

std::string time_text(std::int64_t at) {
  const std::time_t time = at;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

void answer_into(StoreResult& out, const std::string& question, const std::string& file,
                 const volatile int& stop) {
  const auto watch = [&stop](double) {
    if (stop != 0) throw Stopped();
  };
  const ForEach in_watched_turn = [&watch](std::size_t count, const auto& one) {
    in_turn(count, [&](std::size_t i) {
      watch(0);
      one(i);
    });
  };
  try {
    const Answer answer = parse_question(question, file).answer(in_watched_turn, watch);
    const Report report = answer.report();
    out.report = report_json(report);
    out.answer = answer_of(report);
    out.headline = headline_of(report);
    out.headline["holds"] = std::int64_t{answer.holds};
  } catch (const Error& error) {
    out.error = error.message();
    out.error_place = error.place().path;
  } catch (const std::bad_alloc&) {
    out.error = "there is not enough memory for this point";
  } catch (const std::exception& error) {
    out.error = fmt::format("the program failed at this point: {}", error.what());
  }
}

/// Renews the leases of a worker while it works.
class Heartbeat {
 public:
  Heartbeat(const std::string& store, const std::string& worker)
      : thread_([this, store, worker] { beat(store, worker); }) {}
  ~Heartbeat() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void beat(const std::string& store, const std::string& worker) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::seconds(kLease / 3), [this] { return done_; })) {
      try {
        Store(store, StoreAccess::write).renew(worker, now() + kLease);
      } catch (const Error&) {  // the worker itself will meet it, and say so
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

class Worker {
 public:
  Worker(const std::string& store, const SweepWork& work)
      : store_(store, StoreAccess::write),
        path_(store),
        work_(work),
        name_(worker_name()),
        version_(this_version()),
        heartbeat_(store, name_) {
    store_.set_gone(is_gone);
  }

  void run() {
    while (stop_asked == 0) {
      const auto begin = std::chrono::steady_clock::now();
      const std::vector<Claimed> claimed =
          store_.claim(work_.sweep, name_, version_, batch_, now(), kLease);
      if (claimed.empty()) {
        // What others have claimed may come back.
        if (store_.unfinished(work_.sweep, version_) == 0) return;
        std::this_thread::sleep_for(kPause);
        continue;
      }
      for (const Claimed& one : claimed) {
        if (stop_asked != 0) break;
        answer(one);
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (took.count() < kBatch / 2) batch_ = std::min(2 * batch_, kBatchMax);
      if (took.count() > 2 * kBatch) batch_ = std::max(batch_ / 2, std::size_t{1});
    }
    store_.give_back(name_);
  }

 private:
  void answer(const Claimed& one) {
    StoreResult result;
    if (one.tries > kTriesMax) {
      result.error = fmt::format("{} workers died at this point", one.tries - 1);
    } else {
      try {
        result = answer_point(question_of(one), work_.file, stop_asked);
      } catch (const Stopped&) {
        return;
      }
    }
    result.finished_at = time_text(now());
    store_.finish(one, version_, result);
  }

  std::string question_of(const Claimed& one) const {
    const auto known = work_.questions.find(one.job_sha256);
    if (known == work_.questions.end())
      throw Error(Place{path_, 0, {}},
                  fmt::format("another run has changed the points of sweep {}", work_.sweep),
                  "give one of the two another name, or a store of its own");
    return std::string(known->second);
  }

  Store store_;
  std::string path_;
  const SweepWork& work_;
  std::string name_;
  StoreVersion version_;
  Heartbeat heartbeat_;
  std::size_t batch_ = 1;
};

}  // namespace

StoreVersion this_version() { return {std::string(program_version()), data_version()}; }

std::string worker_name() {
  return fmt::format("{}:{}:{}", host_name(), getpid(), start_of(getpid()));
}

bool is_gone(const std::string& worker) {
  const std::size_t last = worker.rfind(':'), first = worker.rfind(':', last - 1);
  if (last == std::string::npos || first == std::string::npos) return false;
  if (worker.substr(0, first) != host_name()) return false;
  const auto pid = to_number<long>(worker.substr(first + 1, last - first - 1));
  return pid && start_of(*pid) != worker.substr(last + 1);
}

StoreResult answer_point(const std::string& question, const std::string& file,
                         const volatile int& stop) {
  StoreResult out;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  answer_into(out, question, file, stop);
  getrusage(RUSAGE_SELF, &after);
  out.cpu_s = cpu_seconds(after) - cpu_seconds(before);
  out.max_rss_bytes = std::int64_t{after.ru_maxrss} * 1024;
  return out;
}

void work_on(const std::string& store, const SweepWork& work) {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  Worker(store, work).run();
}

}  // namespace fabricast
