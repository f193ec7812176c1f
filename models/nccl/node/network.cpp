#include "models/nccl/node/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/nccl/base/net_name.hpp"
#include "models/nccl/environment/env_reader.hpp"
#include "models/nccl/environment/ib_settings.hpp"
#include "models/nccl/node/aws_ofi.hpp"
#include "models/nccl/node/gib.hpp"
#include "models/nccl/node/nic_fusion.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

using Net = NodeDescription::Net;
using Pci = NodeDescription::Pci;

template <class Visit>
void for_each_net(std::vector<Pci>& children, Visit&& visit) {
  for (Pci& pci : children) {
    if (pci.nic) std::ranges::for_each(pci.nic->nets, visit);
    for_each_net(pci.children, visit);
  }
}

class Chooser {
 public:
  Chooser(const NodeDescription& node, const Environment& environment, NcclVersion version,
          const IbHcaFilter& hcas, int nodes, std::vector<std::string>& warnings)
      : node_(node),
        environment_(environment),
        env_(environment, version, warnings),
        hcas_(hcas),
        nodes_(nodes),
        nets_(nets_of(node)),
        warnings_(warnings) {}

  NetworkChoice choose() {
    NetworkChoice out;
    out.node = node_;
    if (nets_.empty()) {
      if (nodes_ > 1)
        throw Error(fmt::format("{} has no NIC, so {} nodes cannot talk", node_.name, nodes_));
      return out;
    }
    out.settings.kind = kind();
    if (has_verbs(out.settings.kind)) {
      const IbSettings ib = read_ib_settings(environment_, env_.version(), warnings_);
      if (ib.split) out.settings.pieces = ib.queue_pairs;
    }
    if (out.settings.kind == NetKind::cxi) {
      out.settings.matches_in_software = env_.text("FI_CXI_RX_MATCH_MODE") == "software";
      out.settings.copies_by_driver = env_.integer("FI_HMEM_CUDA_USE_GDRCOPY").value_or(0) != 1;
      out.settings.injects = env_.integer("FI_CXI_DISABLE_NON_INJECT_MSG_IDC").value_or(0) == 0;
      out.settings.rendezvous_threshold = bytes_of("FI_CXI_RDZV_THRESHOLD");
      out.settings.rendezvous_get_min = bytes_of("FI_CXI_RDZV_GET_MIN");
      out.settings.safe_copy = bytes_of("FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD");
    }
    if (out.settings.kind != NetKind::sockets) {
      out.settings.flush_always = env_.integer("NCCL_NET_FORCE_FLUSH").value_or(0) != 0;
      out.settings.flush_never = env_.integer("NCCL_GDR_FLUSH_DISABLE").value_or(0) != 0;
      for (const Net& net : nets_) {
        if (serves(net, out.settings.kind)) out.nics.push_back(net.dev);
      }
      if (has_verbs(out.settings.kind)) fuse(out, fuse_nics(node_, out.nics, env_));
      if (out.settings.kind == NetKind::efa && joins_rails(environment_, node_))
        fuse(out, fuse_rails(node_, out.nics, env_));
      return out;
    }
    use_sockets(out);
    return out;
  }

 private:
  std::optional<Bytes> bytes_of(std::string_view variable) {
    const auto count = env_.integer(variable);
    return count && *count >= 0 ? std::optional(Bytes{*count}) : std::nullopt;
  }

  /// Whether a NIC belongs to the network that the kind stands for.
  bool serves(const Net& net, NetKind kind) const {
    if (has_verbs(kind)) return has_verbs(net.network) && hcas_.selects(net.name, net.port);
    return net.network == kind;
  }

  /// In NCCL's order, the first that works and has the name that is asked for.
  NetKind kind() {
    std::vector<NetKind> there;
    const bool plugins = env_.text("NCCL_NET_PLUGIN") != "none";
    for (const Net& net : nets_) {
      if (plugins && needs_plugin(net.network)) there.push_back(net.network);
    }
    const bool verbs = env_.integer("NCCL_IB_DISABLE").value_or(0) == 0;
    bool filtered = false;
    for (const Net& net : nets_) {
      if (!verbs || !has_verbs(net.network)) continue;
      filtered = filtered || !serves(net, net.network);
      if (serves(net, net.network)) there.push_back(net.network);
    }
    const bool rdma = !there.empty();
    there.push_back(NetKind::sockets);
    const auto wanted = env_.text("NCCL_NET");
    for (const NetKind kind : there) {
      if (wanted && !is_net_name(kind, *wanted)) continue;
      if (nodes_ > 1 && kind == NetKind::sockets && !rdma && filtered) {
        warnings_.push_back(
            "NCCL_IB_HCA selects none of the node's HCAs: NCCL goes on over sockets");
      }
      return kind;
    }
    std::string known;
    for (const NetKind kind : there) {
      const std::string name(net_name(kind));
      if (known.find(name) == std::string::npos) known += (known.empty() ? "" : ", ") + name;
    }
    if (nodes_ == 1) return there.front();
    env_.refuse("NCCL_NET", "NCCL finds no network of that name",
                fmt::format("{} has: {}", node_.name, known));
  }

  void fuse(NetworkChoice& out, NicFusion fusion) {
    std::size_t most = 1;
    for (const std::vector<int>& group : fusion.groups) most = std::max(most, group.size());
    out.settings.pieces *= static_cast<int>(most);
    if (nodes_ > 1) note_fused(nets_of(fusion.node));
    out.node = std::move(fusion.node);
    out.nics = std::move(fusion.nics);
    out.settings.fused = std::move(fusion.groups);
  }

