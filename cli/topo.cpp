#include <fmt/format.h>

#include <memory>
#include <vector>

#include "cli/commands.hpp"
#include "models/io/load.hpp"
#include "models/io/nccl_xml.hpp"
#include "models/io/topo_text.hpp"

namespace fabricast {

namespace {

struct TopoOptions {
  std::string topology, fabric, format = "text";
  int nodes = 0;
  bool matrix = false;
  std::vector<std::string> pair;
};

int show(const TopoOptions& options) {
  const Cluster cluster =
      load_cluster({options.topology, options.nodes, options.fabric}, load_parts());
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
  command->add_option("--nodes", options->nodes, "number of nodes; default: the topology's, else 1");
  command->add_option("--fabric", options->fabric, "preset name or YAML file");
  command->add_option("--pair", options->pair, "two devices, like gpu0 mlx5_1 or gpu0 node1/gpu3: path type, links, rate, latency")
      ->expected(2);
  command->add_flag("--matrix", options->matrix, "only the matrix of nvidia-smi topo -m");
  command->add_option("--format", options->format, "text, or xml: the node as NCCL_TOPO_DUMP_FILE writes it")
      ->check(CLI::IsMember({"text", "xml"}))
      ->capture_default_str();
  command->callback([options, command, &action] {
    if (command->get_option("--nodes")->count() > 0 && options->nodes < 1)
      throw CLI::ValidationError("--nodes", "must be at least 1");
    action = [options] { return show(*options); };
  });
}

}  // namespace fabricast
