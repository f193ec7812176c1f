#include "models/studies/judge/judge_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "models/nccl/base/net_name.hpp"

namespace fabricast {

namespace {

using Hardware = Suspect::Hardware;

constexpr int kFirstNvlsSm = 90;  // NVLink SHARP: Hopper and later

/// NICs of the first server by the CPU they hang under.
std::map<std::uint32_t, std::vector<int>> nics_by_cpu(const NodeGraph& node) {
  std::map<std::uint32_t, std::vector<int>> out;
  const auto nics = node.nics();
  for (std::size_t i = 0; i < nics.size(); ++i)
    out[index_of(node.cpu_of(nics[i].vertex))].push_back(static_cast<int>(i));
  return out;
}

/// By NIC, one of the other socket; empty where all hang under one.
std::vector<int> nics_across(const NodeGraph& node) {
  const auto groups = nics_by_cpu(node);
  if (groups.size() < 2 || node.trays() > 1) return {};
  std::vector<int> out(node.nics().size());
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    const auto next = std::next(group) == groups.end() ? groups.begin() : std::next(group);
    for (std::size_t i = 0; i < group->second.size(); ++i)
      out[static_cast<std::size_t>(group->second[i])] = next->second[i % next->second.size()];
  }
  return out;
}

class Suspects {
 public:
  Suspects(const Cluster& cluster, const SuspectedRun& run)
      : cluster_(cluster), node_(cluster.node()), run_(run) {}

  std::vector<Suspect> list() {
    add({"", "as described", ""});
    if (cluster_.nodes() > 1) network();
    inside();
    if (is_tuned(run_.collective)) choices();
    if (cluster_.nodes() > 1) other_networks();
    if (is_tuned(run_.collective)) pairs();
    return std::move(out_);
  }

  std::vector<Suspect> acceptance() {
    add({"", "as described", ""});
    if (cluster_.nodes() > 1) {
      network();
      one_nic_less();
      if (node_.gpus().size() > 1)
        add({"pxn-off",
             "PXN is off: a GPU reaches NICs beside other GPUs over PCIe",
             "NCCL_PXN_DISABLE; the list of settings in the job's environment",
             {{"NCCL_PXN_DISABLE", "1"}}});
    }
    inside();
    one_gpu();
    nvlink();
    constexpr std::array<std::string_view, 4> kNoPartOf = {"sockets-1", "one-hca", "port-25",
                                                           "other-socket"};
    std::erase_if(out_, [&](const Suspect& one) {
      return std::ranges::find(kNoPartOf, one.name) != kNoPartOf.end() ||
             std::ranges::any_of(one.environment,
                                 [&](const auto& set) { return is_set(set.first.c_str()); });
    });
    return std::move(out_);
  }

 private:
  /// NCCL gives all nodes the channels of the node that has fewest (src/init.cc takes the least of
  /// all ranks' graphs), so each is simulated without the NIC.
  void one_nic_less() {
    const auto nics = node_.nics_of(0);
    if (nics.size() < 2 || !has_verbs(nics.front().part.network)) return;
    std::string others;
    for (const NicInfo& nic : nics.subspan(1)) others += (others.empty() ? "=" : ",") + nic.name;
    add({"nic-missing",
         fmt::format("one NIC is not found: {} of {} are left", nics.size() - 1, nics.size()),
         "NCCL_DEBUG=INFO: the list after \"NET/IB : Using\"; ibstat, lspci on every node",
         {{"NCCL_IB_HCA", others}}});
  }

  void one_gpu() {
    add({"gpu-50",
         "one GPU at half its speed",
         "nvidia-smi -q -d PERFORMANCE,CLOCK,ECC on every node: throttle reasons, power caps",
         {},
         Hardware::gpu,
         0.5});
  }

  void nvlink() {
    const GpuInfo& first = node_.gpus().front();
    const int links = links_to_first_neighbour(first);
    if (links > 1)
      add({"nvlink-missing",
           fmt::format("one NVLink of {} of a GPU is down", links),
           "nvidia-smi nvlink --status; DCGM's NVLink errors; the fabric manager's log",
           {},
           Hardware::nvlink,
           static_cast<double>(links - 1) / links});
    nvls_off();
    if (node_.trays() > 1)
      add({"mnnvl-off",
           "NVLink between trays is not used: bytes go over the network",
           "nvidia-smi -q: Fabric state; nvidia-imex-ctl -N; NCCL_MNNVL_ENABLE",
           {{"NCCL_MNNVL_ENABLE", "0"}}});
  }