  /// Of many that are alike the first and the last.
  void note_fused(std::vector<Net> nets) {
    std::erase_if(nets, [](const Net& net) { return net.name.find('+') == std::string::npos; });
    constexpr std::size_t few = 2;
    if (nets.size() > few && std::ranges::all_of(nets, [&](const Net& net) {
          return net.speed_mbps == nets.front().speed_mbps;
        })) {
      warnings_.push_back(fmt::format("NCCL takes NICs for one: {} of {} Gb/s, {} to {}",
                                      nets.size(), nets.front().speed_mbps / 1000,
                                      nets.front().name, nets.back().name));
      return;
    }
    for (const Net& net : nets)
      warnings_.push_back(
          fmt::format("NCCL takes NICs for one: {}, {} Gb/s", net.name, net.speed_mbps / 1000));
  }

  /// Every NIC has an IP interface: IPoIB, the network device of RoCE, or simply Ethernet.
  void use_sockets(NetworkChoice& out) {
    int number = 0;
    std::string all;
    for (NodeDescription::Cpu& cpu : out.node.cpus) {
      for_each_net(cpu.children, [&](Net& net) {
        net.name = fmt::format("{}{}", net.network == NetKind::ib ? "ib" : "eth", number++);
        net.network = NetKind::sockets;
        net.gdr = false;
        net.collnet = false;
        net.port = 0;
        net.guid.reset();
        net.latency_us = 0;
        all += (all.empty() ? "" : ", ") + net.name;
      });
    }
    out.nics = interfaces(nets_of(out.node));
    if (nodes_ == 1) return;
    if (out.nics.empty()) {
      env_.refuse("NCCL_SOCKET_IFNAME", "none of the node's interfaces",
                  fmt::format("they are called {} here", all));
    }
    out.settings.sockets = sockets();
    warnings_.push_back(fmt::format(
        "data between nodes go over TCP sockets, {} interface(s) of each node; a NIC's interface "
        "is called ib<number> (IPoIB) or eth<number>",
        out.nics.size()));
  }

  /// src/misc/socket.cc: what begins with ib comes first. A name of one character is ignored.
  std::vector<int> interfaces(const std::vector<Net>& nets) {
    const auto list = env_.text("NCCL_SOCKET_IFNAME");
    const bool is_set = list && list->size() > 1;
    const auto selected = [&](const IbHcaFilter& filter) {
      std::vector<int> out;
      for (const Net& net : nets) {
        if (filter.selects(net.name, -1)) out.push_back(net.dev);
      }
      return out;
    };
    if (is_set) return selected(IbHcaFilter(*list));
    const std::vector<int> first = selected(IbHcaFilter("ib"));
    return first.empty() ? selected(IbHcaFilter()) : first;
  }

  /// By the maker of the NIC: AWS, Google.
  SocketSettings usual_sockets() const {
    std::string vendor;
    for (const NodeDescription::Cpu& cpu : node_.cpus) find_vendor(cpu.children, vendor);
    if (vendor == "0x1d0f") return {2, 8};
    if (vendor == "0x1ae0") return {4, 1};
    return {};
  }
  static void find_vendor(const std::vector<Pci>& children, std::string& vendor) {
    for (const Pci& pci : children) {
      if (vendor.empty() && pci.nic) vendor = pci.vendor;
      find_vendor(pci.children, vendor);
    }
  }

  SocketSettings sockets() {
    constexpr std::int64_t threads_max = 16, sockets_max = 64;
    SocketSettings out = usual_sockets();
    if (const auto n = env_.integer_within("NCCL_SOCKET_NTHREADS", 0, threads_max))
      out.threads = static_cast<int>(*n);
    if (out.threads == 0) return {};
    if (const auto n = env_.integer("NCCL_NSOCKS_PERTHREAD"); n && *n > 0) {
      out.sockets_per_thread = static_cast<int>(
          env_.bent("NCCL_NSOCKS_PERTHREAD", *n, std::min(*n, sockets_max / out.threads)));
    }
    return out;
  }

  const NodeDescription& node_;
  const Environment& environment_;
  EnvReader env_;
  const IbHcaFilter& hcas_;
  int nodes_;
  std::vector<Net> nets_;
  std::vector<std::string>& warnings_;
};

}  // namespace

std::string_view net_name(NetKind kind) {
  switch (kind) {
    case NetKind::ib:
    case NetKind::roce:
      return "IB";
    case NetKind::sockets:
      return "Socket";
    case NetKind::efa:
    case NetKind::cxi:
      return "AWS Libfabric";
    case NetKind::tcpx:
      return "GPUDirectTCPX_v7";
    case NetKind::tcpxo:
      return "FasTrak";
  }
  return {};
}

bool is_net_name(NetKind kind, std::string_view name) {
  return lower_case(net_name(kind)) == lower_case(name) || (has_verbs(kind) && is_gib(name));
}

NetworkChoice choose_network(const NodeDescription& node, const Environment& environment,
                             NcclVersion version, const IbHcaFilter& hcas, int nodes,
                             std::vector<std::string>& warnings) {
  return Chooser(node, environment, version, hcas, nodes, warnings).choose();
}

}  // namespace fabricast
