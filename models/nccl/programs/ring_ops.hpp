#pragma once
// What a rank does on a ring: for each loop of a channel's part, a fixed list of primitives. Pure
// functions, inline and free of division: the executor calls them once per primitive.
// Facts: src/device/{all_reduce,all_gather,reduce_scatter,broadcast,reduce}.h, runRing, the same
// from NCCL 2.21 to 2.30 as long as no user buffers are registered.

#include <cassert>
#include <cstdint>

#include "models/nccl/base/types.hpp"

namespace fabricast {

/// A step of a thread block on one chunk: wait for a chunk, reduce it with the own data, write it
/// to the output, send it on. Named by what they do; NCCL's names in camel case.
enum class PrimitiveKind : std::uint8_t {
  send,
  copy_send,  ///< sends the input and writes it to the output too
  recv,
  recv_copy_send,
  recv_reduce_send,
  recv_reduce_copy,
  recv_reduce_copy_send
};
inline constexpr int kPrimitiveKinds = 7;

constexpr bool receives(PrimitiveKind kind) {
  return kind != PrimitiveKind::send && kind != PrimitiveKind::copy_send;
}
constexpr bool sends(PrimitiveKind kind) {
  return kind != PrimitiveKind::recv && kind != PrimitiveKind::recv_reduce_copy;
}
constexpr bool reduces(PrimitiveKind kind) {
  return kind == PrimitiveKind::recv_reduce_send || kind == PrimitiveKind::recv_reduce_copy ||
         kind == PrimitiveKind::recv_reduce_copy_send;
}
/// NCCL's name: "recvReduceSend".
std::string_view to_text(PrimitiveKind kind);

/// One primitive and the chunk it works on. all_reduce: chunk c of the loop, 0 <= c < ranks.
/// all_gather and reduce_scatter: the ring index of the rank whose data it is. broadcast, reduce:
/// 0.
struct RingOp {
  PrimitiveKind kind{};
  std::uint32_t chunk = 0;

  constexpr bool operator==(const RingOp&) const = default;
};

/// Primitives per loop, of each rank. REQUIRES: ranks >= 2 and a tuned collective.
constexpr std::uint32_t ring_ops_per_loop(Collective collective, std::uint32_t ranks) {
  assert(ranks >= 2 && is_tuned(collective));
  switch (collective) {
    case Collective::all_reduce:
      return 2 * ranks - 1;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return ranks;
    default:
      return 1;
  }
}

/// Chunks a rank sends per loop: the slots it uses, in chunks. A broadcast or reduce has one rank
/// that sends none.
constexpr std::uint32_t ring_sends_per_loop(Collective collective, std::uint32_t ranks) {
  const std::uint32_t ops = ring_ops_per_loop(collective, ranks);
  return ops == 1 ? 1 : ops - 1;
}

namespace detail {

/// x mod ranks. REQUIRES: x < 3 * ranks.
constexpr std::uint32_t wrapped(std::uint32_t x, std::uint32_t ranks) {
  if (x >= ranks) x -= ranks;
  if (x >= ranks) x -= ranks;
  return x;
}

constexpr RingOp all_reduce_op(std::uint32_t index, std::uint32_t ranks, std::uint32_t op) {
  // Every primitive works one chunk further back than the one before, starting at index - 1.
  const std::uint32_t chunk = wrapped(index + 2 * ranks - 1 - op, ranks);
  if (op == 0) return {PrimitiveKind::send, chunk};
  if (op < ranks - 1) return {PrimitiveKind::recv_reduce_send, chunk};
  if (op == ranks - 1) return {PrimitiveKind::recv_reduce_copy_send, chunk};
  if (op < 2 * ranks - 2) return {PrimitiveKind::recv_copy_send, chunk};
  return {PrimitiveKind::recv, chunk};
}

constexpr RingOp all_gather_op(std::uint32_t index, std::uint32_t ranks, std::uint32_t op,
                               bool in_place) {
  const std::uint32_t chunk = wrapped(index + ranks - op, ranks);
  if (op == 0) return {in_place ? PrimitiveKind::send : PrimitiveKind::copy_send, chunk};
  return {op < ranks - 1 ? PrimitiveKind::recv_copy_send : PrimitiveKind::recv, chunk};
}

constexpr RingOp reduce_scatter_op(std::uint32_t index, std::uint32_t ranks, std::uint32_t op) {
  const std::uint32_t chunk = wrapped(index + ranks - 1 - op, ranks);
  if (op == 0) return {PrimitiveKind::send, chunk};
  return {op < ranks - 1 ? PrimitiveKind::recv_reduce_send : PrimitiveKind::recv_reduce_copy,
          chunk};
}

}  // namespace detail

/// Primitive number `op_in_loop` of the rank at `ring_index`. A ring index is the distance from
/// rank 0 along the channel's ring (src/init.cc sets it so); each channel has its own ring.
/// `root_index` (broadcast, reduce): the root's ring index. `in_place`: input and output coincide,
/// so that the first primitive of all_gather and of broadcast's root needs no copy. REQUIRES:
/// ring_index, root_index < ranks; ranks >= 2; op_in_loop < ring_ops_per_loop().
constexpr RingOp ring_op(Collective collective, std::uint32_t ring_index, std::uint32_t ranks,
                         std::uint32_t op_in_loop, std::uint32_t root_index = 0,
                         bool in_place = false) {
  assert(ring_index < ranks && root_index < ranks);
  assert(op_in_loop < ring_ops_per_loop(collective, ranks));
  // How far down the ring from the root this rank sits.
  const std::uint32_t from_root =
      ring_index >= root_index ? ring_index - root_index : ring_index + ranks - root_index;
  switch (collective) {
    case Collective::all_reduce:
      return detail::all_reduce_op(ring_index, ranks, op_in_loop);
    case Collective::all_gather:
      return detail::all_gather_op(ring_index, ranks, op_in_loop, in_place);
    case Collective::reduce_scatter:
      return detail::reduce_scatter_op(ring_index, ranks, op_in_loop);
    case Collective::broadcast:
      if (from_root == 0) return {in_place ? PrimitiveKind::send : PrimitiveKind::copy_send, 0};
      return {from_root == ranks - 1 ? PrimitiveKind::recv : PrimitiveKind::recv_copy_send, 0};
    case Collective::reduce:
      if (from_root == 0) return {PrimitiveKind::recv_reduce_copy, 0};
      return {from_root == 1 ? PrimitiveKind::send : PrimitiveKind::recv_reduce_send, 0};
    default:
      break;
  }
  assert(false && "a group of sends and receives does not run on rings");
  return {};
}

}  // namespace fabricast
