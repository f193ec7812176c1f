#include <algorithm>

#include "models/nccl/assembly.hpp"
#include "models/nccl/tree_links.hpp"
#include "models/nccl/tree_program.hpp"

namespace fabricast {
namespace {

/// The trees of channels that are each other's copies: workers of every rank, then their
/// connections. Copies stand at the same place of a chain; they are numbered in a row.
class TreeClass {
 public:
  TreeClass(Assembly& assembly, const TreeProgram& program, const std::vector<std::uint32_t>& lanes)
      : assembly_(assembly), program_(program), lanes_(lanes) {
    lanes_.resize(std::min(lanes_.size(), assembly.copies_of_lanes()));
    const auto ranks = static_cast<std::size_t>(assembly.ranks());
    up_.assign(lanes_.size(), std::vector<std::uint32_t>(ranks));
    down_ = up_;
  }

  void add_workers(const std::vector<std::uint32_t>& whole,
                   const std::vector<std::uint32_t>& split) {
    each_place([&](int node, std::size_t place) {
      each_copy([&](std::size_t copy) {
        const int rank = rank_at(copy, node, place);
        const auto [children, is_root] = kin(copy, rank);
        at(up_, copy, rank) = is_root ? add(whole, copy, rank, children, children, TreePart::root)
                                      : add(split, copy, rank, children, 1, TreePart::up);
      });
      each_copy([&](std::size_t copy) {
        const int rank = rank_at(copy, node, place);
        const auto [children, is_root] = kin(copy, rank);
        at(down_, copy, rank) =
            is_root ? at(up_, copy, rank) : add(split, copy, rank, 1, children, TreePart::down);
      });
    });
  }

  void connect() {
    each_place([&](int node, std::size_t place) {
      for (std::size_t child = 0; child < TreeLinks{}.down.size(); ++child)
        each_copy([&](std::size_t copy) { connect(copy, rank_at(copy, node, place), child); });
    });
  }

 private:
  using ByRank = std::vector<std::uint32_t>;
  struct Kin {
    std::uint32_t children;
    bool is_root;
  };

  const CollectiveRun& run() const { return assembly_.run(); }
  int channel(std::size_t copy) const { return assembly_.partition().parts[lanes_[copy]].channel; }
  static std::uint32_t& at(std::vector<ByRank>& workers, std::size_t copy, int rank) {
    return workers[copy][static_cast<std::size_t>(rank)];
  }

  template <class Visit>
  void each_place(Visit visit) const {
    for (int node = 0; node < assembly_.nodes(); ++node)
      for (std::size_t place = 0; place < static_cast<std::size_t>(assembly_.gpus()); ++place)
        visit(node, place);
  }
  template <class Visit>
  void each_copy(Visit visit) const {
    for (std::size_t copy = 0; copy < lanes_.size(); ++copy) visit(copy);
  }

  int rank_at(std::size_t copy, int node, std::size_t place) const {
    const auto searched = static_cast<std::size_t>(channel(copy) % run().graph.channel_count());
    return node * assembly_.gpus() + run().graph.channels[searched].gpu_order[place];
  }
  TreeLinks links(std::size_t copy, int rank) const {
    return tree_links(run().graph, assembly_.nodes(), channel(copy), rank);
  }
  Kin kin(std::size_t copy, int rank) const {
    const TreeLinks all = links(copy, rank);
    const auto children = std::ranges::count_if(all.down, [](int c) { return c >= 0; });
    return {static_cast<std::uint32_t>(children), all.up < 0};
  }
  Endpoint end(std::size_t copy, int rank) const {
    return assembly_.endpoint(rank, nic_of(run().graph, channel(copy), rank % assembly_.gpus()));
  }

  std::uint32_t add(const std::vector<std::uint32_t>& classes, std::size_t copy, int rank,
                    std::uint32_t inputs, std::uint32_t outputs, TreePart part) {
    const Role role = TreeProgram::role(lanes_[copy], inputs, outputs, part);
    return assembly_.add_worker(classes, program_, role, rank, program_.slices(lanes_[copy]));
  }

  void connect(std::size_t copy, int parent, std::size_t number) {
    const int child = links(copy, parent).down[number];
    if (child < 0) return;
    const std::uint64_t slices = program_.slices(lanes_[copy]);
    const Endpoint above = end(copy, parent), below = end(copy, child);
    assembly_.connect(at(up_, copy, child), at(up_, copy, parent), below, above, slices);
    assembly_.connect(at(down_, copy, parent), at(down_, copy, child), above, below, slices);
  }

  Assembly& assembly_;
  const TreeProgram& program_;
  std::vector<std::uint32_t> lanes_;  ///< that are simulated
  std::vector<ByRank> up_, down_;     ///< by copy; the same worker at the root
};

}  // namespace

void add_trees(Assembly& assembly) {
  const TreeProgram& program = assembly.keep(std::make_unique<TreeProgram>(assembly.partition()));
  const std::vector<std::uint32_t> split =
      assembly.worker_classes(assembly.software().tree_copy_share);
  const std::vector<std::uint32_t> whole = assembly.worker_classes(1);
  for (const std::vector<std::uint32_t>& lanes : assembly.lanes()) {
    TreeClass trees(assembly, program, lanes);
    trees.add_workers(whole, split);
    trees.connect();
  }
}

}  // namespace fabricast
