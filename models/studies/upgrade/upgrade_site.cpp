#include "models/nccl/run/period.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/upgrade/upgrade_parts.hpp"

namespace fabricast {

UpgradeSite::UpgradeSite(const Job& job, int nodes, const PartsCatalogue& parts)
    : parts_(parts), site_(load_site(job, nodes, parts)), communicator_(site_.make()) {}

double UpgradeSite::time_us(Collective collective, Bytes size) const {
  const CallKey decided = key(collective, size);
  if (!decided.algorithm) return 0;
  const std::int64_t count = element_count(collective, size, kCallElementBytes, ranks());
  return time_us(decide_call(communicator_, {collective, count, kCallElementBytes, 0}));
}

double UpgradeSite::time_us(Collective collective, Bytes size, Algorithm algorithm,
                            Protocol protocol) const {
  const std::int64_t count = element_count(collective, size, kCallElementBytes, ranks());
  const Bytes message = message_size(collective, count, kCallElementBytes, ranks());
  for (const Candidate& one : decide(communicator_.model, collective, message).candidates) {
    if (one.algorithm != algorithm || one.protocol != protocol) continue;
    if (!one.excluded.empty()) return 0;
    return time_us(decided_as(communicator_, {collective, count, kCallElementBytes, 0}, one));
  }
  return 0;
}

CallKey UpgradeSite::key(Collective collective, Bytes size) const {
  return call_key(communicator_.model, collective,
                  element_count(collective, size, kCallElementBytes, ranks()));
}

double UpgradeSite::time_us(const DecidedCall& call) const {
  return microseconds_of(time_in_a_row(site_.cluster, parts_.software, call.run));
}

}  // namespace fabricast
