#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/serving/validate_serving.hpp"

namespace fabricast {

namespace {

int answer_serving(const MeasuredOptions& options, const Answers& answers) {
  ValidateServingConfig config;
  for (const std::string& file : options.files)
    config.measured.append(read_serving_rows(read_text_file(file, kFileHint), file));
  config.leave_out = options.leave_out;
  config.fit = options.fit;
  const ServingValidation result =
      validate_serving(config, load_parts(options.parts), on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return validate_serving_text(result); },
      [&] { return validate_serving_report(result); });
  return kDone;
}

}  // namespace

void add_validate_serving(CLI::App& validate, Action& action) {
  add_measured_command(validate, action,
                       {.name = "serving",
                        .about = "published latencies and throughputs of inference engines",
                        .rows = "CSV of measured runs; several files are compared together",
                        .unseen = "predict each model by a fit that has not seen it, too",
                        .many = true,
                        .run = answer_serving});
}

}  // namespace fabricast
