// Any bytes as the trace of a rank, beside the same trace of another rank: an error, or figures.

#include <cmath>

#include "input.hpp"
#include "models/io/traces/rank_trace.hpp"
#include "models/studies/skew/align_clocks.hpp"
#include "models/studies/skew/match_calls.hpp"

using namespace fabricast;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::runs([&] {
    RankTrace one = parse_rank_trace(text, "rank0.json");
    for (std::size_t i = 1; i < one.compute.size(); ++i)
      fuzz::require(one.compute[i].start_ns > one.compute[i - 1].end_ns);
    RankTrace other = one;
    for (RankCollective& call : other.collectives) call.end_ns += 7;
    std::vector<CommonEnd> ends;
    for (const RankCollective& call : one.collectives) {
      ends.push_back({{0, call.end_ns}, {1, call.end_ns + 7}});
      ranks_of_group(call.ranks, call.group_size);
    }
    match_calls({one, other});
    for (const RankClock& clock : align_clocks(2, ends).ranks)
      fuzz::require(std::isfinite(clock.offset_ns) && std::isfinite(clock.drift));
  });
  return 0;
}
