#pragma once
// Views of what NCCL would choose.

#include <string>

#include "models/io/report/report.hpp"
#include "models/studies/decide/decide.hpp"

namespace fabricast {

/// For people: sizes of equal choice joined, and where one choice gives way to the next.
std::string decide_text(const DecideResult& result);
/// Tables: rows, which is what CSV shows, candidates of each row, and segments.
Report decide_report(const DecideResult& result);

/// "17.6 KiB", "2 MiB": binary units, one decimal where it is not whole.
std::string chunk_text(Bytes size);
/// "Tree LL128", or "none".
std::string choice_text(std::optional<Algorithm> algorithm, Protocol protocol);
/// "all_reduce on 2 x dgx-h100 (16 ranks), NCCL 2.27.7, float32", with what is set.
std::string decide_head(const DecideResult& result, const DecideBlock& block,
                        Collective collective);
/// The rows of a collective, ascending by size.
std::vector<const DecideRow*> rows_of(const DecideBlock& block, Collective collective);

}  // namespace fabricast
