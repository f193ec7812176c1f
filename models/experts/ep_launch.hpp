#pragma once
// How a dispatch or a combine is called, and what that takes beside its kernels.

#include "models/experts/expert_call.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

enum class EpLaunch : std::uint8_t {
  kernels,  ///< the kernels alone, as their own tests print them: layout and counts are known
  stream,   ///< a framework's calls on a stream, each of them of tokens newly routed
  graph,    ///< the same in a CUDA graph: nothing waits for the CPU
  one_shot  ///< such a call from idle
};
inline constexpr EnumWords<EpLaunch, 4> kEpLaunchWords{{"kernels", "stream", "graph", "one-shot"}};

/// Values and their sources are in workloads/experts.yaml and workloads/engines.yaml.
struct EpLaunchCosts {
  /// DeepEP's kernel that makes a layout of choices, which runs before a dispatch of normal
  /// kernels: by itself, and for each token of a rank.
  Duration layout, layout_token;
  Duration node;       ///< from the end of a kernel to the start of the next one
  Duration host_call;  ///< from a framework's call to its next one: Python, on an Intel Xeon 8480C
};

/// Its dispatch ends a kernel that counts, and begins one that sends when the CPU has read the
/// counts: DeepEP V1's normal kernels without num_worst_tokens (csrc/deep_ep.cpp), Hybrid-EP's
/// without non_blocking, V2's with do_cpu_sync.
constexpr bool waits_for_counts(EpMode mode) { return takes_sms(mode); }

/// Beside kernels that take so long. `idle`: from the CPU's launch to the start of a kernel on an
/// idle GPU. REQUIRES: has_own_kernels(mode).
Duration launch_time(const EpLaunchCosts& costs, EpLaunch launch, EpMode mode, EpPhase phase,
                     int tokens, Duration idle, Duration kernels);

/// Of a dispatch and the combine after it, where what the CPU issues is counted elsewhere.
/// `has_handle`: of an earlier dispatch, so that layout and counts are known, as backwards.
/// REQUIRES: as above.
Duration round_trip_launch(const EpLaunchCosts& costs, EpLaunch launch, EpMode mode, int tokens,
                           Duration idle, bool has_handle = false);

}  // namespace fabricast
