#pragma once
// What the fuzz targets share: libFuzzer calls LLVMFuzzerTestOneInput with any bytes; an Error is a
// proper answer to them, everything else that leaves the call is a finding.

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/base/error.hpp"

namespace fabricast::fuzz {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Whether `call` came to its end.
template <class Call>
bool runs(Call call) {
  try {
    call();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Ends the program, so that libFuzzer keeps the input.
inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace fabricast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
