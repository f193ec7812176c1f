// Any bytes as NCCL's topology XML, or as choices of what stands in one: an error or a description
// that is written and read the same, searched for channels while it is small, and turned into
// hardware.

#include "models/io/nccl_xml/nccl_xml.hpp"
#include "grown_xml.hpp"
#include "input.hpp"
#include "models/io/nccl_xml/read_nccl_xml.hpp"
#include "models/io/topo_views/topo_formats.hpp"
#include "models/io/topologies/import_node.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/search/nccl_search.hpp"

using namespace fabricast;

namespace {

constexpr std::size_t kSearchedMax = 4;  // GPUs, and nets: a search of more takes too long here

void search_channels(const NodeDescription& node) {
  SearchInput input;
  input.gpus = gpu_devs(node);
  input.nics = net_devs(node);
  if (input.gpus.size() > kSearchedMax || input.nics.size() > kSearchedMax) return;
  for (const NcclVersion version : kModelledVersions) {
    input.version = version;
    for (const int nodes : {1, 2}) {
      input.nodes = nodes;
      fuzz::runs([&] { search(node, input); });
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PartsCatalogue parts = load_parts();
  const bool is_text = size > 0 && data[0] == '<';
  const std::string text =
      is_text ? fuzz::text_of(data, size) : fuzz::GrownXml({data, size}).text();
  fuzz::runs([&] {
    const NodeDescription node = parse_nccl_xml(text, "t.xml");
    const std::string xml = to_nccl_xml(node);
    fuzz::require(
        fuzz::runs([&] { fuzz::require(to_nccl_xml(parse_nccl_xml(xml, "again.xml")) == xml); }));
    search_channels(node);
    check_is_detected(node);
    const NodeGraph graph = NodeGraph::build(import_node(node, parts), parts);
    topo_yaml(graph, parts);
    topo_dot(graph);
  });
  return 0;
}
