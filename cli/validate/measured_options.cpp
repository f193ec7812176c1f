#include "cli/validate/measured_options.hpp"

#include <memory>

#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"

namespace fabricast {

std::string MeasuredOptions::text(const char* hint) const { return read_text_file(file(), hint); }

void add_measured_command(CLI::App& validate, Action& action, const MeasuredCommand& command) {
  auto options = std::make_shared<MeasuredOptions>();
  CLI::App* added = validate.add_subcommand(command.name, command.about);
  added->add_option("--file", options->files, command.rows)
      ->required()
      ->expected(1, command.many ? CLI::detail::expected_max_vector_size : 1);
  added->add_flag("--cross-validate", options->leave_out, command.unseen);
  if (command.has_fit) added->add_flag("--fit", options->fit, "say what a fit to all rows gives");
  if (command.has_parts) add_parts_option(*added, options->parts);
  if (command.kernels != nullptr) added->add_option("--kernels", options->kernels, command.kernels);
  add_answer_options(*added, options->format);
  add_jobs_option(*added);
  added->callback([options, run = command.run, &action] {
    action = [options, run](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
