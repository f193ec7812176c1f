#include "models/io/topologies/tool_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "models/hardware/node/compose_node.hpp"
#include "models/hardware/node/node_graph.hpp"
#include "models/hardware/parts/gpu_names.hpp"
#include "models/io/imports/import_readers.hpp"
#include "models/io/topologies/matrix_node.hpp"
#include "models/io/topologies/nearest_node.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr int kGpusMax = 16;

/// The greatest number of a list like "8 16".
int greatest(const std::string& numbers) {
  int out = 0;
  for (const std::string_view word : split_words(numbers)) {
    const int value = to_number<int>(word).value_or(0);
    if (value > out && value <= 1 << 24) out = value;
  }
  return out;
}

/// The GPUs of a node, by the highest device number in front of "NCCL INFO": "host:1:2 [7] NCCL".
int devices_in(const LogText& log) {
  int most = 0;
  for (const LogLine& line : log.lines) {
    const std::size_t at = line.text.find("] NCCL ");
    const std::size_t from = at == std::string::npos ? at : line.text.rfind('[', at);
    if (from == std::string::npos) continue;
    const auto inside = std::string_view(line.text).substr(from + 1, at - from - 1);
    const int dev = to_number<int>(inside).value_or(-1);
    if (dev >= 0 && dev < kGpusMax) most = std::max(most, dev + 1);
  }
  return most;
}

class LogNode {
 public:
  LogNode(const std::string& text, const std::string& file, const NodeChanges& changes,
          const PartsCatalogue& parts)
      : text_(text), file_(file), changes_(changes), parts_(parts) {}

