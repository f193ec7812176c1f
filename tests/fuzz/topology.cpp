// Any bytes as a topology in YAML: an error or a cluster, which reads back to itself.

#include "input.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topo_views/topo_text.hpp"
#include "models/io/topologies/load.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PartsCatalogue parts = load_parts();
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    const Cluster cluster = parse_cluster(text, "t.yaml", {}, parts);
    if (cluster.node().vertices().size() > 64) return;
    topo_tree(cluster);
    topo_matrix(cluster.node());
    const std::string yaml = topo_yaml(cluster.node(), parts);
    fuzz::require(fuzz::runs([&] {
      const NodeGraph again = parse_cluster(yaml, "again.yaml", {"", 1, ""}, parts).node();
      fuzz::require(topo_yaml(again, parts) == yaml);
    }));
  });
  return 0;
}
