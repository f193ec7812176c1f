#pragma once
// The commands of the program: each adds its options to the parser and says what to do with them.

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace fabricast {

/// Stable exit codes (docs/commands.md).
enum ExitCode { kDone = 0, kCheckFailed = 1, kInputWrong = 2, kOwnFault = 3 };

/// Runs the chosen command; the exit code.
using Action = std::function<int()>;

void add_bench(CLI::App& app, Action& action);
void add_decide(CLI::App& app, Action& action);
void add_cutover(CLI::App& app, Action& action);
void add_whatif(CLI::App& app, Action& action);
void add_advise(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_topo(CLI::App& app, Action& action);
void add_lint(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_step(CLI::App& app, Action& action);
void add_judge(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_hang(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_validate_nccl_tests(CLI::App& validate, Action& action);
void add_validate_steps(CLI::App& validate, Action& action);

/// Shows the share done on stderr while it is a terminal, and of what takes long how long it will
/// take yet, at the pace so far; otherwise does nothing.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Empty when nobody watches.
  std::function<void(double)> callback();

 private:
  bool watched_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::string shown_;
};

}  // namespace fabricast
