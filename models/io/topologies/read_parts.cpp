// topologies/parts.yaml -> PartsCatalogue.
#include <fmt/format.h>

#include "models/io/formats/reader.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/read_networks.hpp"
#include "models/io/topologies/read_node.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr int kFamilyMax = 4095;

using ByProtocol = std::array<const char*, kProtocols>;
using ByHop = std::array<const char*, kHopKinds>;
constexpr ByProtocol kProtocolKeys = {"ll", "ll128", "simple"};
constexpr ByHop kHopKeys = {"nvlink", "pcie", "shm", "net"};

class PartsReader {
 public:
  PartsReader(Reader& root, const PartsCatalogue* base)
      : root_(root), is_whole_(base == nullptr), figures_(parts_.sources) {
    if (base != nullptr) parts_ = *base;
    read_sources(root, parts_.sources);
  }

  PartsCatalogue read() {
    for (auto& [name, in] : root_.table("pcie")) read_pcie_gen(in);
    for (auto& [name, in] : root_.table("gpus")) parts_.gpus[name] = gpu(name, in);
    for (auto& [name, in] : root_.table("nics")) parts_.nics[name] = nic(name, in);
    for (auto& [name, in] : root_.table("cpus")) parts_.cpus[name] = cpu(name, in);
    for (auto& [name, in] : root_.table("pcie_switches")) {
      parts_.pcie_switches[name] = pcie_switch(name, in);
    }
    for (auto& [name, in] : root_.table("nvswitches")) {
      parts_.nvswitches[name] = {name, figures_.duration(in, "latency")};
      in.finish();
    }
    for (auto& [name, in] : root_.table("fabric_switches")) {
      parts_.fabric_switches[name] = fabric_switch(name, in);
    }
    for (auto& [name, in] : root_.table("cables")) {
      parts_.cables[name] = {figures_.duration(in, "delay_per_metre"),
                             figures_.duration(in, "optics")};
      in.finish();
    }
    for (auto& [name, in] : root_.table("transceivers"))
      parts_.transceivers[name] = transceiver(name, in);
    for (auto& [name, in] : root_.table("copper_cables"))
      parts_.copper_cables[name] = copper_cable(name, in);
    if (is_whole_ || root_.has("software")) read_software(root_.child("software"));
    if (is_whole_ || root_.has("networks"))
      read_networks(root_.child("networks"), figures_, is_whole_, parts_.software.network);
    if (is_whole_ || root_.has("default_fabric")) read_fabric(root_.child("default_fabric"));
    for (auto& [gpu, in] : root_.table("platforms")) parts_.platforms[gpu] = platform(in);
    read_usual_nics();
    read_gpu_names();
    return std::move(parts_);
  }

 private:
  Platform platform(Reader& in) {
    constexpr int most = 64;
    Platform out;
    const auto part = [&](const char* key, const auto& known, std::string& name) {
      name = in.text(key, "");
      if (!name.empty()) check_known(in, key, "part", name, known);
    };
    in.text("cpu");
    part("cpu", parts_.cpus, out.cpu);
    part("pcie_switch", parts_.pcie_switches, out.pcie_switch);
    part("nvswitch", parts_.nvswitches, out.nvswitch);
    part("mesh_cpu", parts_.cpus, out.mesh_cpu);
    out.nvswitches = in.whole("nvswitches", 0, most, 0);
    out.pairs = in.flag("pairs", false);
    out.cpus = in.whole("cpus", 1, most, 2);
    out.root_ports = in.flag("root_ports", false);
    figures_.check_source(in);
    in.finish();
    return out;
  }

  /// Those of a file of own parts come first.
  void read_usual_nics() {
    std::vector<UsualNic> own;
    for (Reader& in : root_.children("usual_nics")) {
      UsualNic one{in.text("network"), in.bandwidth("rate"), in.text("nic"), in.text("gpu", ""),
                   in.text("type", "")};
      check_known(in, "nic", "NIC", one.nic, parts_.nics);
      figures_.check_source(in);
      in.finish();
      own.push_back(std::move(one));
    }
    parts_.usual_nics.insert(parts_.usual_nics.begin(), own.begin(), own.end());
  }

