#pragma once
// The typed parts catalogue: what a node or a fabric is composed of. Plain structs, filled by
// models/io from topologies/parts.yaml (every number there carries unit, source and status).
// All rates are one direction.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/parts/networks.hpp"
#include "sim/base/scaled.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// NCCL's protocols, in NCCL's order (src/include/device.h).
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr int kProtocols = 3;
inline constexpr std::array<Protocol, kProtocols> kAllProtocols = {Protocol::ll, Protocol::ll128,
                                                                   Protocol::simple};

/// Identification of a PCI function, as text of NCCL's topology XML ("0x10de").
struct PciIds {
  std::string device_class, vendor, device, subsystem_vendor, subsystem_device;
  bool operator==(const PciIds&) const = default;
};

/// What a CPU says of itself, as NCCL's topology XML has it.
struct CpuIdentity {
  std::string arch, vendor;  ///< "x86_64", "GenuineIntel"
  int family_id = 0, model_id = 0;
  bool operator==(const CpuIdentity&) const = default;
};

/// One PCIe generation: raw rate of a lane after encoding, and what a large DMA reaches of it.
struct PcieGen {
  int gen = 0;
  std::string speed_text;   ///< as sysfs and NCCL write it: "32.0 GT/s PCIe"
  Bandwidth effective_x16;  ///< payload rate of 16 lanes, measured or derived; scales with width
};

struct GpuPart {
  std::string name;
  int sm = 0;                          ///< compute capability, 90 = 9.0
  int multiprocessors = 0;             ///< 0 = not known
  int nvlink_links = 0;                ///< 0 = none
  Bandwidth nvlink_per_link;           ///< after encoding, one direction
  double nvlink_store_efficiency = 0;  ///< share of it that SM stores reach (store overhead), 0..1
  Duration nvlink_latency;             ///< GPU to GPU without an NVSwitch between them
  int c2c_links = 0;                   ///< NVLink-C2C to the CPU of its superchip; 0 = none
  Bandwidth c2c_per_link;              ///< one direction, as the driver tells NCCL
  double c2c_efficiency = 0;           ///< share of it that large copies reach, 0..1
  Duration c2c_latency;                ///< GPU to CPU, one way
  int pcie_gen = 0;
  int pcie_width = 16;
  bool peer_to_peer = true;  ///< the driver lets GPUs reach each other over PCIe
  /// What one channel (thread block) copies or reduces per second, data bytes, by Protocol.
  std::array<Bandwidth, kProtocols> copy_rate{};
  /// From the end of a kernel of the stream to the start of the next one's transfer, or from the
  /// CPU's launch of a lone one, with LL; none = as SoftwareCosts::launch_any.
  std::optional<Duration> launch;
  /// What a primitive over NVLink costs a block before its bytes move, by Protocol: how long it
  /// waits for its threads, its last stores and the next flag; none = as ProtocolCosts say.
  std::array<std::optional<Duration>, kProtocols> overhead{};
  double end_share = 1;  ///< of that with Simple, where a primitive only sends or only receives
  PciIds ids;
};

struct NicPart {
  std::string name;
  Bandwidth port_rate;  ///< signalling rate for data, 400 Gb/s = 50 GB/s
  double goodput = 0;   ///< share of port_rate that large messages reach, 0..1
  Duration latency;     ///< per side: doorbell to wire, wire to memory
  NetKind network = NetKind::ib;
  double reported_latency_us = 0;  ///< what the plugin tells NCCL's tuning model; 0 = nothing
  double watts = 0;                ///< of the card, transceiver left out; 0 = not known
  int pcie_gen = 0;
  int pcie_width = 16;
  PciIds ids;
};

struct CpuPart : CpuIdentity {
  std::string name;
  Bandwidth socket_rate;    ///< PCIe peer traffic over the socket link, one direction
  Duration socket_latency;  ///< extra one way latency of crossing it
  Duration root_latency;    ///< one way through the root complex
  Bandwidth memory_rate;    ///< DRAM of the socket, reads and writes together; 0 = never limits
  /// Share of a root port's DMA rate that a GPU's loads from host memory reach, and what goes from
  /// one root port to another; 0 = never limits.
  double root_share = 0;
  /// What a GPU stores to host memory and loads from it, together, while it does both at once:
  /// loads wait behind stores. 0 = never limits.
  Bandwidth duplex_rate;
  /// In place of it, a share of what the GPU's PCIe link carries both ways. 0 = never limits.
  double duplex_share = 0;
  /// The same as duplex_rate where one group of threads stores and another one loads, as in a
  /// tree's blocks: up and down. 0 = as duplex_rate.
  Bandwidth duplex_tree_rate;
  /// In place of a network's ll_check_rate: how fast a proxy reads LL flags in memory that a GPU
  /// wrote. 0 = as the network says.
  Bandwidth ll_check_rate;
  double python = 1;  ///< how long a framework's Python takes on it, over an Intel Xeon 8480C
};

