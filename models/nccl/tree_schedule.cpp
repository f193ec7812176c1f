#include <algorithm>

#include "models/nccl/assembly.hpp"
#include "models/nccl/tree_links.hpp"
#include "models/nccl/tree_program.hpp"

namespace fabricast {
namespace {

/// One channel's trees: workers of every rank, then their connections.
class TreeChannel {
 public:
  TreeChannel(Assembly& assembly, const TreeProgram& program, std::uint32_t lane)
      : assembly_(assembly),
        program_(program),
        lane_(lane),
        channel_(assembly.partition().parts[lane].channel) {
    for (int rank = 0; rank < assembly.ranks(); ++rank)
      links_.push_back(tree_links(run().graph, assembly.nodes(), channel_, rank));
  }

  void add_workers(const std::vector<std::uint32_t>& whole,
                   const std::vector<std::uint32_t>& split) {
    for (int rank = 0; rank < assembly_.ranks(); ++rank) {
      const TreeLinks& links = links_[static_cast<std::size_t>(rank)];
      const auto children = static_cast<std::uint32_t>(
          std::count_if(links.down.begin(), links.down.end(), [](int c) { return c >= 0; }));
      if (links.up < 0) {
        up_.push_back(add(whole, rank, children, children, TreePart::root));
        down_.push_back(up_.back());
      } else {
        up_.push_back(add(split, rank, children, 1, TreePart::up));
        down_.push_back(add(split, rank, 1, children, TreePart::down));
      }
    }
  }

  void connect() {
    for (int rank = 0; rank < assembly_.ranks(); ++rank) {
      for (const int child : links_[static_cast<std::size_t>(rank)].down) {
        if (child < 0) continue;
        const auto p = static_cast<std::size_t>(rank), c = static_cast<std::size_t>(child);
        assembly_.connect(up_[c], up_[p], end(child), end(rank), program_.slices(lane_));
        assembly_.connect(down_[p], down_[c], end(rank), end(child), program_.slices(lane_));
      }
    }
  }

 private:
  const CollectiveRun& run() const { return assembly_.run(); }
  std::uint32_t add(const std::vector<std::uint32_t>& classes, int rank, std::uint32_t inputs,
                    std::uint32_t outputs, TreePart part) {
    const Role role = TreeProgram::role(lane_, inputs, outputs, part);
    return assembly_.add_worker(classes, program_, role, rank, program_.slices(lane_));
  }
  Endpoint end(int rank) const {
    return assembly_.endpoint(rank, nic_of(run().graph, channel_, rank % assembly_.gpus()));
  }

  Assembly& assembly_;
  const TreeProgram& program_;
  std::uint32_t lane_;
  int channel_;
  std::vector<TreeLinks> links_;
  std::vector<std::uint32_t> up_, down_;  ///< by rank; the same worker at the root
};

}  // namespace

void add_trees(Assembly& assembly) {
  const TreeProgram& program = assembly.keep(std::make_unique<TreeProgram>(assembly.partition()));
  const std::vector<std::uint32_t> split =
      assembly.worker_classes(assembly.software().tree_copy_share);
  const std::vector<std::uint32_t> whole = assembly.worker_classes(1);
  for (std::uint32_t lane = 0; lane < assembly.partition().parts.size(); ++lane) {
    TreeChannel channel(assembly, program, lane);
    channel.add_workers(whole, split);
    channel.connect();
  }
}

}  // namespace fabricast
