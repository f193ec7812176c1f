#pragma once
// The words of files for tuner plugins: those of NCCL's example plugin, which NCCLX took over.

#include <array>
#include <string_view>

#include "models/nccl/base/types.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

inline constexpr auto kTunerAlgorithmWords = enum_words<Algorithm>(
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat");
inline constexpr auto kTunerProtocolWords = enum_words<Protocol>("ll", "ll128", "simple");
/// The collectives that are tuned, in the order of Collective.
inline constexpr auto kTunerCollectiveWords =
    enum_words<Collective>("allreduce", "allgather", "reducescatter", "broadcast", "reduce");

}  // namespace fabricast