struct PcieSwitchPart {
  std::string name;
  Duration latency;
  int pcie_gen = 0;
  int pcie_width = 16;
  PciIds ids;
};

struct NvSwitchPart {
  std::string name;
  Duration latency;  ///< GPU egress port to GPU ingress port, links included
};

/// In-network aggregation of a switch (SHARP), streaming trees only.
struct SharpPart {
  int trees_per_subnet = 0;  ///< 0 = the switch cannot do it
  int trees_per_switch = 0;  ///< active at the same time
  Duration level_latency;    ///< aggregate and forward, one way
  double line_rate = 0;      ///< share of a port's rate that a tree reaches
};

/// What the ports of a fabric's switch speak.
enum class LinkLayer : std::uint8_t { infiniband, ethernet, slingshot };
inline constexpr auto kLinkLayerWords =
    enum_words<LinkLayer>("infiniband", "ethernet", "slingshot");
/// The same as a name.
inline constexpr auto kLinkLayerNames =
    enum_words<LinkLayer>("InfiniBand", "Ethernet", "Slingshot");
/// Of the switches that NICs of that network are plugged into.
constexpr LinkLayer link_layer_of(NetKind network) {
  if (network == NetKind::ib) return LinkLayer::infiniband;
  return network == NetKind::cxi ? LinkLayer::slingshot : LinkLayer::ethernet;
}

struct FabricSwitchPart {
  std::string name;
  int radix = 0;
  int cage_ports = 1;  ///< ports that one transceiver or cable serves
  double watts = 0;    ///< typical, with passive cables: transceivers left out; 0 = not known
  Bandwidth port_rate;
  Duration latency;                      ///< port to port, ingress FEC included
  Bytes packet_payload, packet_headers;  ///< of a full packet: what headers leave of a port's rate
  LinkLayer link_layer = LinkLayer::infiniband;
  SharpPart sharp;

  bool is_ethernet() const { return link_layer == LinkLayer::ethernet; }
};

/// Kinds of hop between two workers: NCCL's transports P2P (over NVLink, over PCIe), SHM and NET.
enum class HopKind : std::uint8_t { nvlink, pcie, shm, net };
inline constexpr int kHopKinds = 4;

/// Costs of one protocol on any GPU, by HopKind where arrays. Sources in parts.yaml.
struct ProtocolCosts {
  Duration start;    ///< once per operation, beyond the launch
  Bytes first_pass;  ///< data of a slice that the overhead covers, of a whole block
  std::array<Duration, kHopKinds> overhead{};  ///< worker busy per primitive, before its bytes move
  /// Of that over NVLink, where a primitive only sends or only receives: an end of a chain.
  double end_share = 1;
  /// Flag to poll beyond the wire; occupies nobody. Inside a node: for NET see NetworkCosts.
  std::array<Duration, kHopKinds - 1> sync{};

  Duration overhead_of_end(HopKind hop) const {
    const Duration whole = overhead[static_cast<std::size_t>(hop)];
    return hop == HopKind::nvlink ? scaled(whole, end_share) : whole;
  }
};

/// Host software, one set for all nodes.
struct SoftwareCosts {
  ProtocolCosts costs(Protocol p, const GpuPart& gpu) const {
    ProtocolCosts out = protocol[static_cast<std::size_t>(p)];
    const std::optional<Duration>& own = gpu.overhead[static_cast<std::size_t>(p)];
    const bool has_nvlink = gpu.nvlink_links > 0;
    for (const HopKind hop : {HopKind::nvlink, HopKind::pcie, HopKind::shm})
      if (own && has_nvlink == (hop == HopKind::nvlink))
        out.overhead[static_cast<std::size_t>(hop)] = *own;
    if (p == Protocol::simple) out.end_share = gpu.end_share;
    return out;
  }
  /// The cost of one operation on such GPUs, before its first slice.
  Duration launch(Protocol p, const GpuPart& gpu) const {
    return gpu.launch.value_or(launch_any) + protocol[static_cast<std::size_t>(p)].start;
  }

