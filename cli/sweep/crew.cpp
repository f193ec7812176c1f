#include "cli/sweep/crew.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "cli/output/streams.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr int kDeathsMax = 1000;                // per crew: something else is wrong then
constexpr int kWorkDone = 0, kStoreFailed = 1;  // exit codes of a worker

volatile sig_atomic_t end_asked = 0;

/// The life of a worker, which never comes back.
[[noreturn]] void live(const std::function<void()>& work, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kWorkDone);
  int code = kWorkDone;
  try {
    work();
  } catch (const Error& error) {
    print_err("fabricast sweep: {}\n", error.what());
    code = kStoreFailed;
  } catch (const std::exception& error) {
    print_err("fabricast sweep: a worker failed: {}\n", error.what());
    code = kStoreFailed;
  }
  _exit(code);
}

class Crew {
 public:
  Crew(const std::function<void()>& work, const std::function<bool()>& is_unfinished)
      : work_(work), is_unfinished_(is_unfinished) {}

  void begin() {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
      throw std::system_error(errno, std::generic_category(), "a worker cannot be started");
    if (child == 0) live(work_, parent);
    workers_.push_back(child);
  }

  bool is_empty() const { return workers_.empty(); }
  void send(int signal) const {
    for (const pid_t worker : workers_) kill(worker, signal);
  }

  /// Those that have ended.
  void reap(CrewEnd& end) {
    const std::vector<pid_t> there = workers_;
    for (const pid_t worker : there) {  // other children are whoever's this is a library of
      int status = 0;
      if (waitpid(worker, &status, WNOHANG) != worker) continue;
      std::erase(workers_, worker);
      if (WIFEXITED(status) && WEXITSTATUS(status) == kWorkDone) continue;
      if (WIFEXITED(status)) {
        end.failure = "a worker could not go on with the store";
        continue;
      }
      ++end.died;
      if (end_asked != 0 || end.died >= kDeathsMax || !is_unfinished_()) continue;
      begin();
      ++end.replaced;
    }
  }

 private:
  const std::function<void()>& work_;
  const std::function<bool()>& is_unfinished_;
  std::vector<pid_t> workers_;
};

/// While it lives, what would end the process only sets end_asked.
class EndingSignals {
 public:
  EndingSignals() {
    end_asked = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { end_asked = 1; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~EndingSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

CrewEnd run_crew(int jobs, const std::function<void()>& work,
                 const std::function<bool()>& is_unfinished, const std::function<void()>& tick) {
  const EndingSignals heard;
  CrewEnd end;
  Crew crew(work, is_unfinished);
  for (int i = 0; i < jobs; ++i) crew.begin();
  while (!crew.is_empty()) {
    std::this_thread::sleep_for(kTick);
    if (end_asked != 0 && !end.was_stopped) {
      end.was_stopped = true;
      crew.send(SIGTERM);
    }
    crew.reap(end);
    tick();
  }
  return end;
}

}  // namespace fabricast