  ToolNode read() {
    ImportedFile log;
    if (!import_readers::read_nccl_log(read_log(text_), log))
      fail("a node cannot be made of it",
           "give nvidia-smi topo -m, NCCL's XML (NCCL_TOPO_DUMP_FILE) or a log with "
           "NCCL_DEBUG=INFO");
    if (text_.find("RCCL version") != std::string::npos)
      fail("a log of RCCL: no GPU of the catalogue runs it");
    out_.kind = "NCCL_DEBUG log";
    count(log);
    std::string gpu = changes_.gpu.empty() ? gpu_named_in(text_, parts_) : changes_.gpu;
    if (gpu.empty())
      fail("the log does not say which GPU this is", "say it: --gpu PART (fabricast list parts)");
    if (changes_.gpu.empty())
      out_.notes.push_back(fmt::format("GPU: {}, as the log names it", gpu));
    read_nics(log.value("devices"));
    if (const std::string network = log.value("network");
        network.find("Libfabric") != std::string::npos)
      out_.notes.push_back(fmt::format(
          "the network is {}: an alias like p5 has its NICs, this node has not", network));
    choose(gpu);
    name_nics();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const {
    throw Error(Place{file_, 0, {}}, what, std::move(hint));
  }

  void count(const ImportedFile& log) {
    const int ranks = greatest(log.value("ranks")), nodes = greatest(log.value("nodes"));
    const int devices = devices_in(read_log(text_));
    gpus_ = nodes > 0 && ranks % nodes == 0 ? ranks / nodes : devices;
    if (ranks == 0 || gpus_ == 0 || ranks % gpus_ != 0)
      fail("the log does not say how many GPUs a node has",
           "it takes the lines of every rank of a node, or nNodes (NCCL 2.20 on)");
    out_.nodes = ranks / gpus_;
    out_.notes.push_back(fmt::format("{} on {}: {} each", counted(ranks, "rank"),
                                     counted(out_.nodes, "node"), counted(gpus_, "GPU")));
  }

  /// "mlx5_0:1/IB/SHARP mlx5_1:1/RoCE"
  void read_nics(const std::string& devices) {
    for (const std::string_view word : split_words(devices)) {
      nics_.emplace_back(word.substr(0, word.find(':')));
      roce_ = roce_ || word.find("/RoCE") != std::string_view::npos;
      ib_ = ib_ || word.find("/IB") != std::string_view::npos;
    }
    if (nics_.empty())
      out_.notes.push_back("the log names no NIC of NET/IB: NICs are those of the nearest node");
    if (roce_ && ib_)
      out_.notes.push_back("NICs of InfiniBand and of Ethernet: all are taken to be InfiniBand");
  }

  /// The preset with this GPU, as many GPUs and the nearest number of NICs, else a usual server.
  void choose(const std::string& gpu) {
    std::vector<KnownNode> known = nodes_with(gpu, parts_);
    std::erase_if(known, [&](const KnownNode& one) {
      return static_cast<int>(one.graph.gpus().size()) != gpus_;
    });
    const auto best = std::ranges::min_element(known, {}, [&](const KnownNode& one) {
      return std::abs(static_cast<int>(one.graph.nics().size()) - wanted_nics(one.graph));
    });
    if (best != known.end()) {
      out_.nearest = best->name;
      out_.node = std::move(best->type);
    } else {
      NodeShape shape{gpu,
                      gpus_ == 1 ? NodeKind::single : NodeKind::nvswitch,
                      gpus_,
                      "ConnectX-7",
                      static_cast<int>(nics_.size()),
                      {}};
      try {
        out_.node = compose_node(shape, parts_);
      } catch (const Error&) {
        shape.kind = NodeKind::pcie;
        out_.node = compose_node(shape, parts_);
      }
      out_.nearest = "a usual server with " + gpu;
    }
    NodeChanges changes;
    changes.nics = static_cast<int>(nics_.size());
    if (roce_ && !ib_) changes.network = NetKind::roce;
    const std::string title = out_.node.title;
    out_.node = changed(std::move(out_.node), changes, parts_);
    if (out_.node.title != title)
      out_.notes.push_back(fmt::format("{}{}", out_.nearest, out_.node.title.substr(title.size())));
    const std::filesystem::path path(file_);
    out_.node.name = path.stem().string();
    out_.node.title = fmt::format("from {}, as {}", path.filename().string(), out_.nearest);
  }
  int wanted_nics(const NodeGraph& node) const {
    return nics_.empty() ? static_cast<int>(node.nics().size()) : static_cast<int>(nics_.size());
  }

  void name_nics() {
    std::size_t next = 0;
    name_nics(out_.node.pci, next);
    if (next > 0)
      out_.notes.push_back(
          "which NIC is beside which GPU is not in the log: in the order of their names, as there; "
          "nvidia-smi topo -m would say it");
  }
  void name_nics(std::vector<PciConfig>& elements, std::size_t& next) const {
    for (PciConfig& element : elements) {
      if (element.kind == PciConfig::Kind::nic && next < nics_.size()) element.name = nics_[next++];
      name_nics(element.children, next);
    }
  }

  const std::string &text_, &file_;
  const NodeChanges& changes_;
  const PartsCatalogue& parts_;
  ToolNode out_;
  std::vector<std::string> nics_;
  bool roce_ = false, ib_ = false;
  int gpus_ = 0;
};

/// What is asked for beside the GPU, which is settled.
NodeChanges without_gpu(NodeChanges changes) {
  changes.gpu.clear();
  return changes;
}

}  // namespace

bool is_tool_output(const std::string& text) {
  if (text.starts_with("kind:") || text.find("\nkind:") != std::string::npos) return false;
  return text.find("GPU0") != std::string::npos || text.find("NCCL INFO") != std::string::npos;
}

ToolNode node_from_tool(const std::string& text, const std::string& file,
                        const NodeChanges& changes, const PartsCatalogue& parts) {
  ToolNode out;
  if (const auto matrix = read_smi_matrix(read_log(text))) {
    MatrixNode made = node_from_matrix(*matrix, text, file, changes, parts);
    out = {std::move(made.node), "nvidia-smi topo -m", std::move(made.nearest),
           std::move(made.notes), 1};
  } else {
    out = LogNode(text, file, changes, parts).read();
  }
  out.node = changed(std::move(out.node), without_gpu(changes), parts);
  return out;
}

}  // namespace fabricast
