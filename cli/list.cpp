#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "models/io/topologies/known_names.hpp"
#include "models/io/topologies/load.hpp"

namespace fabricast {

void add_list(CLI::App& app, Action& action) {
  struct Options {
    std::string subject, parts, format = "text";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("list", "the names that options and files may use, and what they are");
  command->add_option("subject", options->subject, "what to list")
      ->required()
      ->check(one_of(subjects_with_names()));
  add_parts_option(*command, options->parts);
  add_format_option(*command, options->format);
  command->callback([options, &action] {
    action = [options](Answers& answers) {
      const auto names = known_names(options->subject, load_parts(options->parts));
      answers.give(
          options->format, [&] { return known_names_text(names); },
          [&] { return known_names_report(options->subject, names); });
      return kDone;
    };
  });
}

}  // namespace fabricast
