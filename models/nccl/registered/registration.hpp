#pragma once
// Registered buffers: what nccl-tests' -R asks for, and what NCCL makes of it. docs/registered.md.

#include <cstdint>
#include <string>

#include "models/nccl/base/types.hpp"
#include "models/nccl/registered/symmetric_kernel.hpp"
#include "sim/base/units.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// nccl-tests' -R.
enum class Registration : std::uint8_t {
  none,    ///< 0: plain cudaMalloc
  local,   ///< 1: ncclMemAlloc and ncclCommRegister (NCCL 2.19+)
  windows  ///< 2: ncclMemAlloc and ncclCommWindowRegister, symmetric (2.27+)
};
inline constexpr auto kRegistrationWords = enum_words<Registration>("0", "1", "2");

/// The first release that nccl-tests can be built with for it (nccl-tests, src/common.cu).
NcclVersion first_release(Registration registration);

/// How the bytes of a call move.
enum class RegisteredPath : std::uint8_t {
  copied,      ///< through NCCL's own buffers, as with -R 0
  nvls,        ///< NVLS on the users' buffers: NVSwitches read and write them, nothing is copied
  direct,      ///< peers of a node read or write the users' buffers; the algorithm stays
  network,     ///< NICs do
  symmetric,   ///< a symmetric kernel
  copy_engine  ///< copies of the driver, without a kernel
};
inline constexpr auto kRegisteredPathWords =
    enum_words<RegisteredPath>("copied", "nvls", "direct", "network", "symmetric", "copy-engine");

struct RegisteredChoice {
  RegisteredPath path = RegisteredPath::copied;
  SymmetricKernel kernel{};  ///< of path symmetric
  int blocks = 0;            ///< thread blocks of paths nvls and symmetric
  double nccl_us = 0;        ///< what NCCL's own cost model says; 0: it was not asked
  std::string why;           ///< why this one; of path copied: which condition fails. No full stop
  std::string untimed;       ///< what keeps its time from being predicted; empty: nothing

  /// It takes another time than NCCL's plain call: simulate_registered(), or, of several nodes,
  /// that call in_place() on so many channels.
  bool replaces() const {
    return path == RegisteredPath::nvls || path == RegisteredPath::symmetric ||
           path == RegisteredPath::copy_engine;
  }
};

}  // namespace fabricast
