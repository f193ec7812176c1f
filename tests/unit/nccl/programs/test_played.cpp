// Goal: all primitives of a ring's or a tree's programs together compute the collective.
// Method: a play without clock: every worker runs its program over FIFO queues with as many slots
// as NCCL has, slices carry the set of ranks whose data they hold, and at the end every rank must
// hold what the collective promises.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <deque>
#include <vector>

#include "models/nccl/programs/ring_program.hpp"
#include "models/nccl/programs/tree_program.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/programs/program_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

constexpr std::size_t kRanksMax = 72;
using Contributors = std::bitset<kRanksMax>;

/// A range of the buffer that all ranks together see, and whose data has gone into it.
struct Piece {
  ElementRange range;
  Contributors from;
};

/// One slice of a worker's program with its meaning: where it lies, whether the rank's own input
/// joins, whether the result is written to the output.
struct Act {
  std::uint32_t in = 0, out = 0;
  ElementRange range;
  bool own = false, writes = false;
};

/// All workers' slices, and the FIFO queues between them.
class Stage {
 public:
  Stage(int ranks, int slots)
      : slots_(static_cast<std::size_t>(slots)), output_(static_cast<std::size_t>(ranks)) {}

  std::size_t add_worker(int rank, std::vector<Act> acts) {
    workers_.push_back({rank, std::move(acts), 0, {}, {}});
    return workers_.size() - 1;
  }
  void connect(std::size_t from, std::size_t to) {
    workers_[from].outs.push_back(queues_.size());
    workers_[to].ins.push_back(queues_.size());
    queues_.emplace_back();
  }
  /// What a rank's output holds before it begins.
  void write(int rank, Piece piece) { output_[static_cast<std::size_t>(rank)].push_back(piece); }

  /// Until nobody can go on; then everybody must be done and every queue empty.
  void play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Worker& worker : workers_)
        while (step(worker)) moved = true;
    }
    for (const Worker& worker : workers_) REQUIRE(worker.at == worker.acts.size());
    for (const auto& queue : queues_) REQUIRE(queue.empty());
  }

  /// The rank's output covers `whole` without gap or overlap, every element with data of `from`.
  bool holds(int rank, ElementRange whole, const Contributors& from) const {
    std::vector<Piece> pieces;
    for (const Piece& piece : output_[static_cast<std::size_t>(rank)]) {
      const std::int64_t at = piece.range.offset - whole.offset;
      if (piece.range.count > 0 && at >= 0 && at < whole.count) pieces.push_back(piece);
    }
    std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.range.offset; });
    std::int64_t next = whole.offset;
    for (const Piece& piece : pieces) {
      if (piece.range.offset != next || piece.from != from) return false;
      next += piece.range.count;
    }
    return next == whole.offset + whole.count;
  }
  bool is_untouched(int rank) const { return output_[static_cast<std::size_t>(rank)].empty(); }

 private:
  struct Worker {
    int rank;
    std::vector<Act> acts;
    std::size_t at;
    std::vector<std::size_t> ins, outs;
  };

  bool step(Worker& worker) {
    if (worker.at == worker.acts.size()) return false;
    const Act& act = worker.acts[worker.at];
    for (std::size_t i = 0; i < worker.ins.size(); ++i)
      if ((act.in >> i & 1u) != 0 && queues_[worker.ins[i]].empty()) return false;
    for (std::size_t i = 0; i < worker.outs.size(); ++i)
      if ((act.out >> i & 1u) != 0 && queues_[worker.outs[i]].size() == slots_) return false;
    Piece piece{act.range, {}};
    if (act.own) piece.from.set(static_cast<std::size_t>(worker.rank));
    for (std::size_t i = 0; i < worker.ins.size(); ++i) {
      if ((act.in >> i & 1u) == 0) continue;
      const Piece received = queues_[worker.ins[i]].front();
      queues_[worker.ins[i]].pop_front();
      if (!(received.range == act.range)) FAIL("a slice of another range");
      if ((received.from & piece.from).any()) FAIL("data reduced twice");
      piece.from |= received.from;
    }
    if (act.writes) write(worker.rank, piece);
    for (std::size_t i = 0; i < worker.outs.size(); ++i)
      if ((act.out >> i & 1u) != 0) queues_[worker.outs[i]].push_back(piece);
    ++worker.at;
    return true;
  }

  std::size_t slots_;
  std::vector<Worker> workers_;
  std::vector<std::deque<Piece>> queues_;
  std::vector<std::vector<Piece>> output_;  ///< by rank
};

