#pragma once
// A hash over a run: equal runs have equal digests, whatever the compiler.

#include <cstdint>

namespace fabricast {

/// Folds one more value in. Start with 0xcbf29ce484222325.
constexpr void mix_digest(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  hash ^= hash >> 29;
}

}  // namespace fabricast
