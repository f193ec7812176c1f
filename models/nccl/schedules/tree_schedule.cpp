#include <algorithm>
#include <optional>

#include "models/nccl/programs/tree_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "models/nccl/wiring/tree_links.hpp"

namespace fabricast {
namespace {

/// Workers of every rank on both trees, then their connections. Each node's chain is numbered from
/// its first GPU on.
class TreeSchedule {
 public:
  explicit TreeSchedule(Assembly& assembly)
      : assembly_(assembly),
        program_(assembly.keep(std::make_unique<TreeProgram>(assembly.partition()))),
        split_(assembly, assembly.software().tree_copy_share),
        whole_(assembly, 1),
        up_(assembly),
        down_(assembly),
        links_(assembly.partition().parts.size()) {}

  void add() {
    assembly_.sized_by([&program = program_](std::uint32_t lane) { return program.slices(lane); });
    const auto rank_at = [this](std::uint32_t lane, int place) {
      const int searched = channel(lane) % run().graph.channel_count(), gpus = assembly_.gpus();
      const GraphChannel& chain = run().graph.channels[static_cast<std::size_t>(searched)];
      return place / gpus * gpus + chain.gpu_order[static_cast<std::size_t>(place % gpus)];
    };
    for (const std::uint32_t lane : assembly_.lanes()) {
      assembly_.each_place(lane, rank_at, [this](std::span<const BlockPlace> alike) {
        for (const BlockPlace& place : alike) add_up(place);
        for (const BlockPlace& place : alike) add_down(place);
      });
      assembly_.end_lane(lane);
    }
    for (const std::uint32_t lane : assembly_.lanes()) {
      assembly_.each_place(lane, rank_at, [this](std::span<const BlockPlace> alike) {
        for (std::size_t child = 0; child < TreeLinks{}.down.size(); ++child)
          for (const BlockPlace& place : alike) connect(place, child);
      });
      assembly_.end_lane(lane);
    }
  }

 private:
  /// Of workers that receive inside the node only, and of others.
  struct Classes {
    Classes(Assembly& assembly, double share)
        : near(assembly.worker_classes(share)),
          far(assembly.nodes() == 1 || assembly.share_from_net() == 1
                  ? near
                  : assembly.worker_classes(share * assembly.share_from_net())) {}
    std::vector<std::uint32_t> near, far;
  };

  struct Kin {
    std::uint32_t children;
    bool is_root;
  };

  const CollectiveRun& run() const { return assembly_.run(); }
  int channel(std::uint32_t lane) const { return assembly_.partition().parts[lane].channel; }
  const TreeLinks& links(BlockPlace place) {
    std::vector<std::optional<TreeLinks>>& row = links_[place.lane];
    row.resize(static_cast<std::size_t>(assembly_.ranks()));
    std::optional<TreeLinks>& known = row[static_cast<std::size_t>(place.rank)];
    if (!known) known = tree_links(run().graph, assembly_.nodes(), channel(place.lane), place.rank);
    return *known;
  }
  Kin kin(BlockPlace place) {
    const TreeLinks& all = links(place);
    const auto children = std::ranges::count_if(all.down, [](int c) { return c >= 0; });
    return {static_cast<std::uint32_t>(children), all.up < 0};
  }
  Endpoint end(BlockPlace place) const {
    const int local = place.rank % assembly_.gpus();
    return assembly_.endpoint(place.rank, nic_of(run().graph, channel(place.lane), local));
  }

  bool is_far(BlockPlace place, int other) const {
    return other >= 0 && other / assembly_.gpus() != place.rank / assembly_.gpus();
  }

  /// The root's is both workers.
  void add_up(BlockPlace place) {
    const auto [children, is_root] = kin(place);
    const auto& below = links(place).down;
    const bool far = std::ranges::any_of(below, [&](int child) { return is_far(place, child); });
    up_(place) = is_root ? add(of(whole_, far), place, children, children, TreePart::root)
                         : add(of(split_, far), place, children, 1, TreePart::up);
  }
  void add_down(BlockPlace place) {
    const auto [children, is_root] = kin(place);
    down_(place) = is_root ? up_(place)
                           : add(of(split_, is_far(place, links(place).up)), place, 1, children,
                                 TreePart::down);
  }
  static const std::vector<std::uint32_t>& of(const Classes& classes, bool far) {
    return far ? classes.far : classes.near;
  }
  std::uint32_t add(const std::vector<std::uint32_t>& classes, BlockPlace place,
                    std::uint32_t inputs, std::uint32_t outputs, TreePart part) {
    const Role role = TreeProgram::role(place.lane, inputs, outputs, part);
    return assembly_.add_worker(classes, program_, role, place.rank, program_.slices(place.lane));
  }

  void connect(BlockPlace parent, std::size_t number) {
    const BlockPlace child{parent.lane, links(parent).down[number]};
    if (child.rank < 0) return;
    const std::uint64_t slices = program_.slices(parent.lane);
    const Endpoint above = end(parent), below = end(child);
    assembly_.connect(up_(child), up_(parent), below, above, slices);
    assembly_.connect(down_(parent), down_(child), above, below, slices);
  }

  Assembly& assembly_;
  const TreeProgram& program_;
  Classes split_, whole_;
  BlockMap<std::uint32_t> up_, down_;
  std::vector<std::vector<std::optional<TreeLinks>>> links_;  ///< by lane and rank
};

}  // namespace

void add_trees(Assembly& assembly) { TreeSchedule(assembly).add(); }

}  // namespace fabricast