  void nvls_off() {
    if (node_.nvswitches().empty() || node_.gpus().front().part.sm < kFirstNvlsSm) return;
    add({"nvls-off",
         "NVLink SHARP is off",
         "NCCL_DEBUG=INFO: \"NVLS multicast support is available\"; NCCL_NVLS_ENABLE, the fabric "
         "manager",
         {{"NCCL_NVLS_ENABLE", "0"}}});
  }

  int links_to_first_neighbour(const GpuInfo& gpu) const {
    if (gpu.nvswitch_links > 0) return gpu.nvswitch_links;
    return gpu.nvlink_targets.empty() ? 0 : gpu.nvlink_targets.front().second;
  }

  void add(Suspect cause) { out_.push_back(std::move(cause)); }

  /// What the job sets itself is no deviation, and nothing else is taken.
  bool is_set(const char* name) const { return run_.environment.get(name).has_value(); }

  void network() {
    const NicInfo& first = node_.nics().front();
    const bool rdma = first.part.network == NetKind::ib || first.part.network == NetKind::roce;
    if (rdma) {
      add({"gdr-off",
           "GPUDirect RDMA is off: bytes to other nodes go through host memory",
           "NCCL_DEBUG=INFO: \"via NET/IB/0\" without GDRDMA; lsmod | grep nvidia_peermem; "
           "NCCL_NET_GDR_LEVEL; ACS and IOMMU",
           {{"NCCL_NET_GDR_LEVEL", "LOC"}}});
      add({"sockets",
           "sockets instead of RDMA",
           "NCCL_DEBUG=INFO: \"Using network Socket\"; NCCL_IB_DISABLE, NCCL_NET, /dev/infiniband "
           "in "
           "the container, ulimit -l",
           {{"NCCL_IB_DISABLE", "1"}}});
      one_interface("NCCL_IB_DISABLE", "1");
      hcas();
    } else if (needs_plugin(first.part.network)) {
      add({"sockets",
           "sockets instead of the network's plugin",
           "NCCL_DEBUG=INFO: \"Using network Socket\"; NCCL_NET_PLUGIN, the plugin in the "
           "container's LD_LIBRARY_PATH",
           {{"NCCL_NET_PLUGIN", "none"}}});
      one_interface("NCCL_NET_PLUGIN", "none");
    }
    for (const int per_cent : {50, 25}) {
      add({fmt::format("port-{}", per_cent),
           fmt::format("one NIC port (or the link of it) at {} % of its rate", per_cent),
           "ibstat on every node: Rate; ibdiagnet, mlxlink: width, errors; cables",
           {},
           Hardware::nic_port,
           per_cent / 100.0});
    }
    add({"ports-50",
         "every NIC port at 50 % of its rate",
         "ibstat: Rate; breakout cables, switch port speed, caps of virtual machines",
         {},
         Hardware::nic_ports,
         0.5});
    add({"slot-50",
         "the PCIe slot of a NIC at half its rate (generation or width)",
         "lspci -vv of the NIC: LnkSta against LnkCap",
         {},
         Hardware::nic_slot,
         0.5});
    if (is_tuned(run_.collective) && !nics_across(node_).empty()) {
      add({"other-socket",
           "NICs of the other socket: every channel crosses between the CPUs",
           "nvidia-smi topo -m; NCCL_TOPO_FILE of the machine type; NIC order and affinity in "
           "virtual machines and containers",
           {},
           Hardware::other_socket});
    }
  }

  /// Sockets take all interfaces that are there: of many clusters NICs for RDMA have no addresses.
  void one_interface(const char* off, const char* value) {
    if (node_.nics_of(0).size() < 2) return;
    const bool is_ib = node_.nics().front().part.network == NetKind::ib;
    add({"sockets-1",
         "sockets over one interface instead of RDMA",
         "NCCL_DEBUG=INFO: \"NET/Socket : Using\"; as for sockets, and NCCL_SOCKET_IFNAME",
         {{off, value}, {"NCCL_SOCKET_IFNAME", is_ib ? "=ib0" : "=eth0"}}});
  }

