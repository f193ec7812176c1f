#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/workers.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/experts/validate_experts.hpp"

namespace fabricast {

namespace {

int answer_experts(const MeasuredOptions& options, const Answers& answers) {
  ExpertsValidation validation = read_experts_points(options.text(), options.file());
  {
    Progress progress(answers);
    predict_experts(validation, load_parts(options.parts), load_expert_kernels(options.kernels),
                    on_all_cores(answers, options.leave_out ? std::function<void(double)>{}
                                                            : progress.callback()),
                    options.leave_out);
  }
  answers.give(
      options.format, [&] { return experts_validation_text(validation); },
      [&] { return experts_validation_report(validation); });
  return kDone;
}

}  // namespace

void add_validate_experts(CLI::App& validate, Action& action) {
  add_measured_command(
      validate, action,
      {.name = "experts",
       .about = "measured dispatch and combine of expert parallelism",
       .rows = "CSV of measured phases",
       .unseen = "predict each system by a fit that has not seen it, too",
       .has_fit = false,
       .kernels = "YAML file of kernels' costs, in place of workloads/experts.yaml",
       .run = answer_experts});
}

}  // namespace fabricast
