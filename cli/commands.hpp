#pragma once
// The commands of the program: each adds its options to the parser and says what to do with them.

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace fabricast {

/// Stable exit codes (docs/commands.md).
enum ExitCode { kDone = 0, kCheckFailed = 1, kInputWrong = 2, kOwnFault = 3 };

struct Answers;

/// Runs the chosen command; the exit code.
using Action = std::function<int(Answers&)>;

void add_bench(CLI::App& app, Action& action);
void add_decide(CLI::App& app, Action& action);
void add_cutover(CLI::App& app, Action& action);
void add_upgrade(CLI::App& app, Action& action);
void add_whatif(CLI::App& app, Action& action);
void add_advise(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_topo(CLI::App& app, Action& action);
void add_lint(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_step(CLI::App& app, Action& action);
void add_judge(CLI::App& app, Action& action);
void add_gate(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_placement(CLI::App& app, Action& action);
void add_hang(CLI::App& app, Action& action);
void add_memory(CLI::App& app, Action& action);
void add_experts(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_sweep(CLI::App& app, Action& action);
void add_query(CLI::App& app, Action& action);
void add_solve(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_ui(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_validate_nccl_tests(CLI::App& validate, Action& action);
void add_validate_gate(CLI::App& validate, Action& action);
void add_validate_experts(CLI::App& validate, Action& action);
void add_validate_steps(CLI::App& validate, Action& action);
void add_validate_engines(CLI::App& validate, Action& action);
void add_validate_registered(CLI::App& validate, Action& action);
void add_validate_serving(CLI::App& validate, Action& action);
void add_validate_kernels(CLI::App& validate, Action& action);

/// Shows the share done on stderr, and of what takes long how long it will take yet, at the pace so
/// far: on a terminal in one line that changes, elsewhere in a line per minute.
class Progress {
 public:
  explicit Progress(const Answers& answers);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// To be told the share done, 0..1.
  std::function<void(double)> callback();

 private:
  std::function<void()> poll_;            ///< Answers::poll
  std::function<void(double)> listener_;  ///< in place of a terminal
  bool watched_;                          ///< by a terminal
  double next_line_s_ = 60;               ///< where it is no terminal, after begin_
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::string shown_;
};

}  // namespace fabricast
