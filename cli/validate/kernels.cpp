#include <memory>

#include "cli/answers.hpp"
#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/validate/measured_options.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/workloads/load_kernels.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/kernels/validate_kernels.hpp"

namespace fabricast {

namespace {

struct KernelsOptions {
  MeasuredOptions measured;
  std::string format = "text";
};

int run(const KernelsOptions& options, const Answers& answers) {
  ValidateKernelsConfig config;
  config.measured =
      read_kernel_rows(options.measured.text("--file takes a CSV file; gunzip a .csv.gz first"),
                       options.measured.file, load_compute());
  config.kernels = load_kernels();
  config.leave_out = options.measured.leave_out;
  config.fit = options.measured.fit;
  const ValidateKernelsResult result =
      run_validate_kernels(std::move(config), on_all_cores(answers, {}));
  answers.give(
      options.format, [&] { return validate_kernels_text(result); },
      [&] { return validate_kernels_report(result); });
  return kDone;
}

}  // namespace

void add_validate_kernels(CLI::App& validate, Action& action) {
  auto options = std::make_shared<KernelsOptions>();
  CLI::App* kernels = validate.add_subcommand("kernels", "published times of GPU kernels");
  add_measured_options(*kernels, options->measured, "CSV of measured kernels",
                       "predict by fits that have not seen the shape, or the GPU, too");
  add_answer_options(*kernels, options->format);
  add_jobs_option(*kernels);
  kernels->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