  void hcas() {
    const auto nics = node_.nics_of(0);
    if (nics.size() < 2) return;
    const auto list = [&](std::size_t count) {
      std::string out = "=";
      for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + nics[i].name;
      return out;
    };
    const char* const check =
        "NCCL_DEBUG=INFO: the list after \"NET/IB : Using\"; NCCL_IB_HCA; devices the container "
        "gets";
    add({"one-hca", "one HCA of each node only", check, {{"NCCL_IB_HCA", list(1)}}});
    if (nics.size() > 2)
      add({"half-hcas",
           fmt::format("{} of {} HCAs only", nics.size() / 2, nics.size()),
           check,
           {{"NCCL_IB_HCA", list(nics.size() / 2)}}});
  }

  void inside() {
    add({"pcie-50",
         "PCIe of GPUs and NICs at half its rate (generation or width)",
         "nvidia-smi -q: GPU Link Info; lspci -vv: LnkSta against LnkCap; BIOS settings",
         {},
         Hardware::pcie,
         0.5});
    if (node_.gpus().size() < 2) return;
    add({"p2p-off",
         "no peer-to-peer inside the node: bytes go through host memory",
         "NCCL_DEBUG=INFO: \"via SHM\"; NCCL_P2P_DISABLE, NCCL_P2P_LEVEL; containers without a "
         "shared PID and IPC namespace; ACS",
         {{"NCCL_P2P_DISABLE", "1"}}});
  }

  void choices() {
    if (!is_set("NCCL_NVLS_ENABLE")) nvls_off();
    if (!is_set("NCCL_MAX_NCHANNELS"))
      add({"channels-2",
           "two channels only",
           "NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS; \"coll channels\" "
           "with NCCL_DEBUG=INFO",
           {{"NCCL_MAX_NCHANNELS", "2"}}});
    for (const Algorithm algorithm : kAllAlgorithms) {
      const bool collnet =
          algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain;
      const std::string name(to_text(algorithm));
      if ((collnet && !run_.sharp) || is_set("NCCL_ALGO")) continue;
      add({"algo-" + name,
           fmt::format("algorithm {} throughout", name),
           "NCCL_ALGO, a tuner plugin; NCCL_DEBUG_SUBSYS=TUNING (2.24 and later) prints the choice",
           {{"NCCL_ALGO", name}}});
    }
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      const std::string name(to_text(protocol));
      if (is_set("NCCL_PROTO")) continue;
      add({"proto-" + name,
           fmt::format("protocol {} throughout", name),
           "NCCL_PROTO, a tuner plugin; NCCL_DEBUG_SUBSYS=TUNING (2.24 and later) prints the "
           "choice",
           {{"NCCL_PROTO", name}}});
    }
  }

  /// Networks that machines with these GPUs are rented with, too.
  void other_networks() {
    struct Other {
      const char* name;
      const char* title;
      const char* check;
      NetKind kind;
      const char* part;
      bool own_rate;
      int generation;  ///< of the GPUs, sm / 10; 0 = any
    };
    constexpr std::array<Other, 6> kOthers = {{
        {"roce", "RoCE instead of InfiniBand", "ibstat: Link layer; show_gids", NetKind::roce, "",
         true, 0},
        {"tcpxo", "GPUDirect-TCPXO (A3 Mega), 200 Gb/s per NIC",
         "NCCL_DEBUG=INFO: \"Using network FasTrak\"; the machine type", NetKind::tcpxo,
         "gVNIC_TCPXO", false, 9},
        {"tcpx", "GPUDirect-TCPX (A3 High), 200 Gb/s per NIC",
         "NCCL_DEBUG=INFO: \"Using network GPUDirectTCPX\"; the machine type", NetKind::tcpx,
         "gVNIC_TCPX", false, 9},
        {"efa", "libfabric on EFA (p4d), 100 Gb/s per NIC",
         "NCCL_DEBUG=INFO: \"Using network AWS Libfabric\"; fi_info -p efa", NetKind::efa, "EFA_v1",
         false, 8},
        {"efa", "libfabric on EFA (p5), at the same rate",
         "NCCL_DEBUG=INFO: \"Using network AWS Libfabric\"; fi_info -p efa", NetKind::efa, "EFA_v2",
         true, 9},
        {"efa", "libfabric on EFA (p6), at the same rate",
         "NCCL_DEBUG=INFO: \"Using network AWS Libfabric\"; fi_info -p efa", NetKind::efa, "EFA_v4",
         true, 10},
    }};
    const NetKind own = node_.nics().front().part.network;
    if (!has_verbs(own)) return;
    for (const Other& other : kOthers) {
      if (other.kind == own) continue;
      if (other.generation != 0 && other.generation != node_.gpus().front().part.sm / 10) continue;
      Suspect& added = out_.emplace_back();
      added.name = other.name;
      added.title = other.title;
      added.check = other.check;
      added.network = other.kind;
      added.nic_part = other.part;
      added.own_rate = other.own_rate;
    }
  }

