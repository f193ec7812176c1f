#include "models/io/topologies/matrix_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <tuple>

#include "models/hardware/node/compose_node.hpp"
#include "models/hardware/node/node_graph.hpp"
#include "models/hardware/parts/gpu_names.hpp"
#include "models/io/topo_views/topo_text.hpp"
#include "models/io/topologies/nearest_node.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kNicsPerGpuMax = 4;  // p5: 32 of 8 GPUs
constexpr std::size_t kCandidatesShown = 12;
constexpr int kCoresMax = 8192;

/// Devices that belong together: union of sets, by index.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t first = std::min(of(a), of(b)), second = std::max(of(a), of(b));
    parent_[second] = first;
  }

 private:
  std::vector<std::size_t> parent_;  ///< the least index of a group stands for it
};

/// "0-3,8" as NCCL's mask: "0000010f".
std::string core_mask(const std::string& cores) {
  std::vector<std::uint32_t> words(1, 0);
  for (std::string_view rest = cores; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const std::size_t dash = item.find('-');
    const auto from = to_number<std::int64_t>(item.substr(0, dash));
    const auto to =
        dash == std::string_view::npos ? from : to_number<std::int64_t>(item.substr(dash + 1));
    if (!from || !to || *from < 0 || *to < *from || *to >= kCoresMax) return "0";
    for (std::int64_t core = *from; core <= *to; ++core) {
      const auto word = static_cast<std::size_t>(core / 32);
      if (word >= words.size()) words.resize(word + 1, 0);
      words[word] |= std::uint32_t{1} << (core % 32);
    }
  }
  std::string out;
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    out += fmt::format("{}{:08x}", out.empty() ? "" : ",", *word);
  return out;
}

class MatrixReader {
 public:
  MatrixReader(const SmiMatrix& matrix, const std::string& text, const std::string& file,
               const NodeChanges& changes, const PartsCatalogue& parts)
      : matrix_(matrix), text_(text), file_(file), changes_(changes), parts_(parts) {}

