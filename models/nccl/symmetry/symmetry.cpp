#include "models/nccl/symmetry/symmetry.hpp"

#include <algorithm>

namespace fabricast {
namespace {

bool has_trees(const CollectiveRun& run) {
  return run.algorithm == Algorithm::tree || run.algorithm == Algorithm::nvls_tree;
}

/// Takes the move, or notes why there is none.
void add(Symmetry& to, FoundMove found) {
  if (found.move.copies > 1) to.moves.push_back(std::move(found.move));
  if (!found.why_not.empty() && !to.why_not.ends_with(found.why_not))
    to.why_not += (to.why_not.empty() ? "" : "; ") + found.why_not;
}

/// What no move is looked for in.
std::string against_moves(const CollectiveRun& run, const Members& members) {
  if (run.custom) return "ranks of a custom algorithm are unlike";
  if (!run.transport.network.fused.empty())
    return "messages are split over NICs that NCCL takes for one";
  return members.is_split() ? "hosts fall apart into groups of GPUs" : "";
}

}  // namespace

Symmetry::Symmetry(const Members& members, const Partition& partition)
    : lanes(all_lanes(partition)), nodes_(members.node_count()) {}

int Symmetry::copies() const {
  int out = 1;
  for (const Move& move : moves) out *= move.copies;
  return out;
}

BlockPlace Symmetry::representative(BlockPlace place) const {
  for (const Move& move : moves) place = move.representative(place);
  return {lanes.like[place.lane], place.rank};
}

int Symmetry::representative(int rank) const {
  for (const Move& move : moves) rank = move.representative(rank);
  return rank;
}

LinkId Symmetry::representative(const Cluster& cluster, LinkId link) const {
  for (const Move& move : moves) link = move.representative(cluster, link);
  return link;
}

int Symmetry::copies_of(const Cluster& cluster, LinkId link) const {
  int out = 1;
  for (const Move& move : moves) out *= move.copies_of(cluster, link);
  return out;
}

void Symmetry::list_alike(BlockPlace place, std::vector<BlockPlace>& out) const {
  out.assign(1, place);
  for (const Move& move : moves) {
    const std::size_t so_far = out.size();
    for (std::size_t i = 0; i + so_far < so_far * static_cast<std::size_t>(move.copies); ++i)
      out.push_back(move.moved(out[i]));
  }
}

int Symmetry::nodes() const {
  int out = nodes_;
  for (const Move& move : moves) out = std::min(out, move.nodes_left());
  return out;
}

int Symmetry::rails() const {
  int out = 1;
  for (const Move& move : moves) out *= move.gpu.empty() ? 1 : move.copies;
  return out;
}

bool Symmetry::is_aside(const Cluster& cluster, LinkId link) const {
  return std::ranges::any_of(moves, [&](const Move& move) { return move.is_aside(cluster, link); });
}

Symmetry find_symmetry(const Cluster& cluster, const CollectiveRun& run) {
  const Members members = members_of(run, cluster.nodes());
  return find_symmetry(cluster, run,
                       run.has_algorithm() ? partition_of(run, members) : Partition{});
}

Symmetry find_symmetry(const Cluster& cluster, const CollectiveRun& run,
                       const Partition& partition) {
  const Members members = members_of(run, cluster.nodes());
  Symmetry out(members, partition);
  out.why_not = against_moves(run, members);
  if (!out.why_not.empty()) return out;
  const MovedCall call{&run, &partition};
  FoundMove shift = find_shift(cluster, {&call, 1});
  if (!is_tuned(run.collective)) {
    add(out, {find_turn(cluster, run, members, partition).move, ""});
    add(out, std::move(shift));
    return out;
  }
  const bool nvls = is_nvls(run.algorithm);
  if (has_trees(run) || (nvls && members.node_count() == 1)) {
    const FoundMove turn = find_turn(cluster, run, members, partition);
    FoundMove mirror;
    if (has_trees(run)) mirror = find_mirror(cluster, run, members, partition, turn.move);
    if (mirror.move.copies > 1) shift.why_not = "nodes of a binary tree have one image each";
    out.why_not = shift.why_not;
    // Reasons are told in this order, and copies counted in the other.
    if (has_trees(run)) {
      add(out, {Move{}, mirror.why_not});
      add(out, {Move{}, turn.why_not});
    }
    add(out, {turn.move, ""});
    add(out, {mirror.move, ""});
  } else {
    add(out, std::move(shift));
  }
  out.lanes = nvls ? find_lanes(run, members, partition) : all_lanes(partition);
  out.merges_gpus = nvls && run.faults.outages.empty();
  return out;
}

}  // namespace fabricast
