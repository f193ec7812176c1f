#pragma once
// Who ends with whose data in a schedule with heads.

#include <map>

#include "models/nccl/programs/head_program.hpp"
#include "models/nccl/schedules/assembly.hpp"
#include "tests/unit/nccl/programs/token_machine.hpp"

namespace fabricast::testing {

/// An all_reduce whose workers without inputs bring in their rank's data, run to its end: every
/// gatherer gets every loop of every part, and in each slice, which joins the chunks of all heads,
/// everybody once per head. REQUIRES: several heads.
inline void check_all_gathered(TokenMachine& machine, const Assembly& assembly,
                               std::uint32_t heads) {
  std::map<std::uint32_t, int> rank_of;
  for (int rank = 0; rank < assembly.ranks(); ++rank) {
    for (const std::uint32_t worker : assembly.workers(rank)) rank_of[worker] = rank;
  }
  const auto own = [&](std::uint32_t worker) -> Contributions {
    if (machine.has_inputs(worker)) return {};
    return {{rank_of.at(worker), 1}};
  };
  const int times_each = static_cast<int>(heads);
  std::map<int, std::uint64_t> gathered;
  bool all_right = true;
  const int stuck = machine.run(own, [&](std::uint32_t worker, const Contributions& what, Bytes) {
    const auto rank = rank_of.find(worker);
    if (rank == rank_of.end() || what.empty() || what.begin()->second != times_each) return;
    gathered[rank->second] += 1;
    all_right = all_right && what.size() == static_cast<std::size_t>(assembly.ranks());
    for (const auto& [who, times] : what) all_right = all_right && times == times_each;
  });
  CHECK(stuck == 0);
  CHECK(all_right);
  const HeadProgram program({assembly.run().collective, HeadShare::one_chunk, heads, 1, 1},
                            assembly.partition());
  std::uint64_t loops = 0;
  for (std::uint32_t lane = 0; lane < assembly.partition().parts.size(); ++lane)
    loops += program.slices(lane);
  for (int rank = 0; rank < assembly.ranks(); ++rank) CHECK(gathered[rank] == loops);
}

}  // namespace fabricast::testing
