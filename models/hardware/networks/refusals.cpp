#include "models/hardware/networks/refusals.hpp"

#include <algorithm>
#include <string>

#include "sim/base/error.hpp"

namespace fabricast {
namespace {

constexpr Refusal kRefusals[] = {
    {Refused::sharp_off_chunk,
     "SHARP runs on the chunk rung with static routes only: a switch adds up what comes in, and "
     "flows and packets from NIC to NIC leave a switch as they came",
     "--routing static, and no --network"},
    {Refused::outage_off_chunk,
     "a link that goes down runs on the chunk rung with static routes only: switches that choose "
     "among routes leave it out, and a flow has no message to lose",
     "--routing static and no --network, or give the link a rate, like 1%"},
    {Refused::background_on_chunk,
     "background traffic needs a rung with shares: links of the chunk rung serve in order of "
     "arrival",
     "add --network flow, or packet"},
    {Refused::background_of_nic,
     "background traffic of the packet rung comes from hosts beside the switches, not from a NIC "
     "of the job",
     "use --network flow, or name links between switches"},
    {Refused::chosen_routes_in_flows,
     "adaptive routing and spraying choose ways of a dragonfly by the queues in front of them, and "
     "flows have no queues",
     "use --network packet, or --routing ecmp"},
};

}  // namespace

std::span<const Refusal> all_refusals() { return kRefusals; }

void refuse(Refused what, std::string_view name) {
  const Refusal& refusal = *std::ranges::find(kRefusals, what, &Refusal::what);
  const std::string place = name.empty() ? "" : std::string(name) + ": ";
  throw Error(place + std::string(refusal.sentence), std::string(refusal.hint));
}

}  // namespace fabricast
