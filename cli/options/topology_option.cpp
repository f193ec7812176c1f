#include "cli/options/topology_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/options/values.hpp"
#include "cli/output/streams.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/topology_name.hpp"

namespace fabricast {

namespace {

/// On stderr, where a topology is not just the preset or file of its name.
void say_what_it_is(const std::string& topology, const std::string& parts_file) {
  const TopologyName name = parse_topology_name(topology);
  const std::vector<TopologyAlias> aliases = topology_aliases();
  const bool alias = std::ranges::find(aliases, name.base, &TopologyAlias::name) != aliases.end();
  const bool is_file = name.base.find_first_of("/.") != std::string::npos;
  if (!alias && name.changes.empty() && !is_file) return;
  const std::string note = topology_note(topology, load_parts(parts_file));
  if (!note.empty()) print_err("note: {}\n", note);
}

std::string parts_of(const CLI::App& command) {
  const CLI::Option* parts = command.get_option_no_throw("--parts");
  return parts != nullptr && parts->count() > 0 ? parts->as<std::string>() : "";
}

}  // namespace

NodeChanges asked_changes(const CLI::App& command) {
  NodeChanges changes;
  if (given(command, "--nics")) changes.nics = command.get_option("--nics")->as<int>();
  if (given(command, "--gpu")) changes.gpu = command.get_option("--gpu")->as<std::string>();
  return changes;
}

std::string with_options(const CLI::App& command, const std::string& topology) {
  const NodeChanges changes = asked_changes(command);
  if (changes.empty()) return topology;
  const std::string out = with_changes(topology, changes);
  say_what_it_is(out, parts_of(command));
  return out;
}

CLI::Option* add_topology_option(CLI::App& command, std::string& topology, const std::string& name,
                                 const char* or_of) {
  CLI::Option* option = command.add_option(
      name, topology,
      "preset (fabricast list topologies), YAML file, NCCL's XML or log, or nvidia-smi topo -m");
  command.add_option("--nics", "use so many NICs of each node, spread evenly over its CPUs")
      ->type_name("INT")
      ->check(whole_number(1, kNicsMax));
  command
      .add_option("--gpu",
                  "the GPU, where another fits in its place or the topology leaves it open")
      ->type_name("PART");
  command.parse_complete_callback([&command, &topology, name, or_of] {
    if (topology.empty()) {
      if (!asked_changes(command).empty() && (or_of == nullptr || !given(command, or_of)))
        throw Error(option_place(given(command, "--nics") ? "--nics" : "--gpu"),
                    fmt::format("there is no {} that it changes", name));
      return;
    }
    topology = with_changes(topology, asked_changes(command));
    say_what_it_is(topology, parts_of(command));
  });
  return option;
}

CLI::Option* add_fabric_option(CLI::App& command, std::string& fabric, const std::string& usual) {
  return command.add_option(
      "--fabric", fabric,
      "preset name or YAML file" + (usual.empty() ? "" : "; default: " + usual));
}

CLI::Option* add_sharp_option(CLI::App& command, bool& sharp) {
  return command.add_flag("--sharp", sharp,
                          "the fabric offers SHARP: a CollNet plugin serves all NICs; NCCL uses it "
                          "with NCCL_COLLNET_ENABLE=1");
}

}  // namespace fabricast
