#include <fmt/format.h>

#include <limits>
#include <memory>
#include <vector>

#include "cli/commands.hpp"
#include "cli/values.hpp"
#include "models/io/load.hpp"
#include "models/io/nccl_xml.hpp"
#include "models/io/topo_text.hpp"

namespace fabricast {

namespace {

struct TopoOptions {
  std::string topology, parts, fabric, format = "text";
  int nodes = 0;  ///< 0 = what the topology says
  bool matrix = false;
  std::vector<std::string> pair;
};

int show(const TopoOptions& options) {
  const Cluster cluster =
      load_cluster({options.topology, options.nodes, options.fabric}, load_parts(options.parts));
  if (options.format == "xml") {
    fmt::print("{}", to_nccl_xml(cluster.node()));
  } else if (!options.pair.empty()) {
    fmt::print("{}", topo_pair(cluster, options.pair[0], options.pair[1]));
  } else if (options.matrix) {
    fmt::print("{}", topo_matrix(cluster.node()));
  } else {
    fmt::print("{}\n{}", topo_tree(cluster), topo_matrix(cluster.node()));
  }
  return kDone;
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  auto options = std::make_shared<TopoOptions>();
  CLI::App* command = app.add_subcommand("topo", "show a topology and check it");
  command->add_option("topology", options->topology, "preset name or YAML file")->required();
  command->add_option("--nodes", options->nodes, "number of nodes; default: the topology's, else 1")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  command->add_option("--fabric", options->fabric, "preset name or YAML file");
  command->add_option("--parts", options->parts, "YAML file of own parts, on top of the catalogue");
  CLI::Option* pair =
      command
          ->add_option(
              "--pair", options->pair,
              "two devices, like gpu0 mlx5_1 or gpu0 node1/gpu3: path type, links, rate, latency")
          ->expected(2);
  CLI::Option* matrix =
      command->add_flag("--matrix", options->matrix, "only the matrix of nvidia-smi topo -m");
  CLI::Option* format = command
                            ->add_option("--format", options->format,
                                         "text, or xml: the node as NCCL_TOPO_DUMP_FILE writes it")
                            ->check(one_of({"text", "xml"}))
                            ->capture_default_str();
  matrix->excludes(pair)->excludes(format);
  pair->excludes(format);
  command->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace fabricast
