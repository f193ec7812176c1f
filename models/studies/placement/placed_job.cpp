#include "models/studies/placement/placed_job.hpp"

#include <fmt/format.h>

#include <numeric>

#include "models/studies/bench/bench.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

Members everyone(const std::vector<int>& seats, int gpus) {
  std::vector<int> local(static_cast<std::size_t>(gpus));
  std::iota(local.begin(), local.end(), 0);
  return {seats, std::move(local)};
}

}  // namespace

PlacedJob::PlacedJob(const Cluster& cluster, const CommunicatorConfig& wanted,
                     std::vector<int> seats, int gpus)
    : seats_(std::move(seats)),
      gpus_(gpus),
      all_(everyone(seats_, gpus)),
      communicators_(cluster, wanted) {}

DecidedCall PlacedJob::decide(Collective collective, Bytes size) {
  return decide_among(all_, collective, size);
}

DecidedCall PlacedJob::decide(const std::vector<int>& ranks, Collective collective, Bytes size) {
  std::vector<int> slots;
  slots.reserve(ranks.size());
  for (const int rank : ranks)
    slots.push_back(seats_[static_cast<std::size_t>(rank / gpus_)] * gpus_ + rank % gpus_);
  return decide_among(Members::of_job(slots, gpus_), collective, size);
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
