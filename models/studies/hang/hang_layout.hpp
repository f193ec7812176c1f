#pragma once
// Traces of calls made from a layout: the collectives of one training step, rank by rank in the
// order in which the step issues them, and a fault put into them.

#include <string>
#include <string_view>
#include <vector>

#include "models/studies/hang/hang.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast {

/// What one rank does otherwise than all others.
struct HangFault {
  enum class Kind : std::uint8_t {
    dead,         ///< makes no call from this one on
    skips,        ///< leaves this call out: a branch that not all ranks take
    interleaves,  ///< gathers a unit before it scatters the one before, or the other way round
    reorders      ///< takes two communicators in the other order
  };
  Kind kind{};
  int rank = 0, call = 1;  ///< the first call, from 1, that it can be about
  std::string text;        ///< as written
};
/// "rank 5 dead at call 12", "rank 5 skips call 12", "rank 5 interleaves at call 12", "rank 5
/// reorders at call 12". Throws Error.
HangFault parse_hang_fault(std::string_view text);

/// The calls of one step. `at_s` is from the predicted step. REQUIRES: result.config.trace.
/// Throws Error where there are too many.
std::vector<RankCall> calls_of(const StepResult& result);
/// Throws Error where the rank has no such call.
void inject(const HangFault& fault, std::vector<RankCall>& calls);
/// JSON lines, as parse_call_trace() reads them: call n stands in line n.
std::string call_trace_text(const std::vector<RankCall>& calls);

/// The calls of one step of a layout file.
struct CallsOfLayout {
  std::string step;  ///< "one step of TITLE: TP 8, ..."
  std::vector<RankCall> calls;
  std::vector<std::string> notes;  ///< what the calls leave open
};
/// With the fault in them, if there is one. Throws Error.
CallsOfLayout calls_of_layout(const std::string& layout, const HangFault* fault,
                              const PartsCatalogue& parts);
/// With the notes of the calls.
HangResult find_hang(const CallsOfLayout& made);

/// Whether the hang came about as `expect` says.
bool is_as_expected(const HangResult& result, const std::string& expect);

}  // namespace fabricast
