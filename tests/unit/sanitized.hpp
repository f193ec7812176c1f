#pragma once
// For runs under sanitizers, which are five to ten times slower: they look for faults of memory,
// not of figures, so that fewer cases will do.

#include <doctest/doctest.h>

namespace fabricast {

inline constexpr bool kSanitized = FABRICAST_SANITIZED;  // by tests/CMakeLists.txt

/// Decorates a test of figures that takes 10 s to minutes there, and whose code others run too: the
/// build without sanitizers runs it (unit-whole).
inline doctest::skip minutes_under_sanitizers() { return doctest::skip(kSanitized); }

/// So many of `wanted` random cases.
constexpr int cases(int wanted) { return kSanitized ? (wanted + 9) / 10 : wanted; }

}  // namespace fabricast