  /// Those of a file of own parts come first.
  void read_gpu_names() {
    std::vector<GpuName> own;
    for (Reader& in : root_.children("gpu_names")) {
      GpuName one{in.text("product", ""), in.text("gpu"), in.text("card", "")};
      one.is_product = !one.name.empty();
      if (one.is_product == in.has("model"))
        in.fail("product", "one of product and model is wanted");
      if (!one.is_product) one.name = in.text("model");
      check_known(in, "gpu", "GPU", one.gpu, parts_.gpus);
      if (!one.card.empty()) check_known(in, "card", "GPU", one.card, parts_.gpus);
      figures_.check_source(in);
      in.finish();
      own.push_back(std::move(one));
    }
    parts_.gpu_names.insert(parts_.gpu_names.begin(), own.begin(), own.end());
  }

  /// Fails where `name`, which stands at this key, is none of these.
  template <class Map>
  static void check_known(Reader& in, const char* key, const char* what, const std::string& name,
                          const Map& known) {
    if (!known.contains(name))
      in.fail(key, fmt::format("no {} is named \"{}\"", what, name),
              hint_nearest(name, names(known)));
  }
  template <class Map>
  static std::vector<std::string> names(const Map& map) {
    std::vector<std::string> out;
    for (const auto& [name, part] : map) out.push_back(name);
    return out;
  }

  void read_pcie_gen(Reader& in) {
    PcieGen gen;
    gen.gen = in.whole("gen", 1, kPcieGenMax);
    gen.speed_text = in.text("speed");
    gen.effective_x16 = figures_.bandwidth(in, "effective_x16");
    in.finish();
    parts_.pcie[gen.gen] = std::move(gen);
  }

  /// What a part says of itself on the PCI bus; a mapping with its own source.
  template <class Part>
  void read_identity(Part& part, Reader& part_in) {
    Reader in = part_in.child("identity");
    figures_.check_source(in);
    part.ids.device_class = in.text("class");
    part.ids.vendor = in.text("vendor");
    part.ids.device = in.text("device");
    part.ids.subsystem_vendor = in.text("subsystem_vendor");
    part.ids.subsystem_device = in.text("subsystem_device");
    part.pcie_gen = in.whole("pcie_gen", 1, kPcieGenMax);
    part.pcie_width = in.whole("pcie_width", 1, kPcieWidthMax);
    if (!parts_.pcie.contains(part.pcie_gen)) {
      in.fail("pcie_gen", fmt::format("the table \"pcie\" has no generation {}", part.pcie_gen));
    }
    if constexpr (requires { part.sm; }) part.sm = in.whole("sm", 1, 999);
    in.finish();
  }

