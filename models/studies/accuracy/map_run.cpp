#include "models/studies/accuracy/map_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/io/bands/run_words.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/accuracy/map_kind.hpp"
#include "sim/base/add_once.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr double kBytesPerGigabit = 1e9 / 8;

constexpr int kMostCards = 2;  ///< that are told as one NIC of their rates together

/// The NIC that has this rate; else the slowest that is faster, which runs at less; else the
/// fastest.
const UsualNic& usual_nic(std::string_view network, Bandwidth rate, std::string_view gpu,
                          std::string_view type, const PartsCatalogue& parts) {
  std::vector<std::string> known;
  const UsualNic *best = nullptr, *fastest = nullptr;
  for (const UsualNic& usual : parts.usual_nics) {
    add_once(known, usual.network);
    if (usual.network != network || !gpu.starts_with(usual.gpu)) continue;
    if (type.find(usual.type) == std::string_view::npos) continue;
    if (usual.rate >= rate && (best == nullptr || usual.rate < best->rate)) best = &usual;
    if (fastest == nullptr || usual.rate > fastest->rate) fastest = &usual;
  }
  if (fastest == nullptr)
    throw Error(fmt::format("unknown net_kind \"{}\"", network), hint_nearest(network, known));
  return best != nullptr ? *best : *fastest;
}

/// Whether `text` is NAME=..., after blanks.
bool begins_assignment(std::string_view text) {
  const std::size_t end = trimmed(text).find_first_of(" =;");
  return end != std::string_view::npos && trimmed(text)[end] == '=';
}

