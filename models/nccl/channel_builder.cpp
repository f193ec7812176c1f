#include "models/nccl/channel_builder.hpp"

#include <algorithm>
#include <cassert>
#include <span>

namespace fabricast {

namespace {

// Speeds that NCCL tries, GB/s (src/graph/search.cc, speedArray*).
constexpr float kIntraSpeeds[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr float kInterSpeeds[] = {48, 30, 28, 24, 20, 18, 15,  12,  10,  9,
                                  7,  6,  5,  4,  3,  2.4f, 1.2f, 0.24f, 0.12f};
constexpr float kHopperIntraSpeeds[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr float kHopperInterSpeeds[] = {48, 45, 42, 40,  30,  24,   22,  20,  17.5,
                                        15, 12, 6,  3,   2.4f, 1.2f, 0.24f, 0.12f};

// NCCL's own figure per NVLink and direction, GB/s (src/graph/topo.h).
float nvlink_speed(int sm, NcclVersion version) {
  if (sm >= 100 && version >= kNccl2_27) return 40.1f;
  if (sm >= 90) return 20.6f;
  if (sm == 86) return 12;
  if (sm >= 70) return 20;
  return 18;
}

// GB/s of a PCIe link as NCCL counts it: width x 100 Mb/s per lane / 80 (src/graph/topo.cc).
float pcie_speed(int gen, int width) {
  constexpr float per_lane[] = {60, 15, 30, 60, 120, 240, 480};
  return static_cast<float>(width) * per_lane[gen >= 1 && gen <= 6 ? gen : 0] / 80;
}

/// What is left of each device's link while channels are laid.
struct Budget {
  std::vector<float> gpu_down, gpu_up;  ///< PCIe of a GPU, towards it and away
  std::vector<float> net_in, net_out;   ///< NIC ports
};

class Builder {
 public:
  Builder(const NodeGraph& node, const ChannelBuilderInput& input) : node_(node), input_(input) {
    const int sm = node.gpus()[0].part.sm;
    nvlink_ = static_cast<float>(node.gpus()[0].nvlink_count) * nvlink_speed(sm, input.version);
    if (input.gpus > 1 && node.nvlink_route(gpu(0), gpu(1)).empty()) nvlink_ = 0;
  }

  RingAndTree build() const {
    const bool alone = input_.nodes == 1;
    const int sm = node_.gpus()[0].part.sm;
    const std::span<const float> speeds =
        sm >= 90 ? (alone ? std::span<const float>(kHopperIntraSpeeds) : kHopperInterSpeeds)
                 : (alone ? std::span<const float>(kIntraSpeeds) : kInterSpeeds);
    ChannelGraph best;
    for (const float speed : speeds) {
      const float value = static_cast<float>(best.channel_count()) * best.bw_inter;
      if (best.channel_count() > 0 && speed / best.bw_inter <= 0.49f) break;
      ChannelGraph ring = lay(speed);
      if (static_cast<float>(ring.channel_count()) * speed > value) best = ring;
    }
    if (best.channel_count() == 0) best = fallback();
    duplicate(best, sm);
    return {best, tree_of(best, sm)};
  }

 private:
  VertexId gpu(int i) const { return node_.gpus()[static_cast<std::size_t>(i)].vertex; }
  VertexId nic(int i) const { return node_.nics()[static_cast<std::size_t>(i)].vertex; }

  /// The nearest of the GPUs to a NIC, lowest index first.
  int gpu_near(int net) const {
    int best = 0;
    for (int g = 1; g < input_.gpus; ++g)
      if (node_.smi_path(gpu(g), nic(net)) < node_.smi_path(gpu(best), nic(net))) best = g;
    return best;
  }

  bool switch_joined(int g, int net) const {
    return node_.smi_path(gpu(g), nic(net)) <= SmiPath::pxb;
  }

  /// NIC by which the ring leaves: the one it came by unless the last GPU has a nearer one.
  int net_out(int last_gpu, int net_in) const {
    int best = net_in;
    for (const int net : input_.nics)
      if (node_.smi_path(gpu(last_gpu), nic(net)) < node_.smi_path(gpu(last_gpu), nic(best)))
        best = net;
    return best;
  }

  /// GPU whose PCIe link carries what `g` sends by `net`: itself, or the one PXN goes through.
  int sending_gpu(int g, int net) const {
    return switch_joined(g, net) || nvlink_ == 0 ? g : gpu_near(net);
  }

  /// Start at the NIC's GPU; even channels walk down, odd ones up.
  std::vector<int> order(int first, int channel) const {
    std::vector<int> out;
    const int n = input_.gpus, step = channel % 2 == 0 && input_.nodes > 1 ? n - 1 : 1;
    for (int i = 0; i < n; ++i) out.push_back((first + i * step) % n);
    return out;
  }

  ChannelGraph lay(float speed) const {
    ChannelGraph graph;
    graph.bw_intra = graph.bw_inter = speed;
    const bool alone = input_.nodes == 1;
    int most = input_.version >= kNccl2_27 ? 32 : 16;
    if (nvlink_ > 0) {
      most = std::min(most, static_cast<int>(nvlink_ / speed));
    } else if (input_.gpus > 1) {
      most = std::min(most, static_cast<int>(pcie_of(gpu(0)) / speed));
    }
    Budget budget = full_budget();
    for (int c = 0; c < most; ++c) {
      GraphChannel channel;
      if (alone) {
        channel.gpu_order = order(0, c);
      } else if (!take_nets(budget, speed, c, channel)) {
        break;
      }
      if (channel.net_in != channel.net_out) graph.cross_nic = input_.version >= kNccl2_27 ? 2 : 1;
      graph.channels.push_back(channel);
    }
    describe(graph);
    return graph;
  }

  bool take_nets(Budget& budget, float speed, int c, GraphChannel& channel) const {
    for (std::size_t i = 0; i < input_.nics.size(); ++i) {
      const int in = input_.nics[(static_cast<std::size_t>(c) + i) % input_.nics.size()];
      const int first = gpu_near(in);
      const std::vector<int> gpus = order(first, c);
      const int out = net_out(gpus.back(), in);
      float& down = budget.gpu_down[static_cast<std::size_t>(first)];
      float& up = budget.gpu_up[static_cast<std::size_t>(sending_gpu(gpus.back(), out))];
      float& enter = budget.net_in[static_cast<std::size_t>(in)];
      float& leave = budget.net_out[static_cast<std::size_t>(out)];
      if (std::min({down, up, enter, leave}) < speed) continue;
      for (float* left : {&down, &up, &enter, &leave}) *left -= speed;
      channel = {gpus, in, out};
      return true;
    }
    return false;
  }

  float pcie_of(VertexId device) const {
    const Vertex& vertex = node_.vertex(device);
    return pcie_speed(vertex.pcie_gen, vertex.pcie_width);
  }

  Budget full_budget() const {
    Budget budget;
    for (int g = 0; g < input_.gpus; ++g) budget.gpu_down.push_back(pcie_of(gpu(g)));
    budget.gpu_up = budget.gpu_down;
    for (const NicInfo& info : node_.nics()) {
      const float port = static_cast<float>(info.speed.bytes_per_s) / 1e9f;
      budget.net_in.push_back(std::min(port, pcie_of(info.vertex)));
    }
    budget.net_out = budget.net_in;
    return budget;
  }

  ChannelGraph fallback() const {
    ChannelGraph graph;
    graph.bw_intra = graph.bw_inter = 0.1f;
    GraphChannel channel;
    for (int g = 0; g < input_.gpus; ++g) channel.gpu_order.push_back(g);
    if (input_.nodes > 1) channel.net_in = channel.net_out = input_.nics.front();
    graph.channels.push_back(channel);
    describe(graph);
    return graph;
  }

  void describe(ChannelGraph& graph) const {
    graph.type_intra = nvlink_ > 0 ? PathType::nvl : PathType::phb;
    graph.type_inter = PathType::pix;
    for (const GraphChannel& channel : graph.channels) {
      if (channel.net_out < 0) continue;
      const bool near = switch_joined(channel.gpu_order.back(), channel.net_out);
      const PathType type = near ? PathType::pix : nvlink_ > 0 ? PathType::pxn : PathType::phb;
      graph.type_inter = std::max(graph.type_inter, type);
      graph.same_channels = graph.same_channels && channel.gpu_order == graph.channels[0].gpu_order;
    }
  }

  /// src/graph/search.cc, ncclTopoDupChannels.
  void duplicate(ChannelGraph& graph, int sm) const {
    const int n = graph.channel_count();
    if (graph.bw_intra < 25 || (sm > 80 && graph.bw_intra < 50 && n > 4)) return;
    const int twice = std::min(2 * n, input_.version >= kNccl2_27 ? 32 : 16);
    const int times = (twice + n - 1) / n;
    for (int c = n; c < twice; ++c)
      graph.channels.push_back(graph.channels[static_cast<std::size_t>(c % n)]);
    graph.bw_intra /= static_cast<float>(times);
    graph.bw_inter /= static_cast<float>(times);
  }

  /// As many tree channels as ring channels, spread over the NICs.
  ChannelGraph tree_of(const ChannelGraph& ring, int sm) const {
    ChannelGraph tree = ring;
    tree.pattern = sm >= 90 && input_.nodes > 1 ? GraphPattern::tree : GraphPattern::balanced_tree;
    tree.cross_nic = 0;
    for (std::size_t c = 0; c < tree.channels.size(); ++c) {
      GraphChannel& channel = tree.channels[c];
      if (input_.nodes > 1) {
        channel.net_in = channel.net_out = input_.nics[c % input_.nics.size()];
        channel.gpu_order = order(gpu_near(channel.net_in), 1);
      }
    }
    describe(tree);
    return tree;
  }

  const NodeGraph& node_;
  const ChannelBuilderInput& input_;
  float nvlink_ = 0;  ///< of one GPU; 0 when GPUs are not joined by it
};

}  // namespace

RingAndTree build_channels(const NodeGraph& node, const ChannelBuilderInput& input) {
  assert(input.gpus >= 1 && (input.nodes == 1 || !input.nics.empty()));
  return Builder(node, input).build();
}

}  // namespace fabricast
