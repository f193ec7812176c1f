#pragma once
// Views of what NCCL would choose.

#include <string>

#include "models/studies/decide/decide.hpp"

namespace fabricast {

/// For people: sizes of equal choice joined, and where one choice gives way to the next.
std::string decide_text(const DecideResult& result);
/// A stable contract: nccl, topology, nodes, collective, size_bytes, algorithm, protocol,
/// nchannels, nchannels_tuner, nthreads, chunk_bytes, predicted_us. A refused call is none, none
/// and five empty fields.
std::string decide_csv(const DecideResult& result);
/// Inputs, rows with all candidates, and where choices change; keys in docs/decide.md.
std::string decide_json(const DecideResult& result);

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
