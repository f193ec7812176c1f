#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/imports/ib_network.hpp"
#include "models/io/imports/import_file.hpp"
#include "models/io/topologies/import_topology.hpp"
#include "models/studies/decide/logged_choices.hpp"

namespace fabricast {

namespace {

struct ImportOptions {
  std::vector<std::string> files;
  std::string topology, parts, write, format = "text";
  NodeChanges changes;  ///< --gpu, --nics: what the node to write has where its file leaves it open
  int nodes = 0;
};

/// What --write made of a file: a fabric of an InfiniBand network, else a node.
struct Written {
  std::string yaml, summary;
  std::vector<std::string> notes;
};

Written topology_in(const ImportOptions& options) {
  if (options.files.size() != 1)
    throw Error(about("--write"), "--write takes one file at a time", "one file to write for each");
  const std::string& file = options.files.front();
  const PartsCatalogue parts = load_parts(options.parts);
  const bool large = is_large_file(file);
  const std::string text = large ? "" : read_text_file(file);
  const IbNetwork network = parse_ib_network(large ? read_log_file(file) : read_log(text));
  if (network.empty() && large)
    throw Error(Place{file, 0, {}}, "too large for a node",
                "the lines of one node up to its first rings say all of it");
  if (network.empty()) {
    ImportedNode node = import_topology(text, file, options.changes, parts);
    return {std::move(node.yaml), std::move(node.summary), std::move(node.notes)};
  }
  IbFabric fabric = fabric_of(network, parts, file);
  return {std::move(fabric.yaml), std::move(fabric.summary), std::move(fabric.notes)};
}

/// A file of unknown kind is an answer, too, but not a success.
int run(const ImportOptions& options, const CLI::App& command, const Answers& answers) {
  Outputs outputs(command);
  if (options.files.size() > 1 && options.format != "text")
    throw Error(about("--format"), fmt::format("--format {} is of one file", options.format),
                "one file at a time");
  std::optional<Written> written;
  if (!options.write.empty()) written = topology_in(options);
  bool all_known = true;
  for (const std::string& file : options.files) {
    const ImportedFile read = import_file(file, "import takes what a tool printed");
    const bool compares = !options.topology.empty();
    if (compares && read.kind != import_kind::kNcclLog && read.choices.empty())
      throw Error(option_place("--topology"), fmt::format("{} is no log of NCCL", file),
                  "it compares what NCCL chose in a log (NCCL_DEBUG=INFO) with what it would on a "
                  "topology");
    std::vector<ComparedChoice> compared;
    if (compares)
      compared = compare_choices(read, options.topology, options.nodes, load_parts(options.parts));
    answers.give(
        options.format,
        [&] {
          return imported_text(read, file) +
                 (compares ? compared_text(compared, options.topology) : "");
        },
        [&] {
          Report out = imported_report(read, file);
          if (compares) out.tables.insert(out.tables.begin(), compared_table(compared));
          return out;
        });
    all_known = all_known && !read.kind.empty();
  }
  if (written) {
    outputs.write(options.write, written->yaml);
    outputs.commit();
  }
  if (written && options.format == "text") {
    print_out("{}: {}\n", options.write, written->summary);
    for (const std::string& note : written->notes) print_out("  note: {}\n", note);
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
  add_topology_option(*command, options->topology, "--topology", "--write")
      ->description("of a log of NCCL: its choices beside those of this preset, YAML file or XML");
  add_output_option(*command, "--write", options->write,
                    "a file for --fabric of ibnetdiscover's output; for --topology of nvidia-smi "
                    "topo -m, a log of NCCL or its XML");
  command->add_option("--nodes", options->nodes, "default: what the log says")
      ->check(whole_number(1, 1 << 20));
  add_parts_option(*command, options->parts);
  add_format_option(*command, options->format);
  command->callback([options, command, &action] {
    options->changes = asked_changes(*command);
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
