// Any bytes as a list of hosts, as hosts and switches of a scheduler, and as a second job: an
// error, or hosts that are read back the same.

#include <set>

#include "input.hpp"
#include "models/io/hosts/host_list.hpp"
#include "models/io/hosts/host_tree.hpp"
#include "models/studies/placement/placement.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    const std::vector<std::string> hosts = parse_host_list(text);
    if (hosts.size() <= 4096) fuzz::require(parse_host_list(to_host_list(hosts)) == hosts);
  });
  fuzz::runs([&] { parse_host_file(text, "hosts"); });
  fuzz::runs([&] {
    const HostTree tree = parse_host_tree(text, "t");
    fuzz::require(!tree.kind.empty() && !tree.hosts.empty());
    std::set<std::string> names;
    for (const TreeHost& host : tree.hosts) {
      fuzz::require(!host.switches.empty() && names.insert(host.name).second);
      fuzz::require(tree.find(host.name) >= 0);
    }
  });
  fuzz::runs([&] { parse_neighbour(text, "n.yaml"); });
  return 0;
}
