#pragma once
// How a chunk crosses a connection: slots, steps, slices, and bytes on the wire. The facts hold
// from NCCL 2.21 to 2.30: src/include/collectives.h (steps), src/device/prims_simple.h (slices),
// src/device/prims_ll.h and prims_ll128.h (lines).

#include <cassert>
#include <cstdint>

#include "models/nccl/base/types.hpp"
#include "sim/links/wire_format.hpp"

namespace fabricast {

/// Slots ("steps") of a connection, per protocol (NCCL_STEPS, src/include/device.h).
inline constexpr int kConnectionSlots = 8;

/// Bytes of a connection's buffer, per protocol. Defaults: src/init.cc and src/include/device.h;
/// NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE and NCCL_BUFFSIZE replace them.
struct BufferSizes {
  Bytes ll{512 << 10};
  Bytes ll128{4'915'200};
  Bytes simple{4 << 20};

  constexpr Bytes of(Protocol protocol) const {
    return protocol == Protocol::ll ? ll : protocol == Protocol::ll128 ? ll128 : simple;
  }
};

/// One slot of the buffer: wire bytes, flags of LL and LL128 included.
constexpr Bytes step_size(Protocol protocol, const BufferSizes& buffers) {
  return {buffers.of(protocol).count / kConnectionSlots};
}

/// Data a slot can hold: half of it with LL, 15/16 with LL128.
constexpr Bytes step_payload(Protocol protocol, const BufferSizes& buffers) {
  const std::int64_t step = step_size(protocol, buffers).count;
  switch (protocol) {
    case Protocol::ll:
      return {step / 2};
    case Protocol::ll128:
      return {step * 15 / 16};
    case Protocol::simple:
      return {step};
  }
  return {step};
}

/// Steps a chunk and a slice take. A chunk moves in slices_per_chunk() slices; waiting, posting and
/// network messages are per slice, and counters advance by per_slice even when a slice is empty.
struct StepShape {
  int per_chunk = 1;
  int per_slice = 1;

  constexpr int slices_per_chunk() const { return per_chunk / per_slice; }
  /// Slices that fit into a connection: a sender stalls beyond.
  constexpr int slices_in_flight() const { return kConnectionSlots / per_slice; }
  constexpr bool operator==(const StepShape&) const = default;
};

constexpr StepShape step_shape(Algorithm algorithm, Collective collective, Protocol protocol) {
  const bool long_ring =
      algorithm == Algorithm::ring && protocol == Protocol::simple &&
      (collective == Collective::all_reduce || collective == Collective::all_gather ||
       collective == Collective::reduce_scatter);
  return long_ring ? StepShape{4, 2} : StepShape{1, 1};
}

/// The slices of one chunk of the Simple protocol: all have `slice` elements but those at the end,
/// which have what is left, down to nothing.
struct Slicing {
  std::int64_t chunk_elements = 0;
  std::int64_t slice_elements = 0;
  int slices = 1;

  /// Elements of slice i, 0 for an empty one. REQUIRES: 0 <= i < slices.
  constexpr std::int64_t elements(int i) const {
    assert(i >= 0 && i < slices);
    const std::int64_t left = chunk_elements - i * slice_elements;
    return left <= 0 ? 0 : left < slice_elements ? left : slice_elements;
  }
};

/// A slice is the chunk's share rounded up to 16 elements, but at least 1/32 of its slots: a ring
/// chunk of at most 32 KiB goes as one slice and one empty slice, each a message of its own.
/// `step` is step_size(): for LL and LL128, which do not slice, use one slice of the chunk.
constexpr Slicing slices_of_chunk(std::int64_t chunk_elements, int element_bytes, StepShape shape,
                                  Bytes step) {
  const int slices = shape.slices_per_chunk();
  const std::int64_t even = (chunk_elements + 16 * slices - 1) / (16 * slices) * 16;
  const std::int64_t least = step.count / element_bytes * shape.per_slice / 32;
  return {chunk_elements, even > least ? even : least, slices};
}

/// How payload becomes bytes on the wire. LL: a line of 16 bytes carries 8. LL128: a warp writes
/// 2048 bytes for 1920 of payload, and the last group of lines is written whole.
constexpr WireFormat wire_format(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return {8, 16};
    case Protocol::ll128:
      return {1920, 2048};
    case Protocol::simple:
      return {1, 1};
  }
  return {};
}

}  // namespace fabricast