  GpuPart gpu(const std::string& name, Reader& in) {
    GpuPart part;
    part.name = name;
    read_identity(part, in);
    if (in.has("multiprocessors"))
      part.multiprocessors = figures_.whole(in, "multiprocessors", 1, 10'000);
    if (in.has("peer_to_peer")) part.peer_to_peer = figures_.whole(in, "peer_to_peer", 0, 1) == 1;
    part.nvlink_links = figures_.whole(in, "nvlink_links", 0, 1024);
    if (part.nvlink_links > 0) {
      part.nvlink_per_link = figures_.bandwidth(in, "nvlink_per_link");
      part.nvlink_store_efficiency = figures_.number(in, "nvlink_store_efficiency", 0.01, 1);
      part.nvlink_latency = figures_.duration(in, "nvlink_latency");
    }
    if (in.has("c2c_links")) {
      part.c2c_links = figures_.whole(in, "c2c_links", 1, 1024);
      part.c2c_per_link = figures_.bandwidth(in, "c2c_per_link");
      part.c2c_efficiency = figures_.number(in, "c2c_efficiency", 0.01, 1);
      part.c2c_latency = figures_.duration(in, "c2c_latency");
    }
    Reader rates = in.child("copy_rate");
    for (std::size_t p = 0; p < kProtocolKeys.size(); ++p) {
      part.copy_rate[p] = figures_.bandwidth(rates, kProtocolKeys[p]);
    }
    rates.finish();
    if (in.has("launch")) part.launch = figures_.duration(in, "launch");
    if (in.has("overhead")) {
      Reader hops = in.child("overhead");
      for (std::size_t p = 0; p < kProtocolKeys.size(); ++p)
        if (hops.has(kProtocolKeys[p]))
          part.overhead[p] = figures_.duration(hops, kProtocolKeys[p]);
      hops.finish();
    }
    if (in.has("end_share")) part.end_share = figures_.number(in, "end_share", 0.3, 1);
    in.finish();
    return part;
  }

  NicPart nic(const std::string& name, Reader& in) {
    NicPart part;
    part.name = name;
    read_identity(part, in);
    part.port_rate = figures_.bandwidth(in, "port_rate");
    part.goodput = figures_.number(in, "goodput", 0.01, 1);
    part.latency = figures_.duration(in, "latency");
    part.network = net_kind(in, "network");
    if (in.has("reported_latency"))
      part.reported_latency_us =
          static_cast<double>(figures_.duration(in, "reported_latency").ps) / 1e6;
    part.watts = watts(in);
    in.finish();
    return part;
  }

  CpuPart cpu(const std::string& name, Reader& in) {
    CpuPart part;
    part.name = name;
    Reader identity = in.child("identity");
    figures_.check_source(identity);
    part.arch = identity.text("arch");
    part.vendor = identity.text("vendor", "");  // an Arm says none
    part.family_id = identity.whole("family_id", 0, kFamilyMax);
    part.model_id = identity.whole("model_id", 0, kFamilyMax);
    identity.finish();
    part.socket_rate = figures_.bandwidth(in, "socket_rate");
    part.socket_latency = figures_.duration(in, "socket_latency");
    part.root_latency = figures_.duration(in, "root_latency");
    if (in.has("memory_rate")) part.memory_rate = figures_.bandwidth(in, "memory_rate");
    if (in.has("duplex_rate")) part.duplex_rate = figures_.bandwidth(in, "duplex_rate");
    if (in.has("duplex_share")) part.duplex_share = figures_.number(in, "duplex_share", 0.01, 1);
    if (in.has("duplex_tree_rate"))
      part.duplex_tree_rate = figures_.bandwidth(in, "duplex_tree_rate");
    if (in.has("ll_check_rate")) part.ll_check_rate = figures_.bandwidth(in, "ll_check_rate");
    if (in.has("root_share")) part.root_share = figures_.number(in, "root_share", 0.01, 1);
    if (in.has("python")) part.python = figures_.number(in, "python", 0.1, 10);
    in.finish();
    return part;
  }

  PcieSwitchPart pcie_switch(const std::string& name, Reader& in) {
    PcieSwitchPart part;
    part.name = name;
    read_identity(part, in);
    part.latency = figures_.duration(in, "latency");
    in.finish();
    return part;
  }

  FabricSwitchPart fabric_switch(const std::string& name, Reader& in) {
    FabricSwitchPart part;
    part.name = name;
    part.radix = figures_.whole(in, "radix", 2, 100'000);
    part.port_rate = figures_.bandwidth(in, "port_rate");
    part.latency = figures_.duration(in, "latency");
    part.packet_payload = figures_.bytes(in, "packet_payload");
    part.packet_headers = figures_.bytes(in, "packet_headers");
    if (part.packet_payload.count < 1) in.fail("packet_payload", "must be at least 1 B");
    if (in.has("link_layer")) part.link_layer = in.choice("link_layer", kLinkLayerWords);
    if (in.has("sharp")) part.sharp = sharp(in.child("sharp"));
    if (in.has("cage_ports")) part.cage_ports = figures_.whole(in, "cage_ports", 1, 64);
    part.watts = watts(in);
    in.finish();
    return part;
  }

  TransceiverPart transceiver(const std::string& name, Reader& in) {
    TransceiverPart part;
    part.name = name;
    part.rate = figures_.bandwidth(in, "rate");
    part.fibre_rate = figures_.bandwidth(in, "fibre_rate");
    if (part.fibre_rate > part.rate) in.fail("fibre_rate", "must not be more than the rate");
    part.fibre = in.text("fibre");
    part.reach_metres = figures_.metres(in, "reach");
    part.watts = watts(in);
    in.finish();
    return part;
  }

  CopperCablePart copper_cable(const std::string& name, Reader& in) {
    CopperCablePart part;
    part.name = name;
    part.rate = figures_.bandwidth(in, "rate");
    part.reach_metres = figures_.metres(in, "reach");
    part.splits = in.flag("splits", false);
    part.watts = watts(in);
    in.finish();
    return part;
  }

  /// 0 = not known.
  double watts(Reader& in) const { return in.has("power") ? figures_.watts(in, "power") : 0; }

  SharpPart sharp(Reader in) {
    SharpPart part;
    part.trees_per_subnet = figures_.whole(in, "trees_per_subnet", 1, 100'000);
    part.trees_per_switch = figures_.whole(in, "trees_per_switch", 1, 100'000);
    part.level_latency = figures_.duration(in, "level_latency");
    part.line_rate = figures_.number(in, "line_rate", 0.01, 1);
    in.finish();
    return part;
  }

  void read_fabric(Reader in) {
    DefaultFabric& fabric = parts_.default_fabric;
    fabric.leaf_down = figures_.whole(in, "leaf_down", 1, 100'000);
    fabric.nodes_per_rack = figures_.whole(in, "nodes_per_rack", 1, 100'000);
    fabric.node_leaf_metres = figures_.metres(in, "node_leaf_length");
    fabric.leaf_spine_metres = figures_.metres(in, "leaf_spine_length");
    in.finish();
  }

  void read_software(Reader in) {
    Reader protocols = in.child("protocols");
    for (std::size_t p = 0; p < kProtocolKeys.size(); ++p) {
      Reader protocol = protocols.child(kProtocolKeys[p]);
      ProtocolCosts& costs = parts_.software.protocol[p];
      costs.start = figures_.duration(protocol, "start");
      if (protocol.has("first_pass")) costs.first_pass = figures_.bytes(protocol, "first_pass");
      read_by_hop(protocol, "overhead", costs.overhead);
      read_by_hop(protocol, "sync", costs.sync);
      protocol.finish();
    }
    protocols.finish();
    parts_.software.launch_any = figures_.duration(in, "launch");
    parts_.software.launch_per_gpu = figures_.duration(in, "launch_per_gpu");
    parts_.software.launch_per_message = figures_.duration(in, "launch_per_message");
    parts_.software.work_read = figures_.duration(in, "work_read");
    parts_.software.tree_copy_share = figures_.number(in, "tree_copy_share", 0.1, 1);
    parts_.software.ll128_net_share = figures_.number(in, "ll128_net_share", 0.1, 1);
    parts_.software.nvls_copy_rate = figures_.bandwidth(in, "nvls_copy_rate");
    parts_.software.nvls_tree_copy_share = figures_.number(in, "nvls_tree_copy_share", 0.1, 1);
    parts_.software.collnet_sync = figures_.duration(in, "collnet_sync");
    parts_.software.copy_warps = figures_.number(in, "copy_warps", 1, 32);
    parts_.software.lane_share = figures_.number(in, "lane_share", 0.1, 1);
    parts_.software.in_step_slices = figures_.number(in, "in_step_slices", 0.5, 1000);
    parts_.software.message_spread = figures_.duration(in, "message_spread");
    parts_.software.ll_lane_share = figures_.number(in, "ll_lane_share", 0.01, 8);
    in.finish();
  }

  template <std::size_t n>
  void read_by_hop(Reader& in, const char* key, std::array<Duration, n>& out) {
    Reader hops = in.child(key);
    for (std::size_t h = 0; h < n; ++h) out[h] = figures_.duration(hops, kHopKeys[h]);
    hops.finish();
  }

  Reader& root_;
  bool is_whole_;  ///< not an addition to another catalogue: everything must be there
  PartsCatalogue parts_;
  Figures figures_;
};

}  // namespace

PartsCatalogue parse_parts(const YamlText& text, const std::string& file,
                           const PartsCatalogue* base) {
  return read_parts(parse_yaml(text, file), file, base);
}

PartsCatalogue read_parts(const YamlNode& tree, const std::string& file,
                          const PartsCatalogue* base) {
  Reader root(tree, file);
  root.choice("kind", {"parts"});
  PartsCatalogue parts = PartsReader(root, base).read();
  root.finish();
  return parts;
}

}  // namespace fabricast
