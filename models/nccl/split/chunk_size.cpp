// How large chunks are: src/enqueue.cc of NCCL, 2.21.5 to 2.30.7.

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "models/nccl/split/partition.hpp"

namespace fabricast {
namespace {

/// Chunks that the busiest channel (or head on a channel) moves, rounded down.
std::int64_t chunks(const ChunkInput& input, std::int64_t parts, std::int64_t chunk) {
  return input.size.count / (input.channels * parts * chunk);
}

std::int64_t tree_ll128_chunk(const ChunkInput& input, std::int64_t chunk) {
  const float ranks_per_node = static_cast<float>(input.ranks) / static_cast<float>(input.nodes);
  const int log2_nodes = static_cast<int>(std::bit_width(static_cast<unsigned>(input.nodes))) - 1;
  // The depth of the tree, with a tenth of a step per rank of the chain inside a node.
  const float steps = static_cast<float>(1 + log2_nodes + 0.1 * ranks_per_node);
  const auto is_few = [&](float factor) {
    return static_cast<float>(chunks(input, 1, chunk)) < steps * factor / ranks_per_node;
  };
  while (is_few(64) && chunk > 131'072) chunk /= 2;
  while (is_few(16) && chunk > 32'768) chunk /= 2;
  return chunk;
}

/// Halves the chunk while it is larger than a limit and there are fewer than so many.
struct Limit {
  std::int64_t chunks = 0, bytes = 0;
};
std::int64_t halved(const ChunkInput& input, std::int64_t parts, std::int64_t chunk,
                    std::initializer_list<Limit> limits) {
  for (const Limit& limit : limits) {
    while (chunks(input, parts, chunk) < limit.chunks && chunk > limit.bytes) chunk /= 2;
  }
  return chunk;
}

/// Up to 2.19 trees have smaller chunks the deeper they are.
std::int64_t tree_chunk_2_19(const ChunkInput& input, std::int64_t chunk) {
  const int log2_nodes = static_cast<int>(std::bit_width(static_cast<unsigned>(input.nodes))) - 1;
  const std::int64_t depth = input.ranks / input.nodes - 1 + log2_nodes;
  return halved(input, 1, chunk, {{8 * depth, 131'072}, {4 * depth, 65'536}, {depth, 32'768}});
}

/// Up to 2.19 flags are taken off the slots last.
std::int64_t tree_chunk(const ChunkInput& input, std::int64_t slots, std::int64_t chunk) {
  const bool is_old = input.version < kNccl2_20;
  if (input.protocol == Protocol::ll) return chunk;
  if (input.protocol == Protocol::simple) return is_old ? tree_chunk_2_19(input, chunk) : chunk;
  return is_old ? tree_ll128_chunk(input, slots) / 16 * 15 : tree_ll128_chunk(input, chunk);
}

std::int64_t collnet_direct_chunk(const ChunkInput& input, std::int64_t chunk) {
  const std::int64_t depth = input.ranks == input.nodes ? 1 : 2;
  return halved(input, input.heads.heads, chunk,
                {{depth * 64, 131'072}, {depth * 8, 65'536}, {depth * 8, 32'768}});
}

std::int64_t collnet_chain_chunk(const ChunkInput& input, std::int64_t chunk) {
  const std::int64_t depth = input.ranks / input.nodes;
  return halved(input, 1, std::min<std::int64_t>(262'144, chunk),
                {{depth * 64, 131'072}, {depth * 8, 65'536}, {depth, 32'768}});
}

/// Takes the smaller chunk when all heads together would move fewer than so many of the larger.
std::int64_t stepped(const ChunkInput& input, std::int64_t chunk,
                     std::initializer_list<Limit> limits) {
  const std::int64_t concurrent = std::int64_t{input.channels} * input.heads.heads;
  for (const Limit& limit : limits) {
    if (input.size.count < limit.chunks * concurrent * chunk && chunk > limit.bytes)
      chunk = limit.bytes;
  }
  return chunk;
}

std::int64_t pat_chunk(const ChunkInput& input, std::int64_t chunk) {
  const std::int64_t least = input.collective == Collective::all_gather ? 32 : 16;
  while (chunk * input.channels * least > input.size.count && chunk > 65'536) chunk /= 2;
  return chunk;
}

}  // namespace

Bytes chunk_size(const ChunkInput& input) {
  const StepShape shape = step_shape(input.algorithm, input.collective, input.protocol);
  // The slots' bytes first, then the share of data in them: NCCL's order of truncation.
  const std::int64_t slots = step_size(input.protocol, input.buffers).count * shape.per_chunk;
  const std::int64_t chunk = input.protocol == Protocol::ll      ? slots / 2
                             : input.protocol == Protocol::ll128 ? slots / 16 * 15
                                                                 : slots;
  const HeadRules& heads = input.heads;
  switch (input.algorithm) {
    case Algorithm::ring:
      return {chunk};
    case Algorithm::tree:
      return {tree_chunk(input, slots, chunk)};
    case Algorithm::collnet_direct:
      return {collnet_direct_chunk(input, chunk)};
    case Algorithm::collnet_chain:
      return {collnet_chain_chunk(input, chunk)};
    case Algorithm::nvls:
      return {stepped(input, std::min(chunk, heads.nvls_chunk.count),
                      {{64, 65'536}, {8, 32'768}, {2, 16'384}})};
    case Algorithm::nvls_tree:
      return {stepped(input,
                      input.version < kNccl2_21
                          ? heads.nvls_tree_chunk_max.count
                          : std::min(heads.nvls_chunk.count, heads.nvls_tree_chunk_max.count),
                      {{32, 262'144}, {16, 131'072}, {4, 65'536}, {1, 32'768}})};
    case Algorithm::pat:
      return {pat_chunk(input, chunk)};
  }
  return {chunk};
}

}  // namespace fabricast