  /// The choice and the hardware behind it go wrong for different reasons, often both at a time.
  void pairs() {
    std::vector<Suspect> choices;
    // Blackwell has no kernels before NCCL 2.25.
    const bool runs_old = node_.gpus().front().part.sm < 100;
    if (runs_old && !run_.release_said && kNccl2_21_5 < run_.version) {
      Suspect& old = choices.emplace_back();
      old.name = "nccl-" + to_text(kNccl2_21_5);
      old.title = fmt::format("NCCL {} or a release near it", to_text(kNccl2_21_5));
      old.check = "NCCL_DEBUG=VERSION; strings libnccl.so | grep \"NCCL version\"";
      old.release = kNccl2_21_5;
      add(old);
    }
    for (const Suspect& one : out_) {
      if (one.name == "algo-Ring") choices.push_back(one);
    }
    const std::vector<Suspect> alone = out_;
    for (const Suspect& choice : choices) {
      for (const Suspect& half : alone) {
        if (half.name != "half-hcas" && half.name != "ports-50") continue;
        Suspect both = half;
        both.name = choice.name + "+" + half.name;
        both.title = choice.title + ", and " + half.title;
        both.check = choice.check + "; " + half.check;
        both.environment.insert(both.environment.end(), choice.environment.begin(),
                                choice.environment.end());
        both.release = choice.release;
        add(std::move(both));
      }
    }
  }

  const Cluster& cluster_;
  const NodeGraph& node_;
  const SuspectedRun& run_;
  std::vector<Suspect> out_;
};

void slow_down(Cluster& cluster, LinkId link, double share) {
  const auto whole = static_cast<double>(cluster.link(link).rate.bytes_per_s);
  cluster.set_rate(link, {std::max<std::int64_t>(static_cast<std::int64_t>(whole * share), 1)});
}

/// What NIC `nic` of a node sends and receives.
void slow_port(Cluster& cluster, int node, const NicInfo& nic, double share) {
  slow_down(cluster, cluster.nic_to_leaf(node, nic.vertex), share);
  slow_down(cluster, cluster.leaf_to_nic(node, nic.vertex), share);
}

/// Both directions between the first GPU and the vertex to which its first NVLink leads.
void slow_nvlink(Cluster& cluster, double share) {
  const auto links = cluster.node().links();
  const VertexId gpu = cluster.node().gpus().front().vertex;
  const auto first = std::ranges::find_if(links, [&](const NodeLink& link) {
    return link.kind == LinkKind::nvlink && link.from == gpu;
  });
  if (first == links.end()) return;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    const NodeLink& link = links[i];
    const bool there = link.from == gpu && link.to == first->to;
    const bool back = link.from == first->to && link.to == gpu;
    if (link.kind == LinkKind::nvlink && (there || back))
      slow_down(cluster, cluster.global(0, LinkId{i}), share);
  }
}

bool touches(const NodeLink& link, VertexId vertex) {
  return link.from == vertex || link.to == vertex;
}

}  // namespace

