// Goal: NCCL sees the node and the environment that aws-ofi-nccl leaves it.
// Method: instances of the catalogue with two NCCL releases: which NICs become one, on which link,
// and what is set, as tables; the user's words stand; a node that NCCL described stays as it is.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/io/topologies/load.hpp"
#include "models/nccl/node/aws_ofi.hpp"
#include "models/nccl/node/network.hpp"
#include "tests/unit/nccl/environment_of.hpp"

using namespace fabricast;

namespace {

struct Seen {
  Environment environment;
  NetworkChoice network;
  std::vector<std::string> warnings;
};

Seen seen(const NodeDescription& node, NcclVersion version,
          const std::vector<const char*>& assignments) {
  Seen out;
  out.environment = with_aws_ofi(environment_of(assignments), node, version, out.warnings);
  out.network = choose_network(node, out.environment, version, {}, 2, out.warnings);
  return out;
}
Seen seen(const std::string& instance, NcclVersion version = kNccl2_27_7,
          const std::vector<const char*>& assignments = {}) {
  return seen(load_description(instance, load_catalogue()), version, assignments);
}

std::string value(const Seen& what, const char* name) {
  return std::string(what.environment.get(name).value_or("unset"));
}

/// Speeds of the NICs that NCCL may use, and how many stand behind each.
std::string nets(const Seen& what) {
  std::string out;
  for (const NodeDescription::Net& net : nets_of(what.network.node))
    out += (out.empty() ? "" : " ") +
           std::to_string(what.network.settings.members(net.dev).size()) + "x" +
           std::to_string(net.speed_mbps / 1000);
  return out;
}

const NodeDescription::Pci* first_nic(const std::vector<NodeDescription::Pci>& children) {
  for (const NodeDescription::Pci& pci : children) {
    if (pci.nic && !pci.nic->nets.empty()) return &pci;
    if (const auto* const below = first_nic(pci.children)) return below;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("aws-ofi: the NICs beside a GPU are one, as wide as the GPU's link at most") {
  const std::string eight_by_four = "4x400 4x400 4x400 4x400 4x400 4x400 4x400 4x400";
  CHECK(nets(seen("p5")) == eight_by_four);
  CHECK(nets(seen("p5", kNccl2_21_5)) == eight_by_four);
  CHECK(nets(seen("p5en")) == "2x400 2x400 2x400 2x400 2x400 2x400 2x400 2x400");
  CHECK(nets(seen("p6-b200")) == "1x400 1x400 1x400 1x400 1x400 1x400 1x400 1x400");
  CHECK(nets(seen("p4d")) == "1x100 1x100 1x100 1x100");
  const Seen p5 = seen("p5");
  const NodeDescription::Pci* const card = first_nic(p5.network.node.cpus.front().children);
  REQUIRE(card != nullptr);
  CHECK(card->link_speed == "32.0 GT/s PCIe");  // of its own 16, and four of them
  CHECK(card->link_width == 16);
  CHECK(p5.network.settings.pieces == 4);
  CHECK(p5.network.nics.size() == 8);
  // What sends and receives has no rails.
  CHECK(seen("p5", kNccl2_27_7, {"OFI_NCCL_PROTOCOL=SENDRECV"}).network.nics.size() == 32);
  CHECK(seen("p4d", kNccl2_27_7, {"OFI_NCCL_PROTOCOL=rdma"}).network.nics.size() == 4);
}

TEST_CASE("aws-ofi: what it sets, and what the user's own word keeps") {
  const Seen p5 = seen("p5");
  CHECK(value(p5, "NCCL_BUFFSIZE") == "8388608");
  CHECK(value(p5, "NCCL_P2P_NET_CHUNKSIZE") == "524288");
  CHECK(value(p5, "NCCL_NVLSTREE_MAX_CHUNKSIZE") == "524288");
  CHECK(value(p5, "NCCL_NET_FORCE_FLUSH") == "0");
  CHECK(value(p5, "NCCL_PROTO") == "unset");
  CHECK(value(p5, "NCCL_NVLS_ENABLE") == "unset");
  CHECK(p5.warnings.at(0) ==
        "aws-ofi-nccl sets NCCL_BUFFSIZE=8388608 NCCL_P2P_NET_CHUNKSIZE=524288 "
        "NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 NCCL_NVLS_CHUNKSIZE=524288 NCCL_NET_FORCE_FLUSH=0.");
  CHECK(p5.warnings.at(1) ==
        "NCCL takes NICs for one: 8 of 400 Gb/s, mlx5_0+mlx5_1+mlx5_2+mlx5_3 to "
        "mlx5_28+mlx5_29+mlx5_30+mlx5_31");
  CHECK(p5.warnings.size() == 2);
  const Seen p4d = seen("p4d");
  CHECK(value(p4d, "NCCL_PROTO") == "Simple");  // EFA v1 may deliver out of order
  CHECK(value(p4d, "NCCL_NVLSTREE_MAX_CHUNKSIZE") == "unset");
  CHECK(value(seen("p4d", kNccl2_27_7, {"NCCL_PROTO=LL"}), "NCCL_PROTO") == "LL");
  CHECK(value(seen("p5", NcclVersion{18, 3}), "NCCL_NVLS_ENABLE") == "0");
  CHECK(value(seen("p5", NcclVersion{18, 5}), "NCCL_NVLS_ENABLE") == "unset");
  CHECK(value(seen("p5", kNccl2_27_7, {"NCCL_BUFFSIZE=4194304"}), "NCCL_BUFFSIZE") == "4194304");
  CHECK(value(seen("dgx-h100"), "NCCL_BUFFSIZE") == "unset");
  CHECK(value(seen("p5", kNccl2_27_7, {"NCCL_NET_PLUGIN=none"}), "NCCL_BUFFSIZE") == "unset");
}

TEST_CASE("aws-ofi: what NCCL described has been through the plugin") {
  NodeDescription node = load_description("p5", load_catalogue());
  node.is_of_parts = false;
  const Seen as_is = seen(node, kNccl2_27_7, {});
  CHECK(as_is.network.nics.size() == 32);
  CHECK(value(as_is, "NCCL_BUFFSIZE") == "unset");
}
