#pragma once
// For runs under sanitizers, which are five to ten times slower: they look for faults of memory,
// not of figures, so that fewer cases will do.

namespace fabricast {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// So many of `wanted` random cases.
constexpr int cases(int wanted) { return kSanitized ? (wanted + 5) / 6 : wanted; }

}  // namespace fabricast