/// The slices of a primitive on the elements from `offset` on.
void add_slices(std::vector<Act>& acts, const Primitive& primitive, std::int64_t offset,
                int element_bytes, bool own, bool writes) {
  for (const std::int64_t bytes : slice_bytes(primitive)) {
    const ElementRange range{offset, bytes / element_bytes};
    REQUIRE(range.count * element_bytes == bytes);
    acts.push_back({primitive.in, primitive.out, range, own, writes});
    offset += range.count;
  }
}

/// Elements of a rank's share in the common buffer: of all_gather and reduce_scatter, where share k
/// starts at k x count. NCCL counts all_gather and broadcast in bytes.
std::int64_t scheduled_count(const PartitionInput& p, const Partition& split) {
  return p.count * p.element_bytes / split.element_bytes;
}

bool has_shares(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}

/// What the worker at `position` of a ring does, from its program; chunk numbers from ring_op().
std::vector<Act> ring_acts(const PartitionInput& p, const Partition& split,
                           const RingProgram& program, std::uint32_t lane, std::uint32_t position,
                           const GlobalRing& ring, std::uint32_t root_index, bool in_place) {
  const auto ranks = static_cast<std::uint32_t>(p.ranks);
  const std::uint32_t ops = ring_ops_per_loop(p.collective, ranks);
  std::vector<Act> acts;
  std::int64_t k = 0;
  for (const Primitive& primitive : primitives(program, {lane, position})) {
    const RingOp op = ring_op(p.collective, position, ranks, static_cast<std::uint32_t>(k % ops),
                              root_index, in_place);
    const ChunkLoop loop = chunk_loop(split.parts[lane], p.algorithm, p.collective, ranks, k / ops);
    std::int64_t offset = 0;
    if (has_shares(p.collective)) {
      offset = ring.ranks[op.chunk] * scheduled_count(p, split) + loop.offset_elements;
    } else {
      offset = loop.chunk(op.chunk).offset;
    }
    REQUIRE(primitive.in == (receives(op.kind) ? 1 : 0));
    REQUIRE(primitive.out == (sends(op.kind) ? 1 : 0));
    const bool own = !receives(op.kind) || reduces(op.kind);
    const bool writes =
        op.kind != PrimitiveKind::send && op.kind != PrimitiveKind::recv_reduce_send;
    add_slices(acts, primitive, offset, split.element_bytes, own, writes);
    ++k;
  }
  return acts;
}

void check_ring(const PartitionInput& p, const ChannelGraph& graph, int root, bool in_place) {
  const Partition split = partition(p);
  std::vector<GlobalRing> rings;
  std::vector<std::uint32_t> root_index;
  for (const ChannelPart& part : split.parts) {
    rings.push_back(global_ring(graph, p.nodes, part.channel, p.version));
    root_index.push_back(static_cast<std::uint32_t>(std::ranges::find(rings.back().ranks, root) -
                                                    rings.back().ranks.begin()));
  }
  const RingProgram program = ring_program(p, split, root_index, in_place);
  const auto n = static_cast<std::size_t>(p.ranks);
  Stage stage(p.ranks, split.shape.slices_in_flight());
  for (std::uint32_t lane = 0; lane < rings.size(); ++lane) {
    std::vector<std::size_t> workers;
    for (std::uint32_t i = 0; i < n; ++i)
      workers.push_back(stage.add_worker(
          rings[lane].ranks[i],
          ring_acts(p, split, program, lane, i, rings[lane], root_index[lane], in_place)));
    for (std::size_t i = 0; i < n; ++i) stage.connect(workers[i], workers[(i + 1) % n]);
  }
  const std::int64_t count = scheduled_count(p, split);
  const auto share = [&](int rank) {
    return ElementRange{has_shares(p.collective) ? rank * count : 0, count};
  };
  const auto only = [](int rank) { return Contributors().set(static_cast<std::size_t>(rank)); };
  if (in_place && p.collective == Collective::all_gather)
    for (int r = 0; r < p.ranks; ++r) stage.write(r, {share(r), only(r)});
  if (in_place && p.collective == Collective::broadcast)
    stage.write(root, {share(root), only(root)});
  stage.play();

  Contributors everyone;
  for (std::size_t r = 0; r < n; ++r) everyone.set(r);
  for (int rank = 0; rank < p.ranks; ++rank) {
    switch (p.collective) {
      case Collective::all_reduce:
      case Collective::reduce_scatter:
        CHECK(stage.holds(rank, share(rank), everyone));
        break;
      case Collective::all_gather:
        for (int other = 0; other < p.ranks; ++other)
          CHECK(stage.holds(rank, share(other), only(other)));
        break;
      case Collective::broadcast:
        CHECK(stage.holds(rank, share(rank), only(root)));
        break;
      default:
        CHECK((rank == root ? stage.holds(rank, share(rank), everyone) : stage.is_untouched(rank)));
    }
  }
}

}  // namespace

