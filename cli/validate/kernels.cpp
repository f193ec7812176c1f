#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/workers.hpp"
#include "models/io/workloads/load_kernels.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/kernels/validate_kernels.hpp"

namespace fabricast {

namespace {

int answer_kernels(const MeasuredOptions& options, const Answers& answers) {
  ValidateKernelsConfig config;
  config.measured =
      read_kernel_rows(options.text("--file takes a CSV file; gunzip a .csv.gz first"),
                       options.file(), load_compute());
  config.kernels = load_kernels();
  config.leave_out = options.leave_out;
  config.fit = options.fit;
  const ValidateKernelsResult result =
      run_validate_kernels(std::move(config), on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return validate_kernels_text(result); },
      [&] { return validate_kernels_report(result); });
  return kDone;
}

}  // namespace

void add_validate_kernels(CLI::App& validate, Action& action) {
  add_measured_command(validate, action,
                       {.name = "kernels",
                        .about = "published times of GPU kernels",
                        .rows = "CSV of measured kernels",
                        .unseen = "predict by fits that have not seen the shape, or the GPU, too",
                        .has_parts = false,
                        .run = answer_kernels});
}

}  // namespace fabricast