std::vector<Suspect> possible_causes(const Cluster& cluster, const SuspectedRun& run) {
  return Suspects(cluster, run).list();
}

std::vector<Suspect> acceptance_faults(const Cluster& cluster, const SuspectedRun& run) {
  return Suspects(cluster, run).acceptance();
}

std::string line_against(const LoggedNetwork& log, NetKind kind) {
  const auto text_of = [](const LoggedLine& line) {
    return fmt::format("line {}: \"{}\"", line.line, line.text);
  };
  constexpr std::string_view kUsing = "Using network ";
  constexpr std::array kKinds = {NetKind::ib, NetKind::sockets, NetKind::efa, NetKind::tcpx,
                                 NetKind::tcpxo};  // one of each name
  const auto fits = [&](const LoggedLine& line) {
    const std::string_view name = std::string_view(line.text).substr(kUsing.size());
    const auto is = [&](NetKind one) { return is_net_name(one, name); };
    return is(kind) || std::ranges::none_of(kKinds, is);
  };
  if (!log.names.empty() && std::ranges::none_of(log.names, fits))
    return text_of(log.names.front());
  if (!has_verbs(kind) || log.links.empty()) return {};
  const std::string_view layer = kind == NetKind::roce ? "/RoCE" : "/IB";
  const auto has_it = [&](const LoggedLine& line) {
    return line.text.find(layer, line.text.find('[')) != std::string::npos;
  };
  return std::ranges::any_of(log.links, has_it) ? "" : text_of(log.links.front());
}

PartsCatalogue with_network(const Suspect& cause, const NodeGraph& node, PartsCatalogue parts) {
  if (!cause.network) return parts;
  for (const NicInfo& nic : node.nics()) {
    NicPart& part = parts.nics[nic.part.name];
    part.network = *cause.network;
    if (cause.nic_part.empty()) continue;
    const NicPart& other = parts.nics.at(cause.nic_part);
    part.goodput = other.goodput;
    part.latency = other.latency;
    part.reported_latency_us = other.reported_latency_us;
    if (!cause.own_rate) part.port_rate = other.port_rate;
  }
  return parts;
}

void apply_hardware(const Suspect& cause, Cluster& cluster) {
  const NodeGraph& node = cluster.node();
  const auto links = node.links();
  switch (cause.hardware) {
    case Hardware::as_described:
    case Hardware::gpu:
    case Hardware::other_socket:
      return;
    case Hardware::nvlink:
      return slow_nvlink(cluster, cause.share);
    case Hardware::nic_port:
      return slow_port(cluster, 0, node.nics().front(), cause.share);
    case Hardware::nic_ports:
      for (int n = 0; n < cluster.nodes(); ++n) {
        for (const NicInfo& nic : node.nics()) slow_port(cluster, n, nic, cause.share);
      }
      return;
    case Hardware::nic_slot:
    case Hardware::pcie: {
      const bool one = cause.hardware == Hardware::nic_slot;
      for (std::uint32_t i = 0; i < links.size(); ++i) {
        const NodeLink& link = links[i];
        if (link.kind != LinkKind::pcie) continue;
        if (one && !touches(link, node.nics().front().vertex)) continue;
        for (int n = 0; n < cluster.nodes(); ++n)
          slow_down(cluster, cluster.global(n, LinkId{i}), cause.share);
      }
      return;
    }
  }
}

void apply_to_run(const Suspect& cause, const Cluster& cluster, CollectiveRun& run) {
  if (cause.hardware == Hardware::gpu) run.faults.gpus.push_back({0, cause.share});
  if (cause.hardware != Hardware::other_socket) return;
  // Groups of a host's GPUs that are nodes to NCCL have their own socket's NICs alone.
  if (members_of(run, cluster.nodes()).is_split()) return;
  const std::vector<int> across = nics_across(cluster.node());
  const auto move = [&](int& nic) {
    if (nic >= 0 && nic < static_cast<int>(across.size()))
      nic = across[static_cast<std::size_t>(nic)];
  };
  for (GraphChannel& channel : run.graph.channels) {
    move(channel.net_in);
    move(channel.net_out);
  }
  run.transport.pxn = false;
}

}  // namespace fabricast
