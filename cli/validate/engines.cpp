#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/studies/engines/validate_engines.hpp"

namespace fabricast {

namespace {

int answer_engines(const MeasuredOptions& options, const Answers& answers) {
  ValidateEnginesConfig config;
  config.measured = read_engine_rows(options.text(), options.file());
  config.costs = load_engines();
  config.leave_out = options.leave_out;
  config.fit = options.fit;
  const PartsCatalogue parts = load_parts(options.parts);
  const ValidateEnginesResult result =
      run_validate_engines(std::move(config), parts, on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return validate_engines_text(result); },
      [&] { return validate_engines_report(result); });
  return kDone;
}

}  // namespace

void add_validate_engines(CLI::App& validate, Action& action) {
  add_measured_command(validate, action,
                       {.name = "engines",
                        .about = "published times of inference engines' all-reduces",
                        .rows = "CSV of measured all-reduces",
                        .unseen = "predict each system by a fit that has not seen it, too",
                        .run = answer_engines});
}

}  // namespace fabricast
