
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "models/io/nccl_xml/nccl_xml.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topo_views/topo_text.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/costs/costs.hpp"
#include "models/studies/decide/decide.hpp"
#include "models/studies/decide/graph_text.hpp"
#include "models/studies/shared/site.hpp"

namespace fabricast {

namespace {

struct TopoOptions {
  JobOptions job;  ///< the environment, for the graphs
  std::string topology, parts, fabric, prices, format = "text";
  int nodes = 0;  ///< 0 = what the topology says
  bool matrix = false, graphs = false, bill = false, sharp = false;
  std::vector<std::string> pair;
};

std::string graphs(const TopoOptions& options, const PartsCatalogue& parts) {
  const Job job = options.job.job(options.topology, {}, options.sharp);
  const Topology topology = topology_of(job, parts);
  const DescribedNodes described =
      topology.describe(nodes_of(job, options.nodes > 0 ? options.nodes : topology.nodes()));
  const NcclCommunicator made =
      make_nccl_communicator(described.node, communicator_config(job, described, job.environment));
  for (const std::string& warning : made.warnings) print_err("note: {}\n", warning);
  return graphs_text(made, described.node);
}

std::string text_of(const TopoOptions& options, const PartsCatalogue& parts) {
  // NCCL's view may hold what no part of the catalogue is like.
  if (options.graphs) return graphs(options, parts);
  if (options.format == "xml") return to_nccl_xml(load_description(options.topology, parts));
  const Topology topology(options.topology, options.fabric, parts);
  const Cluster joined = topology.cluster({options.nodes, true});
  if (!options.pair.empty()) return topo_pair(joined, options.pair[0], options.pair[1]);
  const Cluster cluster = topology.cluster({options.nodes});  // what is shown is one server
  if (options.format == "json") return topo_json(cluster);
  if (options.format == "dot") return topo_dot(cluster.node());
  if (options.format == "yaml") return topo_yaml(cluster.node(), parts);
  const std::string matrix = topo_matrix(cluster.node());
  if (options.matrix) return matrix;
  const std::string calibrated = calibrated_text(cluster.node());
  return topo_tree(cluster) + "\n" + calibrated + (calibrated.empty() ? "" : "\n") + matrix;
}

int show_bill(const TopoOptions& options, const PartsCatalogue& parts, const Answers& answers) {
  const Cluster cluster =
      Topology(options.topology, options.fabric, parts).cluster({options.nodes, true});
  const PricedBill bill = price_fabric(cluster, parts, load_prices(options.prices, parts));
  answers.give(
      options.format, [&] { return bill_text(bill, cluster); },
      [&] { return bill_report(bill, cluster, options.topology, options.fabric); });
  return kDone;
}

int show(const TopoOptions& options, const Answers& answers) {
  const bool is_table = options.format == "text" || options.format == "csv" ||
                        (options.bill && options.format == "json");
  if (options.bill && !is_table)
    throw Error(option_place("--bill"), fmt::format("no such format: {}", options.format),
                "text, csv or json");
  if (!options.bill && options.format == "csv")
    throw Error(about("--format"), "--format csv: only a bill is a table", "add --bill");
  const PartsCatalogue parts = load_parts(options.parts);
  if (options.bill) return show_bill(options, parts, answers);
  if (answers.prints) print_out("{}", text_of(options, parts));
  answers.give([&] {
    const Topology topology(options.topology, options.fabric, parts);
    return topo_report(topology.cluster({options.nodes, true}), options.topology, options.fabric);
  });
  return kDone;
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  auto options = std::make_shared<TopoOptions>();
  CLI::App* command = app.add_subcommand("topo", "show a topology and check it");
  add_topology_option(*command, options->topology, "topology")->required();
  command->add_option("--nodes", options->nodes, "number of nodes; default: the topology's, else 1")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  CLI::Option* fabric = add_fabric_option(*command, options->fabric);
  add_parts_option(*command, options->parts);
  CLI::Option* pair =
      command
          ->add_option(
              "--pair", options->pair,
              "two devices, like gpu0 mlx5_1 or gpu0 node1/gpu3: path type, links, rate, latency")
          ->expected(2);
  CLI::Option* matrix =
      command->add_flag("--matrix", options->matrix, "only the matrix of nvidia-smi topo -m");
  CLI::Option* graphs = command->add_flag("--graphs", options->graphs,
                                          "NCCL's rings and trees on it, in the words of its log");
  CLI::Option* bill = command->add_flag(
      "--bill", options->bill, "what joins the nodes, counted and priced: NICs, switches, cables");
  command
      ->add_option("--prices", options->prices,
                   "YAML file of own prices, on top of workloads/prices.yaml")
      ->needs(bill);
  add_sharp_option(*command, options->sharp)->needs(graphs);
  add_environment_options(*command, options->job);
  for (const char* name : {"--nccl", "--env", "--env-file"})
    command->get_option(name)->needs(graphs);
  CLI::Option* html = add_html_option(*command);
  CLI::Option* format =
      command
          ->add_option("--format", options->format,
                       "text; json; csv: of a bill; dot: for Graphviz; yaml: a node type; xml: "
                       "the node as NCCL_TOPO_DUMP_FILE writes it")
          ->check(one_of({"text", "csv", "json", "dot", "yaml", "xml"}))
          ->capture_default_str();
  matrix->excludes(pair)->excludes(format);
  graphs->excludes(pair)->excludes(format)->excludes(matrix)->excludes(fabric);
  pair->excludes(format);
  bill->excludes(pair)->excludes(matrix)->excludes(graphs)->excludes(html);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return show(*options, answers); };
  });
}

}  // namespace fabricast
