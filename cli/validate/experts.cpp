#include <memory>

#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/workers.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/experts/validate_experts.hpp"

namespace fabricast {

namespace {

struct ValidateExpertsOptions {
  std::string file, kernels, parts, format = "text";
  bool cross_validates = false;
};

int run(const ValidateExpertsOptions& options, const Answers& answers) {
  ExpertsValidation validation =
      read_experts_points(read_text_file(options.file, "--file takes a CSV file"), options.file);
  {
    Progress progress(answers);
    predict_experts(validation, load_parts(options.parts), load_expert_kernels(options.kernels),
                    on_all_cores(answers, options.cross_validates ? std::function<void(double)>{}
                                                                  : progress.callback()),
                    options.cross_validates);
  }
  answers.give(
      options.format, [&] { return experts_validation_text(validation); },
      [&] { return experts_validation_report(validation); });
  return kDone;
}

}  // namespace

void add_validate_experts(CLI::App& validate, Action& action) {
  auto options = std::make_shared<ValidateExpertsOptions>();
  CLI::App* command =
      validate.add_subcommand("experts", "measured dispatch and combine of expert parallelism");
  command->add_option("--file", options->file, "CSV of measured phases")->required();
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  command->add_option("--kernels", options->kernels,
                      "YAML file of kernels' costs, in place of workloads/experts.yaml");
  command->add_flag("--cross-validate", options->cross_validates,
                    "predict each system by a fit that has not seen it, too");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
