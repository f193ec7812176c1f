
#include <map>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_step_fits.hpp"
#include "models/studies/step_fit/fit_steps.hpp"
#include "models/studies/training/training_reports.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

struct StepsOptions {
  std::string cases, parts, format = "text";
  bool fit = false;
};

int run(const StepsOptions& options, const Answers& answers) {
  const FrameworkCatalogue frameworks = load_frameworks();
  const StepCases cases = read_step_cases(read_text_file(options.cases, "--cases takes a CSV file"),
                                          options.cases, frameworks);
  StepValidation result;
  if (options.fit) {
    print_out("{}", step_fits_yaml(
                        fit_steps(cases, load_parts(options.parts), on_all_cores(answers, {}))));
    return kDone;
  }
  {
    Progress progress(answers);
    result = validate_steps(cases, load_parts(options.parts), load_step_fits(),
                            on_all_cores(answers, progress.callback()));
  }
  std::map<std::string, int> notes;
  for (const StepCase& one : cases.cases)
    if (!one.note.empty()) ++notes[one.note];
  for (const auto& [note, count] : notes) print_err("{}: {}\n", counted(count, "case"), note);
  for (const LeftOut& one : result.left_out) {
    print_err("{}: left out: {}\n", one.id, one.why);
  }
  answers.give(
      options.format, [&] { return validation_text(result); },
      [&] { return validation_report(result); });
  return kDone;
}

}  // namespace

void add_validate_steps(CLI::App& validate, Action& action) {
  auto options = std::make_shared<StepsOptions>();
  CLI::App* steps = validate.add_subcommand("steps", "published times of training steps");
  steps->add_option("--cases", options->cases, "CSV of measured steps")->required();
  add_parts_option(*steps, options->parts);
  steps->add_flag("--fit", options->fit, "print workloads/step_fits.yaml for these steps instead");
  add_answer_options(*steps, options->format);
  add_jobs_option(*steps);
  steps->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
