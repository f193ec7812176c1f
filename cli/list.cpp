#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/streams.hpp"
#include "cli/values.hpp"
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
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  command->add_option("--format", options->format)
      ->check(one_of({"text", "csv", "json"}))
      ->capture_default_str();
  command->callback([options, &action] {
    action = [options] {
      const auto names = known_names(options->subject, load_parts(options->parts));
      print_out("{}", options->format == "csv"    ? known_names_csv(names)
                      : options->format == "json" ? known_names_json(names)
                                                  : known_names_text(names));
      return kDone;
    };
  });
}

}  // namespace fabricast
