#pragma once
// Random fabrics and members for runs that may be folded, and what must be equal then.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/nccl/run/job_size.hpp"
#include "models/nccl/symmetry/move_check.hpp"
#include "models/nccl/symmetry/network_folds.hpp"
#include "models/nccl/symmetry/run_hops.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/simulation_cases.hpp"

namespace fabricast::testing {

/// Leaves of so few ports that a handful of nodes needs several; two tiers or three.
inline FabricConfig random_fabric(Dice& random, const NodeGraph& node,
                                  const PartsCatalogue& parts) {
  FabricConfig fabric = default_fabric(node, parts);
  fabric.is_default = false;
  const auto nics = static_cast<int>(node.nics().size());
  const auto nodes_per_leaf = static_cast<int>(random.pick(1, 4));
  fabric.leaf_down = nodes_per_leaf;
  if (random.pick(0, 2) == 0) {
    fabric.kind = FabricConfig::Kind::fat_tree;
    fabric.leaf_down *= nics;
  }
  fabric.oversubscription = static_cast<double>(random.pick(1, 3));
  if (random.pick(0, 2) == 0) {
    fabric.pod_leaves = static_cast<int>(random.pick(1, 2));
    fabric.core = fabric.spine;
    fabric.core_oversubscription = static_cast<double>(random.pick(1, 2));
    fabric.spine_core = {fabric.leaf_spine_cable, 100};
  }
  fabric.leaf.radix = fabric.spine.radix = fabric.core.radix = 1024;
  return fabric;
}

/// All nodes, the first ones, or every second one.
inline Members random_members(Dice& random, int nodes, int gpus_of_node, int gpus) {
  const std::vector<int> chosen = random_subset(random, gpus, gpus_of_node);
  std::vector<int> places;
  const auto kind = random.pick(0, 3);
  for (int node = 0; node < nodes; ++node)
    if (kind > 0 || node % 2 == 0) places.push_back(node);
  return {places, chosen};
}

/// Of a preset; read once.
inline const NodeGraph& node_of(const std::string& preset, const PartsCatalogue& parts) {
  static std::map<std::string, NodeGraph> known;
  const auto at = known.find(preset);
  if (at != known.end()) return at->second;
  return known.emplace(preset, load_cluster({preset, 1, ""}, parts).node()).first->second;
}

struct Drawn {
  Cluster cluster;
  CollectiveRun run;
};

/// Makes one part unlike the others: 0 slows one of the first `gpus` GPUs, 1 a link, 2 takes a link
/// down while nothing runs yet. Why nothing is folded then.
inline std::string spoil_one_part(Drawn& drawn, int part, std::int64_t gpus, Dice& random) {
  const LinkId link = drawn.cluster.first_fabric_link();
  if (part == 0) {
    drawn.run.faults.gpus = {{static_cast<int>(random.pick(0, gpus - 1)), 0.8}};
    return "a GPU is slow";
  }
  if (part == 1) {
    drawn.cluster.set_rate(link, {drawn.cluster.link(link).rate.bytes_per_s / 2});
    return "a link has a rate of its own";
  }
  drawn.run.faults.outages = {{link, Outage{}}};
  return "a link goes down";
}

/// The move of both trees onto each other; null = there is none.
inline const Move* mirror_of(const Symmetry& symmetry) {
  for (const Move& move : symmetry.moves)
    if (move.reverses) return &move;
  return nullptr;
}

/// Every hop of the run on every rank, not only those that the finders of moves look at, goes to a
/// hop of its kind; and what stands for others is the same for all of these.
inline void check_moves(const Drawn& drawn, const Symmetry& symmetry) {
  const CollectiveRun& run = drawn.run;
  const Members members = members_of(run, drawn.cluster.nodes());
  const Partition partition = run.has_algorithm() ? partition_of(run, members) : Partition{};
  const auto lanes = static_cast<std::uint32_t>(
      run.has_algorithm() ? partition.parts.size() : static_cast<std::size_t>(run.channels));
  const auto channel = [&](std::uint32_t lane) {
    return run.has_algorithm() ? partition.parts[lane].channel : static_cast<int>(lane);
  };
  const RunHops hops(drawn.cluster, run, members);
  for (const Move& move : symmetry.moves) {
    const auto image = [&](const std::vector<int>& numbers, int number, auto moved) {
      const auto place = std::ranges::find(numbers, number) - numbers.begin();
      return numbers[static_cast<std::size_t>(moved(static_cast<int>(place)))];
    };
    MoveCheck check(
        drawn.cluster,
        [&](int host) {
          const int trays = drawn.cluster.node().trays();
          return host % trays + trays * image(members.nodes(), host / trays, [&](int place) {
                                  return move.moved({0, place * move.gpus}).rank / move.gpus;
                                });
        },
        [&](int gpu) {
          return image(members.gpus(), gpu, [&](int local) {
            return move.moved({0, local}).rank % move.gpus;
          });
        });
    bool takes_all = true, is_one = true;
    for (std::uint32_t lane = 0; lane < lanes && !move.sharp; ++lane) {
      for (int rank = 0; rank < members.ranks(); ++rank) {
        const BlockPlace to = move.moved({lane, rank});
        const auto a = hops.from(channel(lane), rank), b = hops.from(channel(to.lane), to.rank);
        takes_all =
            takes_all && std::ranges::equal(a, b, [&](const auto& x, const auto& y) {
              return move.moved({lane, x.to}).rank == y.to && check.takes(hops.way(x), hops.way(y));
            });
        const BlockPlace like = move.representative(to);
        is_one = is_one && like == move.representative(BlockPlace{lane, rank}) &&
                 like == move.representative(like) && to != BlockPlace{lane, rank} &&
                 move.representative(rank) == move.representative(to.rank);
      }
    }
    CHECK(takes_all);
    CHECK(is_one);
    CHECK(check.agrees([&](LinkId link) { return symmetry.representative(drawn.cluster, link); }));
  }
}

inline SimulationOptions options(bool fold, bool fast_forward = false, bool explain = false) {
  SimulationOptions out;
  out.fold = fold;
  out.fast_forward = fast_forward;
  out.first_look = 0;
  out.explain = explain;
  return out;
}

inline void check_equal(const SimulationResult& got, const SimulationResult& full) {
  CHECK(got.time == full.time);
  CHECK(got.launch == full.launch);
  CHECK(got.rank_finish == full.rank_finish);
  CHECK(got.events == full.events);
  CHECK(got.slices == full.slices);
}

/// What is counted before a run is what it has.
inline void check_counts(const Drawn& drawn, const SimulationResult& folded,
                         const SimulationResult& full) {
  static const SoftwareCosts software = load_catalogue().software;  // counts do not depend on it
  const Symmetry symmetry = find_symmetry(drawn.cluster, drawn.run);
  const JobSize size = job_size(drawn.cluster, software, drawn.run, symmetry);
  CHECK(size.slices == full.slices);
  // Jumps are counted; of sends and receives a chunk, which has several events.
  CHECK((size.simulated >= folded.events - folded.events_skipped || !drawn.run.has_algorithm()));
}

/// Every link of the full run carries what its copy in the folded one does, and there are no more.
inline void check_loads(const Drawn& drawn, const Symmetry& symmetry,
                        const SimulationResult& folded, const SimulationResult& full) {
  std::map<std::uint32_t, LinkLoad> known;
  std::size_t copies = 0;
  for (const LinkLoad& load : folded.links) {
    known[index_of(load.link)] = load;
    copies += static_cast<std::size_t>(load.copies);
  }
  CHECK(copies == full.links.size());
  const bool all_equal = std::ranges::all_of(full.links, [&](const LinkLoad& load) {
    const auto like = known.find(index_of(symmetry.representative(drawn.cluster, load.link)));
    return like != known.end() && like->second.carried == load.carried &&
           like->second.utilisation == load.utilisation;
  });
  CHECK(all_equal);
}

inline void check_links(const Drawn& drawn, const SimulationResult& folded,
                        const SimulationResult& full) {
  const Symmetry symmetry = find_symmetry(drawn.cluster, drawn.run);
  check_moves(drawn, symmetry);
  check_counts(drawn, folded, full);
  check_loads(drawn, symmetry, folded, full);
}

/// The same on a rung that carries slices, if it is folded there; false if it is not.
inline bool check_carried(const Drawn& drawn, const SoftwareCosts& software, Rung rung) {
  SimulationOptions whole = options(false), folding = options(true);
  whole.network.rung = folding.network.rung = rung;
  const Symmetry symmetry = standing_symmetry(drawn.cluster, folding.network, drawn.run,
                                              find_symmetry(drawn.cluster, drawn.run));
  if (symmetry.copies() == 1) return false;
  CAPTURE(to_text(rung));
  const SimulationResult full = simulate(drawn.cluster, software, drawn.run, whole),
                         got = simulate(drawn.cluster, software, drawn.run, folding);
  check_equal(got, full);
  check_loads(drawn, symmetry, got, full);
  CHECK(got.events - got.events_skipped ==
        got.events / static_cast<std::uint64_t>(symmetry.copies()));
  return true;
}

}  // namespace fabricast::testing
