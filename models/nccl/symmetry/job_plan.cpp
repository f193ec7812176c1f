#include "models/nccl/symmetry/job_plan.hpp"

#include <algorithm>

namespace fabricast {
namespace {

/// The parts of each call of a group.
std::vector<Partition> by_call(const Partition& all) {
  std::vector<Partition> out;
  for (const ChannelPart& part : all.parts) {
    if (out.empty() || out.back().parts.front().call != part.call)
      out.push_back({all.element_bytes, all.shape, {}, all.is_strided});
    out.back().parts.push_back(part);
  }
  return out;
}

Kernel kernel_of(const CollectiveRun& run, const Members& members) {
  Kernel out;
  out.by_channel = run.custom == nullptr;
  if (!run.has_algorithm()) {
    out.works.push_back({&run, {}, {}});
    return out;
  }
  const Partition whole = partition_of(run, members);
  const std::size_t copies =
      run.custom == nullptr ? 1 : static_cast<std::size_t>(run.calls);  // each as the first
  for (std::size_t i = 0; i < copies; ++i)
    for (Partition& part : by_call(whole)) out.works.push_back({&run, std::move(part), {}});
  return out;
}

std::vector<QueuedWork*> all_works(JobPlan& plan) {
  std::vector<QueuedWork*> out;
  for (StreamPlan& stream : plan.streams)
    for (Kernel& kernel : stream.kernels)
      for (QueuedWork& work : kernel.works) out.push_back(&work);
  return out;
}

bool have_equal_members(const JobPlan& plan) {
  return std::ranges::all_of(plan.streams, [&](const StreamPlan& stream) {
    return stream.members == plan.streams.front().members;
  });
}
bool have_equal_nodes(const JobPlan& plan) {
  return std::ranges::all_of(plan.streams, [&](const StreamPlan& stream) {
    return stream.members.nodes() == plan.streams.front().members.nodes();
  });
}

/// Whether both put the same nodes, rails and links for each other.
bool have_like_moves(const Symmetry& a, const Symmetry& b) {
  return std::ranges::equal(a.moves, b.moves,
                            [](const Move& x, const Move& y) { return x.is_like(y); });
}

/// Works that wait for each other: channels of a kernel stand for others only if they do so in all
/// of its works, and GPUs of a node start alike only if each of them does as the others do.
void keep_apart(const StreamPlan& stream, QueuedWork& work, bool is_grouped) {
  if (work.symmetry.rails() != stream.members.gpus_per_node()) work.symmetry.merges_gpus = false;
  if (is_grouped) work.symmetry.lanes = all_lanes(work.partition);
}

void keep_apart(const Stream& stream, StreamPlan& plan) {
  for (Kernel& kernel : plan.kernels) {
    const bool is_grouped = kernel.works.size() > 1;
    if (!is_grouped && plan.kernels.size() == 1 && stream.rounds == 1) continue;
    for (QueuedWork& work : kernel.works) keep_apart(plan, work, is_grouped);
  }
}

/// Leaves each work what its channels have, and all of them a move by whole nodes, if there is one
/// that all have. Returns what stands against more.
std::string shift_together(const Cluster& cluster, JobPlan& plan) {
  std::vector<MovedCall> calls;
  std::string against = have_equal_nodes(plan) ? "" : "communicators run on different nodes";
  for (const QueuedWork* work : all_works(plan)) {
    calls.push_back({work->run, &work->partition});
    const bool is_odd = work->run->custom || !work->run->transport.network.fused.empty() ||
                        work->run->members.is_split();
    if (against.empty() && is_odd) against = work->symmetry.why_not;
  }
  Move shift;
  if (against.empty()) {
    FoundMove found = find_shift(cluster, calls);
    shift = std::move(found.move);
    against = std::move(found.why_not);
  }
  for (StreamPlan& stream : plan.streams) {
    for (Kernel& kernel : stream.kernels) {
      for (QueuedWork& work : kernel.works) {
        work.symmetry.moves.clear();
        shift.gpus = stream.members.gpus_per_node();
        if (shift.copies > 1) work.symmetry.moves = {shift};
      }
    }
  }
  return against;
}

}  // namespace

const Symmetry* JobPlan::symmetry() const {
  for (const StreamPlan& stream : streams)
    if (!stream.kernels.empty()) return &stream.kernels.front().works.front().symmetry;
  return nullptr;
}

void keep_apart(std::span<const Stream> streams, JobPlan& plan) {
  for (std::size_t i = 0; i < streams.size(); ++i) keep_apart(streams[i], plan.streams[i]);
}

JobPlan plan_job(const Cluster& cluster, std::span<const Stream> streams) {
  JobPlan out;
  for (const Stream& stream : streams) {
    StreamPlan& plan = out.streams.emplace_back();
    plan.members = members_of(stream.runs.front(), cluster.nodes());
    if (plan.members.ranks() == 1) continue;
    for (const CollectiveRun& run : stream.runs)
      plan.kernels.push_back(kernel_of(run, plan.members));
  }
  const std::vector<QueuedWork*> works = all_works(out);
  if (works.empty()) return out;
  for (QueuedWork* work : works)
    work->symmetry = find_symmetry(cluster, *work->run, work->partition);
  const Symmetry& first = works.front()->symmetry;
  out.why_not = first.why_not;
  const bool is_alike = std::ranges::all_of(
      works, [&](const QueuedWork* work) { return have_like_moves(first, work->symmetry); });
  const bool is_by_nodes = std::ranges::all_of(
      first.moves, [](const Move& move) { return move.gpu.empty() && !move.reverses; });
  const bool fits = is_by_nodes ? have_equal_nodes(out) : have_equal_members(out);
  if (!is_alike || (first.copies() > 1 && !fits)) out.why_not = shift_together(cluster, out);
  keep_apart(streams, out);
  return out;
}

JobPlan plan_job(const Cluster& cluster, const Stream& stream, const Symmetry& symmetry) {
  const Members members = members_of(stream.runs.front(), cluster.nodes());
  JobPlan out;
  out.streams.push_back({members, {}});
  out.why_not = symmetry.why_not;
  if (members.ranks() == 1) return out;
  out.streams.front().kernels.push_back(kernel_of(stream.runs.front(), members));
  std::vector<QueuedWork>& works = out.streams.front().kernels.front().works;
  if (works.size() > 1) return plan_job(cluster, std::span(&stream, 1));
  works.front().symmetry = symmetry;
  keep_apart(stream, out.streams.front());
  return out;
}

}  // namespace fabricast
