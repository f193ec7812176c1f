#include "models/studies/placement/placed_job.hpp"

#include <fmt/format.h>

#include <numeric>

#include "models/studies/bench/bench.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

Members everyone(const Seats& seats, int gpus) {
  std::vector<int> local(static_cast<std::size_t>(seats.trays * gpus));
  std::iota(local.begin(), local.end(), 0);
  return {seats.nodes, std::move(local)};
}

/// NCCL sees the hosts of a domain that are the job's.
CommunicatorConfig told_of(CommunicatorConfig wanted, HostNodes& nodes, int trays) {
  wanted.description = nodes.of(trays).communicator.description;
  return wanted;
}

}  // namespace

PlacedJob::PlacedJob(const SeatPlan& plan, const Cluster& cluster, CommunicatorConfig wanted,
                     Seats seats, int trays, int gpus)
    : seats_(std::move(seats)),
      trays_(trays),
      gpus_(gpus),
      all_(everyone(seats_, gpus)),
      communicators_(cluster, told_of(std::move(wanted), plan.nodes(), seats_.trays)) {}

DecidedCall PlacedJob::decide(Collective collective, Bytes size) {
  return decide_among(all_, collective, size);
}

DecidedCall PlacedJob::decide(const std::vector<int>& ranks, Collective collective, Bytes size) {
  std::vector<int> slots;
  slots.reserve(ranks.size());
  for (const int rank : ranks)
    slots.push_back(seats_.hosts[static_cast<std::size_t>(rank / gpus_)] * gpus_ + rank % gpus_);
  return decide_among(Members::of_job(slots, trays_ * gpus_), collective, size);
}

DecidedCall PlacedJob::decide_among(const Members& members, Collective collective, Bytes size) {
  const std::int64_t count = element_count(collective, size, kPlacedElementBytes, members.ranks());
  if (count == 0)
    throw Error(fmt::format("{} of {} over {} ranks rounds down to no element", to_text(collective),
                            to_text(size), members.ranks()),
                "ask for larger --sizes");
  return communicators_.decide(members, {collective, count, kPlacedElementBytes, 0});
}

const std::vector<std::string>& PlacedJob::warnings() { return communicators_.like(all_).warnings; }

}  // namespace fabricast
