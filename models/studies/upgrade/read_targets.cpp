#include "models/studies/upgrade/read_targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/formats/yaml_tree.hpp"
#include "models/studies/scenario/read_case.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

std::string target_name(const std::string& topology) {
  return std::filesystem::path(topology).stem().string();
}

std::vector<UpgradeTarget> parse_upgrade_targets(const std::string& text, const std::string& file,
                                                 const UpgradeTarget& defaults) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  std::vector<UpgradeTarget> out;
  for (Reader one : in.children("targets")) {
    UpgradeTarget target = defaults;
    target.place = one.place();
    target.topology = read_topology(one, "topology", file);
    target.name = one.text("name", target_name(target.topology));
    one.refuse("nccl", "a target names no release", "--from and --to do, for all targets");
    read_job(one, file, target);
    read_fabric(one, file, target);
    read_nodes(one, target.nodes);
    one.finish();
    if (std::ranges::find(out, target.name, &UpgradeTarget::name) != out.end())
      one.fail("name", fmt::format("there are two targets \"{}\"", target.name),
               "give one another name");
    out.push_back(std::move(target));
  }
  in.finish();
  if (out.empty())
    throw Error(Place{file, 0, "targets"}, "no machine is listed",
                "targets: [{topology: dgx-h100, nodes: 1..64}]");
  return out;
}

std::vector<UpgradeTarget> load_upgrade_targets(const std::string& file,
                                                const UpgradeTarget& defaults) {
  return parse_upgrade_targets(
      read_text_file(file, "--targets takes a file of machines: targets: [{topology: dgx-h100}]"),
      file, defaults);
}

}  // namespace fabricast
