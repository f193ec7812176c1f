#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/workers.hpp"
#include "models/studies/solve/solve.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

namespace {

struct SolveOptions {
  std::string file, until, such_that, fewest, most, format = "text";
  std::vector<std::string> vary;
  bool grid = false;
};

SolveAsk ask_of(const SolveOptions& options) {
  SolveAsk out;
  out.file = options.file;
  out.grid = options.grid;
  for (const std::string& one : options.vary) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(option_place("--vary"), "\"" + one + "\" is no key and its values",
                  "like nodes=1..64, or topology=dgx-h100,hgx-b200");
    out.vary.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  const bool counts = !options.fewest.empty() || !options.most.empty();
  if (counts == options.such_that.empty() || counts == !options.until.empty())
    throw Error("one condition is needed",
                "--until CONDITION, or --fewest KEY (or --most KEY) with --such-that CONDITION");
  out.key = options.fewest.empty() ? options.most : options.fewest;
  out.condition = counts ? options.such_that : options.until;
  if (counts) out.goal = options.fewest.empty() ? SolveGoal::most : SolveGoal::fewest;
  return out;
}

int run(const SolveOptions& options, const Answers& answers) {
  const SolveAsk ask = ask_of(options);
  Progress progress(answers);
  const auto result = std::make_shared<const SolveResult>(
      run_solve(ask, on_all_cores(answers, progress.callback())));
  answers.give(
      options.format, [result] { return solve_text(*result); },
      [result] { return solve_report(*result); });
  return kDone;
}

}  // namespace

void add_solve(CLI::App& app, Action& action) {
  auto options = std::make_shared<SolveOptions>();
  CLI::App* command =
      app.add_subcommand("solve", "a question asked backwards: which value makes a condition hold");
  command->add_option("file", options->file, "YAML file of a question, as `run` takes it")
      ->required();
  command
      ->add_option("--vary", options->vary,
                   "KEY=1..64 (doubling), 1..8:+1, or a,b,c: the first is searched, others cross; "
                   "may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--until", options->until,
                      "how far the key may go: \"step_s <= 1.03 * base.step_s\"");
  CLI::Option* const fewest = command->add_option("--fewest", options->fewest,
                                                  "the least value of this key with --such-that");
  command->add_option("--most", options->most, "the greatest")->excludes(fewest);
  command->add_option("--such-that", options->such_that,
                      "a condition: \"busbw_GBps[size_bytes=1GiB] >= 350\"");
  command->add_flag("--grid", options->grid, "ask at every value, in place of a bisection");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
