#include <algorithm>

#include "models/nccl/programs/tree_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {
namespace {

/// The trees of lanes that are each other's copies: workers of every rank, then their connections.
/// Copies stand at the same place of a chain; they are numbered in a row.
class TreeClass {
 public:
  /// By lane and rank; the root's are the same worker.
  struct Workers {
    std::vector<std::vector<std::uint32_t>> up, down;
  };

  TreeClass(Assembly& assembly, const TreeProgram& program, const std::vector<std::uint32_t>& lanes,
            Workers& workers)
      : assembly_(assembly), program_(program), workers_(workers) {
    const TreeMirror& mirror = assembly.mirror();
    const std::size_t rails = std::min(lanes.size(), assembly.copies_of_lanes());
    for (std::size_t i = 0; i < rails; ++i) copies_.push_back({lanes[i], false});
    for (std::size_t i = 0; !assembly.is_folded() && mirror.folds && i < rails; ++i)
      copies_.push_back({mirror.lane[lanes[i]], true});
    for (const Copy& copy : copies_) {
      workers.up[copy.lane].resize(static_cast<std::size_t>(assembly.ranks()));
      workers.down[copy.lane].resize(static_cast<std::size_t>(assembly.ranks()));
    }
  }

  void add_workers(const std::vector<std::uint32_t>& whole,
                   const std::vector<std::uint32_t>& split) {
    each_place([&](int node, std::size_t place) {
      for (const Copy& copy : copies_) {
        const int rank = rank_at(copy, node, place);
        const auto [children, is_root] = kin(copy.lane, rank);
        at(workers_.up, copy.lane, rank) =
            is_root ? add(whole, copy.lane, rank, children, children, TreePart::root)
                    : add(split, copy.lane, rank, children, 1, TreePart::up);
      }
      for (const Copy& copy : copies_) {
        const int rank = rank_at(copy, node, place);
        const auto [children, is_root] = kin(copy.lane, rank);
        at(workers_.down, copy.lane, rank) =
            is_root ? at(workers_.up, copy.lane, rank)
                    : add(split, copy.lane, rank, 1, children, TreePart::down);
      }
    });
  }

  /// REQUIRES: all lanes have their workers.
  void connect() {
    each_place([&](int node, std::size_t place) {
      for (std::size_t child = 0; child < TreeLinks{}.down.size(); ++child)
        for (const Copy& copy : copies_) connect(copy.lane, rank_at(copy, node, place), child);
    });
  }

 private:
  struct Copy {
    std::uint32_t lane;
    bool mirrored;  ///< nodes in reverse order
  };
  struct Kin {
    std::uint32_t children;
    bool is_root;
  };

  const CollectiveRun& run() const { return assembly_.run(); }
  int channel(std::uint32_t lane) const { return assembly_.partition().parts[lane].channel; }

  /// That of the image, where a rank is not simulated.
  std::uint32_t& at(std::vector<std::vector<std::uint32_t>>& workers, std::uint32_t lane,
                    int rank) const {
    const Assembly::LaneOfNode built = assembly_.built(lane, rank / assembly_.gpus());
    const int place = built.node * assembly_.gpus() + rank % assembly_.gpus();
    return workers[built.lane][static_cast<std::size_t>(place)];
  }

  /// Nodes of which none is another's image.
  template <class Visit>
  void each_place(Visit visit) const {
    for (int node = 0; node < assembly_.nodes() / assembly_.mirror().copies(); ++node)
      for (std::size_t place = 0; place < static_cast<std::size_t>(assembly_.gpus()); ++place)
        visit(node, place);
  }

  int rank_at(const Copy& copy, int node, std::size_t place) const {
    const int searched = channel(copy.lane) % run().graph.channel_count();
    const GraphChannel& chain = run().graph.channels[static_cast<std::size_t>(searched)];
    const int rank = node * assembly_.gpus() + chain.gpu_order[place];
    return copy.mirrored ? TreeMirror::mirrored(rank, assembly_.gpus(), assembly_.nodes()) : rank;
  }
  TreeLinks links(std::uint32_t lane, int rank) const {
    return tree_links(run().graph, assembly_.nodes(), channel(lane), rank);
  }
  Kin kin(std::uint32_t lane, int rank) const {
    const TreeLinks all = links(lane, rank);
    const auto children = std::ranges::count_if(all.down, [](int c) { return c >= 0; });
    return {static_cast<std::uint32_t>(children), all.up < 0};
  }
  Endpoint end(std::uint32_t lane, int rank) const {
    return assembly_.endpoint(rank, nic_of(run().graph, channel(lane), rank % assembly_.gpus()));
  }

  std::uint32_t add(const std::vector<std::uint32_t>& classes, std::uint32_t lane, int rank,
                    std::uint32_t inputs, std::uint32_t outputs, TreePart part) {
    const Role role = TreeProgram::role(lane, inputs, outputs, part);
    return assembly_.add_worker(classes, program_, role, rank, program_.slices(lane));
  }

  void connect(std::uint32_t lane, int parent, std::size_t number) {
    const int child = links(lane, parent).down[number];
    if (child < 0) return;
    const std::uint64_t slices = program_.slices(lane);
    const Endpoint above = end(lane, parent), below = end(lane, child);
    assembly_.connect(at(workers_.up, lane, child), at(workers_.up, lane, parent), below, above,
                      slices);
    assembly_.connect(at(workers_.down, lane, parent), at(workers_.down, lane, child), above, below,
                      slices);
  }

  Assembly& assembly_;
  const TreeProgram& program_;
  Workers& workers_;
  std::vector<Copy> copies_;  ///< that are simulated
};

}  // namespace

void add_trees(Assembly& assembly) {
  const TreeProgram& program = assembly.keep(std::make_unique<TreeProgram>(assembly.partition()));
  const std::vector<std::uint32_t> split =
      assembly.worker_classes(assembly.software().tree_copy_share);
  const std::vector<std::uint32_t> whole = assembly.worker_classes(1);
  const std::size_t lanes = assembly.partition().parts.size();
  TreeClass::Workers workers{std::vector<std::vector<std::uint32_t>>(lanes),
                             std::vector<std::vector<std::uint32_t>>(lanes)};
  std::vector<TreeClass> classes;
  for (const std::vector<std::uint32_t>& rails : assembly.lanes()) {
    classes.emplace_back(assembly, program, rails, workers);
    classes.back().add_workers(whole, split);
  }
  for (TreeClass& trees : classes) trees.connect();
}

}  // namespace fabricast