  std::array<ProtocolCosts, kProtocols> protocol{};
  std::array<NetworkCosts, kNetKinds> network{};  ///< by NetKind
  Duration launch_any;                            ///< of a kernel, on GPUs that say nothing of it
  Duration launch_per_gpu;          ///< launches of one thread serialise: T >= GPUs * this
  Duration launch_per_message;      ///< the same of each send and receive of a group
  Duration work_read;               ///< of one block's work item from host memory, before NCCL 2.22
  double tree_copy_share = 1;       ///< copy rate of a tree worker / that of a whole block
  double ll128_net_share = 1;       ///< copy rate of a block that gets LL128 from a NIC / of others
  Bandwidth nvls_copy_rate;         ///< of a block in NVLS: of its scatter and of its gather, each
  double nvls_tree_copy_share = 1;  ///< of that rate in NVLSTree
  Duration collnet_sync;            ///< from a result in the receiver's slot to the flag seen
  double copy_warps = 1;            ///< that reach copy_rate with Simple; fewer reach their share
  double lane_share = 1;            ///< of a block that long sends have while as much is received
  /// Blocks of a ring start in step and drift apart over so many (WorkerClass::in_step_slices).
  double in_step_slices = 0;
  double ll_lane_share = 0;  ///< of a block's LL rate that one send or receive reaches; may be > 1
  /// Of messages that a GPU gets from others of its node the last comes so much later for each
  /// doubling of them: they take unequally long.
  Duration message_spread;
  /// Buffers are registered, so NVLS copies nothing: of in_place(), not of a file.
  bool in_place = false;
};

struct Cable {
  Duration delay_per_metre;
  Duration optics;  ///< per transceiver; two per optical cable, none (0) of copper
};

/// What is plugged into a cage for fibre. A switch or a NIC takes the slowest that is fast enough
/// and reaches far enough.
struct TransceiverPart {
  std::string name;
  Bandwidth rate;           ///< of all fibres together
  Bandwidth fibre_rate;     ///< of one fibre cable
  std::string fibre;        ///< the kind of cable; both ends of a link must have the same
  double reach_metres = 0;  ///< the longest link
  double watts = 0;         ///< at most; 0 = not known
};

/// A copper cable with its plugs: straight from cage to cage, or split at one end.
struct CopperCablePart {
  std::string name;
  Bandwidth rate;           ///< of all it carries
  double reach_metres = 0;  ///< the longest that is sold
  bool splits = false;      ///< one plug for a switch, several for NICs
  double watts = 0;         ///< of both ends
};

/// Where figures come from. Only what is assumed may have no url.
struct Source {
  std::string what, url;
};

/// Shape of the fabric that nodes hang on when none is named.
struct DefaultFabric {
  int leaf_down = 0;  ///< NIC ports per leaf
  int nodes_per_rack = 0;
  double node_leaf_metres = 0, leaf_spine_metres = 0;
};

/// What servers with a GPU are made of, as far as their makers agree. Names are those of parts.
struct Platform {
  std::string cpu, pcie_switch, nvswitch;  ///< "" = it has none
  int nvswitches = 0;
  bool pairs = false;       ///< two GPUs with their NICs on one PCIe switch of two levels
  int cpus = 2;             ///< NUMA nodes that have GPUs; Grace is part of the superchip
  std::string mesh_cpu;     ///< where its NVLinks join GPUs directly; "" = cpu
  bool root_ports = false;  ///< its cards stand on root ports, however many there are
};

/// The NIC of machines that are said to have a network of some kind and rate.
struct UsualNic {
  std::string network;  ///< "ib", "roce", "tcp", "efa", ...: net_kind of measured runs
  Bandwidth rate;
  std::string nic;   ///< a part
  std::string gpu;   ///< only beside GPUs whose part begins so; "" = any
  std::string type;  ///< only of machines whose nic_type holds this word; "" = any
};

/// A name by which tools or people know a GPU: see gpu_names.hpp.
struct GpuName {
  std::string name;  ///< "A100-SXM4-80GB", "A100"
  std::string gpu;   ///< a part
  std::string card;  ///< the part where it is a PCIe card, if that is another one
  /// Of a product: tools print it, among other words. Else it is looked for where nothing else is.
  bool is_product = false;
};

struct PartsCatalogue {
  std::map<std::string, Source> sources;
  std::map<int, PcieGen> pcie;
  std::map<std::string, GpuPart> gpus;
  std::map<std::string, NicPart> nics;
  std::map<std::string, CpuPart> cpus;
  std::map<std::string, PcieSwitchPart> pcie_switches;
  std::map<std::string, NvSwitchPart> nvswitches;
  std::map<std::string, FabricSwitchPart> fabric_switches;
  std::map<std::string, Cable> cables;  ///< kinds: how fast bytes are in them
  std::map<std::string, TransceiverPart> transceivers;
  std::map<std::string, CopperCablePart> copper_cables;
  SoftwareCosts software;
  DefaultFabric default_fabric;
  std::map<std::string, Platform> platforms;  ///< by GPU
  std::vector<UsualNic> usual_nics;           ///< the first that fits
  std::vector<GpuName> gpu_names;             ///< the longer first where one begins another
};

}  // namespace fabricast