/// K=V K="V with blanks" ..., also one a line or with ';' or ',' behind each; a ';' may be NCCL's
/// own (NCCL_ALGO=ring;allreduce:tree). A quote that never ends goes to the end.
std::vector<std::string> assignments(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  char quote = 0;
  const auto end_word = [&] {
    while (word.ends_with(',')) word.pop_back();
    if (!word.empty()) out.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_end = c == ';' ? begins_assignment(text.substr(at + 1)) || at + 1 == text.size()
                                 : std::string_view(" \t\r\n").find(c) != std::string_view::npos;
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
    } else if (quote == 0 && is_end) {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return out;
}

/// They name devices or files of the machine that was measured.
constexpr std::array<std::string_view, 4> kOfThatMachine = {
    "NCCL_IB_HCA", "NCCL_TOPO_FILE", "NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES"};

/// How `source` begins where Google itself published a run.
constexpr std::array<std::string_view, 2> kGooglesPages = {
    "https://github.com/GoogleCloudPlatform/", "https://github.com/google/"};

/// Words for a driver that lets GeForce cards reach each other, as tinygrad's does
/// (https://github.com/tinygrad/open-gpu-kernel-modules).
constexpr std::array<std::string_view, 3> kPatchedDriver = {"p2p driver", "patched driver",
                                                            "tinygrad"};

class Mapper {
 public:
  Mapper(const MeasuredRun& run, const PartsCatalogue& parts) : run_(run), parts_(parts) {}

  MappedRun map() {
    out_.nodes = run_.nodes;
    out_.gpus_used = run_.ranks / run_.nodes;
    map_node();
    map_version();
    map_environment();
    map_process();
    return std::move(out_);
  }

 private:
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  void map_node() {
    NodeShape& shape = out_.shape;
    if (run_.gpu_model.empty()) throw Error("gpu_model is not known");
    need("gpus_per_node");
    if (!run_.gpus_per_node) note("gpus_per_node is blank: as many as take part");
    shape.gpus = run_.gpus_per_node.value_or(out_.gpus_used);
    map_kind(run_.gpu_model, run_.node_kind, shape, out_.notes, parts_);
    if (shape.kind == NodeKind::single && out_.gpus_used == 1) shape.gpus = 1;
    map_cube_mesh();
    map_driver();
    if (out_.gpus_used > shape.gpus) {
      throw Error(fmt::format("{} ranks a node, but {} GPUs", out_.gpus_used, shape.gpus));
    }
    const bool is_rack = shape.kind == NodeKind::nvl72 && run_.net_kind == "none";
    if (run_.nodes > 1 && !is_rack) map_nics();
  }

  /// Throws what is wrong with a cell that is needed.
  void need(std::string_view column) const {
    const auto found = run_.wrong.find(column);
    if (found != run_.wrong.end()) throw Error(found->second);
  }

  /// Eight V100 or P100 "on NVLink" are the hybrid cube mesh of DGX-1: their links reach no seven
  /// others.
  void map_cube_mesh() {
    NodeShape& shape = out_.shape;
    if (shape.kind != NodeKind::nvlink_mesh || shape.gpus != kCubeMeshGpus) return;
    const int links = parts_.gpus.at(shape.gpu).nvlink_links, others = kCubeMeshGpus - 1;
    if (links >= others || links < kCubeMeshLinksLeast) return;
    shape.kind = NodeKind::nvlink_cube_mesh;
    note(fmt::format("{} NVLinks reach no {} others: nvlink-cube-mesh", links, others));
  }

  /// A driver that was changed so that GeForce cards reach each other.
  void map_driver() {
    NodeShape& shape = out_.shape;
    if (parts_.gpus.at(shape.gpu).peer_to_peer) return;
    const std::string notes = lower_case(run_.topology_notes);
    for (const std::string_view word : kPatchedDriver) {
      if (notes.find(word) == std::string::npos) continue;
      shape.peer_to_peer = true;
      return note(fmt::format("topology_notes say \"{}\": GPUs reach each other over PCIe", word));
    }
  }

  void map_nics() {
    NodeShape& shape = out_.shape;
    if (run_.net_kind.empty() || run_.net_kind == "none") throw Error("net_kind is not known");
    need("nics_per_node");
    if (!run_.nics_per_node || *run_.nics_per_node == 0) throw Error("nics_per_node is not known");
    need("nic_gbps");
    double gbps = run_.nic_gbps.value_or(0);
    if (!run_.nic_gbps) throw Error("nic_gbps is not known");
    shape.nics = *run_.nics_per_node;
    if (has_two_ports(gbps)) {
      note(fmt::format("two ports of {:g} Gb/s for each GPU: NCCL fuses those of one card", gbps));
      shape.nics /= 2;
      gbps *= 2;
    }
    set_nic({std::llround(gbps * kBytesPerGigabit)});
    if (run_.net_kind == "roce") shape.network = NetKind::roce;
    if (run_.net_kind == "tcp") shape.network = NetKind::sockets;
  }

  /// NCCL has no transport of its own for Omni-Path, and reaches it by verbs.
  std::string_view network() {
    if (run_.net_kind != "omnipath") return run_.net_kind;
    note("Omni-Path: taken for InfiniBand of that rate");
    return "ib";
  }

  void set_nic(Bandwidth rate) {
    NodeShape& shape = out_.shape;
    const UsualNic& usual = usual_nic(network(), rate, shape.gpu, run_.nic_type, parts_);
    shape.nic = usual.nic;
    if (rate == usual.rate) return;
    const std::string none =
        fmt::format("no NIC of the catalogue has {} for {}", to_bits_text(rate), run_.net_kind);
    if (rate < usual.rate) {
      shape.nic_rate = rate;
      return note(fmt::format("{}: {} at that rate", none, usual.nic));
    }
    // AWS tells p6-b300's sixteen cards of 400 Gb/s as eight times 800 Gb/s.
    const std::int64_t cards = rate.bytes_per_s / usual.rate.bytes_per_s;
    if (rate.bytes_per_s % usual.rate.bytes_per_s != 0 || cards > kMostCards)
      throw Error(fmt::format("{}: the fastest has {}", none, to_bits_text(usual.rate)));
    shape.nics *= static_cast<int>(cards);
    note(fmt::format("{}: {} {} for each", none, cards, usual.nic));
  }

  /// Servers with two InfiniBand or Ethernet ports of 200 Gb/s for each GPU have them on one card
  /// (OCI BM.GPU.H100.8; Alibaba's in arXiv 2406.04594), and NCCL takes these for one NIC
  /// (NCCL_IB_MERGE_NICS, since 2.23 NCCL_NET_MERGE_LEVEL).
  bool has_two_ports(double gbps) const {
    const bool is_verbs = run_.net_kind == "ib" || run_.net_kind == "roce";
    return is_verbs && gbps == 200 && out_.shape.nics == 2 * out_.shape.gpus;
  }

  void map_version() {
    constexpr int kBlackwell = 100;
    if (const auto version = release_in(run_.nccl_version)) {
      out_.version = answered_version(*version);
      if (out_.version != *version)
        note(fmt::format("NCCL {} is simulated by the rules of {}", run_.nccl_version,
                         to_text(modelled_version(out_.version))));
      return;
    }
    // A3 Mega's plugin came with NCCL 2.23 from February to August 2025 (gpudirect_tcp.hpp).
    constexpr NcclVersion kOfTcpxo{23, 4};
    constexpr int kWindows = 2;  // of -R, which came with 2.27
    const bool is_new = parts_.gpus.at(out_.shape.gpu).sm >= kBlackwell ||
                        option_in(run_.flags, kRegisterOption) == kWindows;
    out_.version = run_.net_kind == "tcpxo" ? kOfTcpxo : is_new ? kNccl2_27_7 : kNccl2_21_5;
    note(fmt::format("nccl_version is not known: {}", to_text(out_.version)));
  }

  void map_environment() {
    Environment& environment = out_.environment;
    for (const std::string& assignment : assignments(run_.env_kv)) {
      const std::string name = assignment.substr(0, assignment.find('='));
      if (std::ranges::find(kOfThatMachine, name) != kOfThatMachine.end()) {
        note(name + " speaks of that machine's devices: left out");
        continue;
      }
      try {
        environment.set(assignment);
      } catch (const Error& error) {
        note(fmt::format("env_kv: {}: left out", error.message()));
      }
    }
    set_machines_own();
    out_.sharp = run_.sharp;
    if (run_.sharp && !environment.get("NCCL_COLLNET_ENABLE")) {
      environment.set("NCCL_COLLNET_ENABLE", "1");
      note("SHARP was active: NCCL_COLLNET_ENABLE=1");
    }
    force_algorithm();
    force_channels();
  }

  /// What the images of a cloud's machine set at login, unless the run says otherwise. Google's of
  /// A3 Ultra: /etc/profile.d/nccl_env.sh, which reads gIB's set_nccl_env.sh.
  void set_machines_own() {
    const std::string why = why_a3_ultra();
    if (why.empty()) return;
    Environment& environment = out_.environment;
    if (environment.get("NCCL_NET") || environment.get("NCCL_IB_DISABLE")) return;
    environment.set("NCCL_NET", "gIB");
    note(why + ": NCCL_NET=gIB, as Google's images set it");
    withhold_gdr();
  }

  /// A3 Ultra is the one machine type of Google's cloud with H200
  /// (https://cloud.google.com/compute/docs/gpus: eight of them, eight ConnectX-7, RoCE).
  std::string why_a3_ultra() const {
    if (run_.topology_notes.find("A3 Ultra") != std::string::npos)
      return "topology_notes name A3 Ultra";
    const bool is_googles = std::ranges::any_of(
        kGooglesPages, [&](auto page) { return run_.address.starts_with(page); });
    if (!is_googles || out_.shape.gpu != "H200_SXM" || run_.net_kind != "roce") return "";
    return "H200 with RoCE that Google published are A3 Ultra";
  }

  /// The same script sets NCCL_NET_GDR_LEVEL=PIX. Of two ranks whose one GPU and one NIC have
  /// unlike positions one pair at most stands at one PCIe switch; that the other does is assumed.
  void withhold_gdr() {
    if (run_.nodes != 2 || out_.gpus_used != 1 || out_.shape.nics != 1) return;
    if (out_.environment.get("NCCL_NET_GDR_LEVEL")) return;
    if (run_.notes.find("different GPU/NIC positions") == std::string::npos) return;
    out_.without_gdr = {0};
    note(
        "notes say that GPU and NIC have different positions: of A3 Ultra, one node without "
        "GPUDirect RDMA");
  }

  /// A least and a most that are equal say how many channels ran, whoever saw to it.
  void force_channels() {
    const auto least = out_.environment.get("NCCL_MIN_NCHANNELS");
    const auto most = out_.environment.get("NCCL_MAX_NCHANNELS");
    if (!least || least != most) return;
    const int channels = to_number<int>(*least).value_or(0);
    if (channels > 0) out_.channels = channels;
  }

  /// "Ring (forced)": NCCL_ALGO=Ring; "Tree LL128 (forced)" NCCL_PROTO=LL128 beside.
  void force_algorithm() {
    const std::size_t forced = run_.algorithm.find("(forced)");
    if (forced == std::string::npos) return;
    const std::string_view names = trimmed(std::string_view(run_.algorithm).substr(0, forced));
    if (plain_word(names) == "collnetsharp")
      return force("NCCL_ALGO", "CollnetDirect,CollnetChain");
    std::string algorithms, protocols;
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find_first_of(" /,+", at), names.size());
      const std::string_view name = names.substr(at, end - at);
      at = end + 1;
      if (name.empty()) continue;
      const bool is_protocol = protocol_from_text(name).has_value();
      if (!is_protocol && !algorithm_from_text(name))
        throw Error(fmt::format("algorithm: \"{}\" is none of NCCL's", names));
      std::string& list = is_protocol ? protocols : algorithms;
      list += fmt::format("{}{}", list.empty() ? "" : ",", name);
    }
    force("NCCL_ALGO", algorithms);
    force("NCCL_PROTO", protocols);
  }

  /// What env_kv says itself goes first.
  void force(const char* variable, const std::string& value) {
    if (value.empty() || out_.environment.get(variable)) return;
    out_.environment.set(variable, value);
    out_.forced.emplace_back(variable);
  }

  /// GPUs of one thread are launched one after another, threads side by side. A process whose
  /// options are not known has one thread.
  void map_process() {
    const int registered = option_in(run_.flags, kRegisterOption).value_or(0);
    if (registered == 1) out_.registered = Registration::local;
    if (registered == 2) out_.registered = Registration::windows;
    const Processes said = processes_in(run_.process_mode);
    const bool is_whole_node =
        said == Processes::per_node || run_.flags.find("(one process)") != std::string::npos;
    if (!is_whole_node && said == Processes::per_gpu) return;
    if (said == Processes::unknown && !is_blank_word(run_.process_mode))
      note(
          fmt::format("process_mode \"{}\" is neither one-process-per-gpu nor "
                      "one-process-per-node: taken for blank",
                      run_.process_mode));
    const int gpus = option_in(run_.flags, kGpusOption).value_or(1),
              threads = option_in(run_.flags, kThreadsOption).value_or(1);
    const bool is_said = gpus * threads > 1;
    if (is_said && gpus <= out_.gpus_used && out_.gpus_used % gpus == 0) {
      out_.launches_in_a_row = gpus;
    } else if (is_whole_node) {
      out_.launches_in_a_row = out_.gpus_used;
    } else {
      note("process_mode is blank: one process per GPU");
    }
    if (option_in(run_.flags, kGraphsOption).value_or(0) > 0) out_.launches_in_a_row = 0;
  }

  const MeasuredRun& run_;
  const PartsCatalogue& parts_;
  MappedRun out_;
};

}  // namespace

MappedRun map_run(const MeasuredRun& run, const PartsCatalogue& parts) {
  return Mapper(run, parts).map();
}

}  // namespace fabricast