TEST_CASE("rings, played with NCCL's slots: every rank ends with what the collective promises") {
  Dice random(4);
  for (int i = 0; i < cases(300); ++i) {
    const int nodes = static_cast<int>(random.pick(1, 9));
    const int gpus = static_cast<int>(random.pick(nodes == 1 ? 2 : 1, 8));
    const PartitionInput p =
        random_call(random, random.of(kRingCollectives), Algorithm::ring, nodes, gpus);
    CAPTURE(i);
    CAPTURE(to_text(p.collective));
    CAPTURE(to_text(p.protocol));
    CAPTURE(to_text(p.version));
    CAPTURE(nodes);
    CAPTURE(gpus);
    CAPTURE(p.count);
    check_ring(p, random_graph(random, GraphPattern::ring, gpus),
               static_cast<int>(random.pick(0, p.ranks - 1)), random.pick(0, 1) == 1);
  }
}

namespace {

std::vector<Act> tree_acts(const TreeProgram& program, const Partition& split, std::uint32_t lane,
                           std::uint32_t inputs, std::uint32_t outputs, bool reduces_up,
                           bool writes) {
  std::vector<Act> acts;
  std::int64_t offset = split.parts[lane].offset_elements;
  for (const Primitive& primitive : primitives(program, TreeProgram::role(lane, inputs, outputs))) {
    add_slices(acts, primitive, offset, split.element_bytes, reduces_up, writes);
    offset += primitive.chunk.count / split.element_bytes;
  }
  return acts;
}

void check_tree(const PartitionInput& p, const ChannelGraph& graph) {
  const Partition split = partition(p);
  const TreeProgram program(split);
  const auto n = static_cast<std::size_t>(p.ranks);
  Stage stage(p.ranks, split.shape.slices_in_flight());
  for (std::uint32_t lane = 0; lane < split.parts.size(); ++lane) {
    std::vector<std::size_t> up(n), down(n);
    std::vector<TreeLinks> links;
    for (int rank = 0; rank < p.ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      links.push_back(tree_links(graph, p.nodes, split.parts[lane].channel, rank));
      const auto children = static_cast<std::uint32_t>(3 - std::ranges::count(links[r].down, -1));
      if (links[r].up < 0) {
        up[r] = down[r] =
            stage.add_worker(rank, tree_acts(program, split, lane, children, children, true, true));
      } else {
        up[r] = stage.add_worker(rank, tree_acts(program, split, lane, children, 1, true, false));
        down[r] = stage.add_worker(rank, tree_acts(program, split, lane, 1, children, false, true));
      }
    }
    for (std::size_t r = 0; r < n; ++r) {
      for (const int below : links[r].down) {
        if (below < 0) continue;
        stage.connect(up[static_cast<std::size_t>(below)], up[r]);
        stage.connect(down[r], down[static_cast<std::size_t>(below)]);
      }
    }
  }
  stage.play();
  Contributors everyone;
  for (std::size_t r = 0; r < n; ++r) everyone.set(r);
  for (int rank = 0; rank < p.ranks; ++rank) CHECK(stage.holds(rank, {0, p.count}, everyone));
}

}  // namespace

TEST_CASE("trees, played with NCCL's slots: every rank ends with the whole reduction") {
  Dice random(5);
  constexpr std::array patterns = {GraphPattern::balanced_tree, GraphPattern::split_tree,
                                   GraphPattern::tree};
  for (int i = 0; i < cases(300); ++i) {
    const int nodes = static_cast<int>(random.pick(1, 9));
    const int gpus = static_cast<int>(random.pick(nodes == 1 ? 2 : 1, 8));
    const PartitionInput p =
        random_call(random, Collective::all_reduce, Algorithm::tree, nodes, gpus);
    CAPTURE(i);
    CAPTURE(to_text(p.protocol));
    CAPTURE(to_text(p.version));
    CAPTURE(nodes);
    CAPTURE(gpus);
    CAPTURE(p.count);
    check_tree(p, random_graph(random, random.of(patterns), gpus));
  }
}
