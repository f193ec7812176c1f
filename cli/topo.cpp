#include <fmt/format.h>

#include <limits>
#include <memory>
#include <vector>

#include "cli/commands.hpp"
#include "cli/values.hpp"
#include "models/io/load.hpp"
#include "models/io/nccl_xml.hpp"
#include "models/io/topo_formats.hpp"
#include "models/io/topo_text.hpp"

namespace fabricast {

namespace {

struct TopoOptions {
  std::string topology, parts, fabric, format = "text";
  int nodes = 0;  ///< 0 = what the topology says
  bool matrix = false;
  std::vector<std::string> pair;
};

std::string text_of(const TopoOptions& options) {
  const PartsCatalogue parts = load_parts(options.parts);
  // NCCL's view may hold what no part of the catalogue is like.
  if (options.format == "xml") return to_nccl_xml(load_description(options.topology, parts));
  const Cluster cluster = load_cluster({options.topology, options.nodes, options.fabric}, parts);
  if (options.format == "json") return topo_json(cluster);
  if (options.format == "dot") return topo_dot(cluster.node());
  if (options.format == "yaml") return topo_yaml(cluster.node(), parts);
  if (!options.pair.empty()) return topo_pair(cluster, options.pair[0], options.pair[1]);
  const std::string matrix = topo_matrix(cluster.node());
  return options.matrix ? matrix : topo_tree(cluster) + "\n" + matrix;
}

int show(const TopoOptions& options) {
  fmt::print("{}", text_of(options));
  return kDone;
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  auto options = std::make_shared<TopoOptions>();
  CLI::App* command = app.add_subcommand("topo", "show a topology and check it");
  command->add_option("topology", options->topology, "preset name, YAML file or NCCL's XML")
      ->required();
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
  CLI::Option* format =
      command
          ->add_option("--format", options->format,
                       "text; json; dot: for Graphviz; yaml: a node type; xml: the "
                       "node as NCCL_TOPO_DUMP_FILE writes it")
          ->check(one_of({"text", "json", "dot", "yaml", "xml"}))
          ->capture_default_str();
  matrix->excludes(pair)->excludes(format);
  pair->excludes(format);
  command->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace fabricast
