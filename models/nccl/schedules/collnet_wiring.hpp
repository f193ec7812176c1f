#pragma once
// One operation of CollNet per chunk of a head: every node's head gives the chunk to its proxy, the
// NICs send it up a SHARP tree, the sum (all_gather: the shares) comes down to all heads. NCCL's
// grouping of channels into one operation is not modelled. Facts: src/transport/coll_net.cc.

#include <cstdint>
#include <map>
#include <vector>

#include "models/hardware/cluster/sharp.hpp"
#include "models/nccl/schedules/head_programs.hpp"

namespace fabricast {

/// A node's head: the workers that give to the network and take from it.
struct CollnetEnd {
  std::uint32_t from = 0, to = 0;
  Endpoint at;
  std::vector<std::uint32_t> before;  ///< what bytes cross before they get to this GPU
};

class CollnetWiring {
 public:
  /// Both outlive it.
  CollnetWiring(Assembly& assembly, HeadPrograms& programs)
      : assembly_(assembly), programs_(programs) {}

  /// Connects the heads of all nodes that are simulated, in order of the nodes. all_gather: `from`
  /// gives its node's share, reduce_scatter: `to` takes its node's share; everything else is the
  /// head's chunk. REQUIRES: two nodes or more, the same NIC number on all.
  void connect(Role role, const std::vector<CollnetEnd>& ends);

 private:
  using Path = std::vector<std::uint32_t>;

  /// From a head to its NIC and back.
  struct NodeWay {
    Transport transport;
    std::vector<LinkId> out, in;
    std::uint32_t leaf = 0;  ///< that its NIC is plugged into
  };
  struct Tree {
    SharpTree sharp;
    std::uint32_t stream = 0;  ///< link of the machine: what the tree streams at most
  };
  /// An end that waits for a junction.
  struct Strand {
    std::uint32_t worker = 0;
    Path path;
  };

  const Tree& tree_of(int nic);
  NodeWay way_of(const Endpoint& at) const;
  Strand give(const CollnetEnd& end, const NodeWay& way, std::uint64_t slices);
  void take(std::uint32_t from, const Path& path, const CollnetEnd& end, const NodeWay& way);
  std::uint32_t joined(Role role, std::vector<Strand> strands, std::size_t all);
  std::vector<std::uint32_t> fanned(Role role, std::uint32_t from, std::size_t ends,
                                    std::size_t all, const Path& path, Duration sync);
  std::uint32_t add_junction(Role role, std::size_t inputs, std::size_t outputs);
  void append_step(Path& path, const std::vector<LinkId>& links);
  void hand_on(std::uint32_t from, std::uint32_t to, std::uint32_t slots, const Path& path,
               Duration sync);
  Path up(const Tree& tree, const std::vector<NodeWay>& ways);
  Path down(const Tree& tree, const std::vector<NodeWay>& ways);
  Path up_alone(const Tree& tree, const NodeWay& way, std::size_t node) const;
  Path down_alone(const Tree& tree, const NodeWay& way, std::size_t node) const;

  Assembly& assembly_;
  HeadPrograms& programs_;
  std::map<int, Tree> trees_;  ///< by NIC
};

}  // namespace fabricast