  MatrixNode read() {
    if (matrix_.gpus.empty()) fail("the matrix has no GPU");
    nvlinks_ = nvlinks();
    gpu_ = gpu();
    choose_nics();
    choose_like();
    build();
    compare();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const {
    throw Error(Place{file_, 0, {}}, what, std::move(hint));
  }
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  /// The k of NVk where it joins all pairs, else 0.
  int nvlinks() const {
    int all = -1;
    for (const std::string& a : matrix_.gpus) {
      for (const std::string& b : matrix_.gpus) {
        if (a == b) continue;
        const int links = matrix_.nvlinks(a, b);
        any_nvlink_ = any_nvlink_ || links > 0;
        if (all >= 0 && links != all) return 0;
        all = links;
      }
    }
    return std::max(all, 0);
  }

  /// The GPU: what the user says, what the text names, or the only one that has such links.
  std::string gpu() {
    if (!changes_.gpu.empty()) {
      if (!parts_.gpus.contains(changes_.gpu)) {
        std::vector<std::string> known;
        for (const auto& [name, part] : parts_.gpus) known.push_back(name);
        throw Error(fmt::format("unknown GPU \"{}\"", changes_.gpu),
                    hint_nearest(changes_.gpu, known));
      }
      return changes_.gpu;
    }
    if (std::string named = gpu_named_in(text_, parts_); !named.empty()) {
      note(fmt::format("GPU: {}, as the file names it", named));
      return named;
    }
    std::vector<std::string> candidates;
    for (const auto& [name, part] : parts_.gpus) {
      const bool on_switches = nvlinks_ > 0 && nvlinks_ == part.nvlink_links;
      const bool mesh = nvlinks_ > 0 && matrix_.gpus.size() > 1 &&
                        nvlinks_ * static_cast<int>(matrix_.gpus.size() - 1) == part.nvlink_links;
      const bool fits = any_nvlink_ ? on_switches || mesh : true;
      if (fits && (!matrix_.gpu_memory_numa || part.c2c_links > 0)) candidates.push_back(name);
    }
    if (candidates.size() == 1) return candidates.front();
    fail("the matrix does not say which GPU this is",
         candidates.empty() || candidates.size() > kCandidatesShown
             ? "say it: --gpu PART (fabricast list parts)"
             : fmt::format("say it: --gpu {}", fmt::join(candidates, ", or ")));
  }

  bool near_some_gpu(const std::string& nic, int farthest) const {
    return std::ranges::any_of(matrix_.gpus, [&](const std::string& gpu) {
      return smi_distance(matrix_.path(gpu, nic)) <= farthest;
    });
  }
  std::string name_of(const std::string& nic) const {
    const auto at = matrix_.nic_names.find(nic);
    return at == matrix_.nic_names.end() ? nic : at->second;
  }

  /// NICs that carry what GPUs send: where every GPU has one on its own PCIe switches, those; else
  /// all that are nearer than another socket to some GPU; else all. A bond is a front end.
  void choose_nics() {
    const int pxb = smi_distance("PXB"), node = smi_distance("NODE");
    const bool everyone = std::ranges::all_of(matrix_.gpus, [&](const std::string& gpu) {
      return std::ranges::any_of(matrix_.nics, [&](const std::string& nic) {
        return smi_distance(matrix_.path(gpu, nic)) <= pxb;
      });
    });
    const bool anyone = std::ranges::any_of(
        matrix_.nics, [&](const std::string& nic) { return near_some_gpu(nic, node); });
    const int farthest = everyone ? pxb : anyone ? node : smi_distance("");
    std::vector<std::string> left_out;
    for (const std::string& nic : matrix_.nics) {
      const bool bond = name_of(nic).find("bond") != std::string::npos;
      if (near_some_gpu(nic, farthest) && !bond) {
        nics_.push_back(nic);
      } else {
        left_out.push_back(nic == name_of(nic) ? nic : fmt::format("{} ({})", nic, name_of(nic)));
      }
    }
    if (nics_.size() > kNicsPerGpuMax * matrix_.gpus.size())
      fail(fmt::format("{} NICs for {}: virtual functions of few cards, as a rule", nics_.size(),
                       counted(static_cast<std::int64_t>(matrix_.gpus.size()), "GPU")),
           "take from the matrix the rows and columns of NICs that the job does not use");
    if (!left_out.empty())
      note(
          fmt::format("left out, as front end or storage: {}; NCCL takes every port that is up, so "
                      "that NCCL_IB_HCA has to leave them out, too",
                      fmt::join(left_out, ", ")));
  }

  /// Of presets with this GPU the one with the most equal cells, else a server as it usually is.
  void choose_like() {
    std::vector<KnownNode> known = nodes_with(gpu_, parts_);
    const auto apart = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
    const auto best = std::ranges::min_element(known, {}, [&](const KnownNode& one) {
      return std::tuple(apart(one.graph.gpus().size(), matrix_.gpus.size()),
                        apart(one.graph.nics().size(), nics_.size()),
                        differing_cells(one.graph).size());
    });
    like_.emplace(best != known.end() ? std::move(*best) : usual());
    out_.nearest = like_->name;
    const bool hidden =
        !any_nvlink_ && !like_->graph.nvswitches().empty() && matrix_.gpus.size() > 1;
    if (hidden)
      note(
          fmt::format("no NVLink is shown, as topo -mp does: taken to be that of {}", like_->name));
    on_switches_ = hidden || (!like_->graph.nvswitches().empty() && nvlinks_ > 0);
  }

  KnownNode usual() const {
    const auto gpus = static_cast<int>(matrix_.gpus.size());
    const GpuPart& part = parts_.gpus.at(gpu_);
    NodeShape shape{gpu_, NodeKind::pcie, gpus, "ConnectX-7", static_cast<int>(nics_.size()), {}};
    std::vector<NodeKind> kinds;
    if (gpus == 1) {
      kinds = {NodeKind::single};
    } else if (nvlinks_ > 0 && nvlinks_ == part.nvlink_links && gpus > 2) {
      kinds = {NodeKind::nvswitch, NodeKind::nvl72};
    } else if (nvlinks_ > 0) {
      kinds = {NodeKind::nvlink_mesh};
    }
    const std::string name = "a usual server with " + gpu_;
    for (const NodeKind kind : kinds) {
      shape.kind = kind;
      try {
        return {name, compose_node(shape, parts_), parts_};
      } catch (const Error&) {  // this GPU does not come in such a server
      }
    }
    shape.kind = NodeKind::pcie;  // NVLinks as the matrix has them, everything else as without
    return {name, compose_node(shape, parts_), parts_};
  }

  /// Cells that differ from those of a node with the same devices: "GPU0-NIC1 PIX (PXB there)".
  std::vector<std::string> differing_cells(const NodeGraph& node) const {
    std::vector<std::string> out;
    const std::size_t gpus = std::min(node.gpus().size(), matrix_.gpus.size());
    const std::size_t nics = std::min(node.nics().size(), nics_.size());
    for (std::size_t g = 0; g < gpus; ++g) {
      for (std::size_t other = g + 1; other < gpus; ++other)
        compare_cell(matrix_.gpus[g], matrix_.gpus[other],
                     smi_cell(node, node.gpus()[g].vertex, node.gpus()[other].vertex), out);
      for (std::size_t n = 0; n < nics; ++n)
        compare_cell(matrix_.gpus[g], nics_[n],
                     smi_cell(node, node.gpus()[g].vertex, node.nics()[n].vertex), out);
    }
    return out;
  }
  void compare_cell(const std::string& a, const std::string& b, const std::string& there,
                    std::vector<std::string>& out) const {
    const std::string here = matrix_.path(a, b);
    if (!here.empty() && here != there && !(here == "SOC" && there == "SYS"))
      out.push_back(fmt::format("{}-{} {} ({} there)", a, b, here, there));
  }

  // --- building
  // -----------------------------------------------------------------------------------

  const std::string& device(std::size_t i) const {
    return i < matrix_.gpus.size() ? matrix_.gpus[i] : nics_[i - matrix_.gpus.size()];
  }
  std::size_t devices() const { return matrix_.gpus.size() + nics_.size(); }

  /// Devices no farther apart than this, over others, too.
  Groups within(int distance) const {
    Groups out(devices());
    for (std::size_t a = 0; a < devices(); ++a) {
      for (std::size_t b = a + 1; b < devices(); ++b) {
        const std::string way = matrix_.path(device(a), device(b));
        if (!way.starts_with("NV") && smi_distance(way) <= distance) out.join(a, b);
      }
    }
    return out;
  }

  /// Sockets. GPUs whose way over PCIe NVLink hides go by their NUMA node or cores; a matrix that
  /// says nothing of it has them halved as in the nearest node, and NICs that are far from every
  /// GPU are dealt out.
  Groups sockets() {
    Groups out = within(smi_distance("NODE"));
    const std::size_t gpus = matrix_.gpus.size();
    for (std::size_t a = 0; a < gpus; ++a) {
      for (std::size_t b = a + 1; b < gpus; ++b) {
        const std::string &first = matrix_.gpus[a], &second = matrix_.gpus[b];
        if (matrix_.nvlinks(first, second) > 0 && same_socket(a, b)) out.join(a, b);
      }
    }
    for (std::size_t n = 0; n < nics_.size(); ++n) {
      if (near_some_gpu(nics_[n], smi_distance("NODE"))) continue;
      out.join(n * gpus / nics_.size(), gpus + n);
      far_nics_ = true;
    }
    if (far_nics_) note("NICs that are SYS from every GPU are dealt out evenly over the CPUs");
    return out;
  }
  bool same_socket(std::size_t a, std::size_t b) {
    const std::string &first = matrix_.gpus[a], &second = matrix_.gpus[b];
    const int node = smi_distance("NODE");
    for (const std::string& nic : nics_) {  // ways count more than lists of cores
      const std::string one = matrix_.path(first, nic), other = matrix_.path(second, nic);
      if (!one.empty() && !other.empty() &&
          (smi_distance(one) <= node) != (smi_distance(other) <= node))
        return false;
    }
    if (matrix_.numa.contains(first) && matrix_.numa.contains(second))
      return matrix_.numa.at(first) == matrix_.numa.at(second);
    if (matrix_.cores.contains(first) && matrix_.cores.contains(second))
      return matrix_.cores.at(first) == matrix_.cores.at(second);
    guessed_sockets_ = true;
    if (a >= like_->graph.gpus().size() || b >= like_->graph.gpus().size()) return true;
    return like_->graph.cpu_of(like_->graph.gpus()[a].vertex) ==
           like_->graph.cpu_of(like_->graph.gpus()[b].vertex);
  }

  void build() {
    NodeType& node = out_.node;
    node.place = {file_, 0, {}};
    const std::filesystem::path path(file_);
    node.name = path.stem().string();
    node.title = fmt::format("from {}, parts as in {}", path.filename().string(), like_->name);
    node.acs = like_->type.acs;
    node.peer_to_peer = like_->type.peer_to_peer;
    if (on_switches_) {
      node.nvswitches = like_->type.nvswitches;
      node.domain_nodes = like_->type.domain_nodes;
      if (node.domain_nodes > 1)
        note(fmt::format("NVLink beyond the tray is not in the matrix: up to {} trays, as in {}",
                         node.domain_nodes, like_->name));
    }
    const Groups socket = sockets(), bridge = within(smi_distance("PHB")),
                 over_switches = within(smi_distance("PXB")),
                 one_switch = within(smi_distance("PIX"));
    if (guessed_sockets_)
      note(fmt::format("the matrix does not say which GPUs share a socket: as in {}", like_->name));
    for (std::size_t i = 0; i < devices(); ++i)
      if (socket.of(i) == i) add_cpu(i, socket);
    for (std::size_t i = 0; i < devices(); ++i) {
      if (over_switches.of(i) != i) continue;
      PciConfig root = group(i, over_switches, one_switch);
      root.cpu = out_.node.cpus[cpu_index_.at(socket.of(i))].name;
      root.host_bridge = static_cast<int>(bridge.of(i));
      node.pci.push_back(std::move(root));
    }
    std::ranges::stable_sort(node.pci, {}, [&](const PciConfig& root) {
      return std::ranges::find(node.cpus, root.cpu, &CpuConfig::name) - node.cpus.begin();
    });
  }

  void add_cpu(std::size_t first, const Groups& socket) {
    CpuConfig cpu = like_->type.cpus[std::min(cpu_index_.size(), like_->type.cpus.size() - 1)];
    cpu.place = out_.node.place;
    cpu.name = fmt::format("cpu{}", cpu_index_.size());
    const std::string& name = device(first);
    const auto numa = matrix_.numa.find(name);
    int number = numa != matrix_.numa.end() ? numa->second : static_cast<int>(cpu_index_.size());
    while (!numa_taken_.insert(number).second) ++number;
    cpu.numa = number;
    if (const auto cores = matrix_.cores.find(name); cores != matrix_.cores.end())
      cpu.affinity = core_mask(cores->second);
    cpu_index_[socket.of(first)] = cpu_index_.size();
    out_.node.cpus.push_back(std::move(cpu));
  }

  std::string next_busid() {
    ++bus_;  // in PCI domains that no NVSwitch is in
    return fmt::format("{:04x}:{:02x}:00.0", 0x1000 + bus_ / 256, bus_ % 256);
  }

  PciConfig pcie_switch(std::vector<PciConfig> children) {
    PciConfig out;
    out.place = out_.node.place;
    out.kind = PciConfig::Kind::pcie_switch;
    out.part = switch_part();
    out.busid = next_busid();
    out.children = std::move(children);
    return out;
  }

  std::string switch_part() const {
    for (const Vertex& vertex : like_->graph.vertices())
      if (vertex.kind == VertexKind::pcie_switch) return vertex.part;
    const int gen = parts_.gpus.at(gpu_).pcie_gen;
    const std::string* best = nullptr;
    for (const auto& [name, part] : parts_.pcie_switches)
      if (best == nullptr || part.pcie_gen >= gen) best = &name;
    return *best;
  }

  /// What hangs on one root port: a device alone, all under one switch, or switches under a switch.
  PciConfig group(std::size_t first, const Groups& over_switches, const Groups& one_switch) {
    std::vector<PciConfig> below;
    std::size_t members = 0;
    for (std::size_t i = first; i < devices(); ++i) {
      if (over_switches.of(i) != first) continue;
      ++members;
      if (one_switch.of(i) != i) continue;
      std::vector<PciConfig> together;
      for (std::size_t j = i; j < devices(); ++j)
        if (one_switch.of(j) == i) together.push_back(element(j));
      below.push_back(members == 1 && together.size() == 1 ? std::move(together.front())
                                                           : pcie_switch(std::move(together)));
    }
    if (below.size() > 1) {
      // A device alone among switches has its own one, so that the way is longer than PIX.
      for (PciConfig& one : below)
        if (one.kind != PciConfig::Kind::pcie_switch) {
          std::vector<PciConfig> alone;
          alone.push_back(std::move(one));
          one = pcie_switch(std::move(alone));
        }
      return pcie_switch(std::move(below));
    }
    if (members > 1 || first >= matrix_.gpus.size() || !has_own_switch(first))
      return std::move(below.front());
    return pcie_switch(std::move(below));
  }

  /// A GPU with nothing beside it: the matrix cannot say what it hangs on.
  bool has_own_switch(std::size_t gpu) const {
    const auto gpus = like_->graph.gpus();
    const Vertex& there = like_->graph.vertex(gpus[std::min(gpu, gpus.size() - 1)].vertex);
    return like_->graph.vertex(there.parent).kind == VertexKind::pcie_switch;
  }

  PciConfig element(std::size_t i) {
    return i < matrix_.gpus.size() ? gpu_element(i) : nic_element(i);
  }

  PciConfig gpu_element(std::size_t i) {
    PciConfig out;
    out.place = out_.node.place;
    out.kind = PciConfig::Kind::gpu;
    out.part = gpu_;
    out.name = fmt::format("gpu{}", i);
    out.busid = next_busid();
    out.dev = static_cast<int>(i);
    out.c2c = parts_.gpus.at(gpu_).c2c_links;
    if (on_switches_) {
      const auto gpus = like_->graph.gpus();
      for (const auto& [target, count] : gpus[i % gpus.size()].nvlink_targets)
        out.nvlinks.push_back({target, count});
      return out;
    }
    for (std::size_t other = 0; other < matrix_.gpus.size(); ++other) {
      const int links = matrix_.nvlinks(matrix_.gpus[i], matrix_.gpus[other]);
      if (other != i && links > 0) out.nvlinks.push_back({fmt::format("gpu{}", other), links});
    }
    return out;
  }

  PciConfig nic_element(std::size_t i) {
    const std::size_t number = i - matrix_.gpus.size();
    const auto nics = like_->graph.nics();
    PciConfig out;
    out.place = out_.node.place;
    out.kind = PciConfig::Kind::nic;
    out.part = "ConnectX-7";
    if (!nics.empty()) {
      const NicInfo& there = nics[std::min(number, nics.size() - 1)];
      out.part = like_->graph.vertex(there.vertex).part;
      out.speed = there.speed;
      out.network = there.part.network;
    }
    out.name = name_of(nics_[number]);
    out.busid = next_busid();
    out.guid = fmt::format("0x9a3f5e0003{:04x}00", number);
    return out;
  }

  /// What the reader wants to know: how it differs from the nearest node, what is taken from there.
  void compare() {
    const NodeGraph& there = like_->graph;
    const NodeGraph here = NodeGraph::build(out_.node, parts_);
    if (here.gpus().size() != there.gpus().size() || here.nics().size() != there.nics().size())
      note(fmt::format("{} and {} ({} and {} there)", counted(std::ssize(here.gpus()), "GPU"),
                       counted(std::ssize(here.nics()), "NIC"), there.gpus().size(),
                       there.nics().size()));
    list("ways that differ", differing_cells(there));
    list("cells that contradict each other", rebuilt_otherwise(here));
    std::string taken = fmt::format("CPU {}, PCIe, {}", out_.node.cpus.front().part,
                                    counted(std::ssize(here.nvswitches()), "NVSwitch chip"));
    if (!here.nics().empty())
      taken +=
          fmt::format(", NICs {} of {} on {}", here.nics()[0].part.name,
                      to_bits_text(here.nics()[0].speed), to_text(here.nics()[0].part.network));
    note(fmt::format("not in the matrix, taken from {}: {}", like_->name, taken));
  }
  void list(const std::string& what, const std::vector<std::string>& items) {
    if (!items.empty()) note(fmt::format("{}: {}", what, first_of(items)));
  }

  /// Cells that the built node has otherwise: no tree has all of the given ones.
  std::vector<std::string> rebuilt_otherwise(const NodeGraph& here) const {
    std::vector<std::string> out;
    const auto vertex = [&](std::size_t i) {
      return i < matrix_.gpus.size() ? here.gpus()[i].vertex
                                     : here.find(name_of(nics_[i - matrix_.gpus.size()]));
    };
    for (std::size_t a = 0; a < devices(); ++a) {
      for (std::size_t b = a + 1; b < devices(); ++b) {
        const std::string given = matrix_.path(device(a), device(b));
        const std::string got = smi_cell(here, vertex(a), vertex(b));
        const bool is_nvlink = got.starts_with("NV") && on_switches_ && !any_nvlink_;
        if (!given.empty() && given != got && !is_nvlink && !(given == "SOC" && got == "SYS") &&
            !(far_nics_ && given == "SYS"))
          out.push_back(fmt::format("{}-{} {}, built as {}", device(a), device(b), given, got));
      }
    }
    return out;
  }

  const SmiMatrix& matrix_;
  const std::string &text_, &file_;
  const NodeChanges& changes_;
  const PartsCatalogue& parts_;
  MatrixNode out_;
  std::optional<KnownNode> like_;
  std::string gpu_;
  std::vector<std::string> nics_;
  int nvlinks_ = 0;
  mutable bool any_nvlink_ = false;
  bool on_switches_ = false, guessed_sockets_ = false, far_nics_ = false;
  std::map<std::size_t, std::size_t> cpu_index_;  ///< by group of the sockets
  std::set<int> numa_taken_;
  int bus_ = 0;
};

}  // namespace

MatrixNode node_from_matrix(const SmiMatrix& matrix, const std::string& text,
                            const std::string& file, const NodeChanges& changes,
                            const PartsCatalogue& parts) {
  return MatrixReader(matrix, text, file, changes, parts).read();
}

}  // namespace fabricast
