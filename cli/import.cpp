
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/outputs.hpp"
#include "cli/streams.hpp"
#include "cli/values.hpp"
#include "models/io/ib_network.hpp"
#include "models/io/import_file.hpp"
#include "models/io/text_file.hpp"
#include "models/studies/logged_choices.hpp"

namespace fabricast {

namespace {

struct ImportOptions {
  std::vector<std::string> files;
  std::string topology, parts, write, format = "text";
  int nodes = 0;
};

/// The network of a file as a fabric file.
IbFabric fabric_in(const ImportOptions& options) {
  if (options.files.size() != 1)
    throw Error("--write takes one file at a time", "one fabric file for each");
  const std::string& file = options.files.front();
  const bool large = is_large_file(file);
  const std::string text = large ? "" : read_text_file(file);
  const IbNetwork network = parse_ib_network(large ? read_log_file(file) : read_log(text));
  if (network.empty())
    throw Error(Place{file, 0, {}}, "no output of ibnetdiscover: there is no fabric in it",
                "--write makes a fabric file of it");
  const IbFabric fabric = fabric_of(network, load_parts(options.parts), file);
  return fabric;
}

/// A file of unknown kind is an answer, too, but not a success.
int run(const ImportOptions& options, const CLI::App& command) {
  Outputs outputs(command, {"--write"});
  std::optional<IbFabric> fabric;
  if (!options.write.empty()) fabric = fabric_in(options);
  bool all_known = true;
  for (const std::string& file : options.files) {
    const ImportedFile read = import_file(file, "import takes what a tool printed");
    print_out("{}", options.format == "json" ? import_json(read, file) : import_report(read, file));
    if (!options.topology.empty() && read.kind.find("NCCL_DEBUG") != std::string::npos &&
        options.format == "text")
      print_out("{}", compared_text(compare_choices(read, options.topology, options.nodes,
                                                    load_parts(options.parts)),
                                    options.topology));
    all_known = all_known && !read.kind.empty();
  }
  if (fabric) {
    outputs.write(options.write, fabric->yaml);
    outputs.commit();
  }
  if (fabric && options.format == "text") {
    print_out("{}: {}\n", options.write, fabric->summary);
    for (const std::string& note : fabric->notes) print_out("  note: {}\n", note);
  }
  return all_known ? kDone : kCheckFailed;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import", "what a file is and says: outputs of tools, logs, traces, topologies, settings");
  command->add_option("files", options->files, "files, of any of the kinds in docs/import.md")
      ->required();
  command->add_option(
      "--topology", options->topology,
      "of a log of NCCL: its choices beside those of this preset, YAML file or XML");
  command->add_option("--write", options->write,
                      "of ibnetdiscover: the fabric, as a file for --fabric");
  command->add_option("--nodes", options->nodes, "default: what the log says")
      ->check(whole_number(1, 1 << 20));
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  command->add_option("--format", options->format)
      ->check(one_of({"text", "json"}))
      ->capture_default_str();
  command->callback([options, command, &action] {
    action = [options, command] { return run(*options, *command); };
  });
}

}  // namespace fabricast
