#include "models/nccl/programs/head_program.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace fabricast {
namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::uint32_t first_bits(std::uint32_t count) {
  return count == 32 ? UINT32_MAX : (1u << count) - 1;
}

}  // namespace

/// What the loops go through.
std::int64_t HeadChunks::total(const ChannelPart& part) const {
  return is_per_head_ ? part.count_elements : part.count_elements * nodes_;
}

/// Number of the loop among those of all channels that share a buffer.
std::int64_t HeadChunks::turn(const ChannelPart& part, std::uint32_t loop) const {
  if (!partition_.is_strided) return loop;
  return std::int64_t{loop} * static_cast<std::int64_t>(partition_.parts.size()) + part.channel;
}

std::uint32_t HeadChunks::loops(std::uint32_t lane) const {
  const ChannelPart& part = partition_.parts[lane];
  const std::int64_t chunks = is_per_head_ ? std::int64_t{heads_} : 1;
  const std::int64_t loops = ceil_div(total(part), chunks * part.chunk_elements);
  if (!partition_.is_strided) return static_cast<std::uint32_t>(loops);
  const auto lanes = static_cast<std::int64_t>(partition_.parts.size());
  return static_cast<std::uint32_t>(ceil_div(loops - part.channel, lanes));
}

Bytes HeadChunks::one(std::uint32_t lane, std::uint32_t loop, std::uint32_t head) const {
  const ChannelPart& part = partition_.parts[lane];
  const std::int64_t chunks = is_per_head_ ? std::int64_t{heads_} : 1;
  const std::int64_t left = total(part) - turn(part, loop) * chunks * part.chunk_elements;
  const bool is_last = left < chunks * part.chunk_elements;
  const bool is_even =
      is_last && is_per_head_ && !partition_.is_strided && part.last_loop_chunk_elements > 0;
  const std::int64_t chunk = is_even ? part.last_loop_chunk_elements : part.chunk_elements;
  const std::int64_t before = is_per_head_ ? head * chunk : 0;
  return {std::clamp<std::int64_t>(left - before, 0, chunk) * partition_.element_bytes};
}

Bytes HeadChunks::all(std::uint32_t lane, std::uint32_t loop) const {
  if (!is_per_head_) return one(lane, loop, 0);
  const ChannelPart& part = partition_.parts[lane];
  const std::int64_t full = heads_ * part.chunk_elements;
  if (total(part) >= (turn(part, loop) + 1) * full) return {full * partition_.element_bytes};
  Bytes sum;
  for (std::uint32_t head = 0; head < heads(); ++head) sum += one(lane, loop, head);
  return sum;
}

Bytes HeadChunks::of_node(std::uint32_t lane, std::uint32_t loop, int node) const {
  assert(!is_per_head_);
  const ChannelPart& part = partition_.parts[lane];
  const std::int64_t begin = turn(part, loop) * part.chunk_elements;
  const std::int64_t share = node * part.count_elements;
  const std::int64_t from = std::max(begin, share);
  const std::int64_t to = std::min(begin + part.chunk_elements, share + part.count_elements);
  return {std::max<std::int64_t>(to - from, 0) * partition_.element_bytes};
}

HeadProgram::HeadProgram(const Config& config, const Partition& partition)
    : chunks_(config.collective, config.heads, config.nodes, partition),
      share_(config.share),
      in_(first_bits(config.inputs)),
      out_(first_bits(config.outputs)) {
  assert(config.inputs <= 32 && config.outputs <= 32);
}

Bytes HeadProgram::payload(Role role, std::uint32_t loop) const {
  switch (share_) {
    case HeadShare::one_chunk:
      return chunks_.one(role.lane, loop, role.position);
    case HeadShare::all_chunks: {
      const std::int64_t parts = chunks_.is_per_head() ? chunks_.heads() : 1;
      return {ceil_div(chunks_.all(role.lane, loop).count, parts)};
    }
    case HeadShare::of_node:
      return chunks_.of_node(role.lane, loop, static_cast<int>(role.position));
  }
  return {};
}

bool HeadProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  if (cursor.major == chunks_.loops(role.lane)) return false;
  primitive.in = in_;
  primitive.out = out_;
  primitive.slices = 1;
  primitive.chunk = primitive.slice = payload(role, cursor.major);
  ++cursor.major;
  return true;
}

/// What of a loop is a node's share changes from loop to loop.
std::uint64_t HeadProgram::repeats(Role role, std::uint64_t first, std::uint64_t stride) const {
  return share_ == HeadShare::of_node ? 0 : LoopProgram::repeats(role, first, stride);
}

std::string_view HeadProgram::part(Role) const {
  if (share_ == HeadShare::all_chunks) return in_ == 0 ? "scatter" : "gather";
  if (std::popcount(in_) > 1) return "reduce";
  return std::popcount(out_) > 1 ? "bcast" : "";
}

PrimitiveLabel HeadProgram::label(Role role, Cursor cursor) const {
  return {part(role), cursor.major, 0};
}

std::uint32_t HeadTurnsProgram::steps(Role role) const {
  return chunks_.heads() - (own_of(role) < 0 ? 0 : 1);
}

bool HeadTurnsProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  if (cursor.major == chunks_.loops(role.lane) || steps(role) == 0) return false;
  const auto heads = static_cast<int>(chunks_.heads());
  const int own = own_of(role), first = first_of(role), i = static_cast<int>(cursor.minor);
  const int own_turn = own < 0 ? heads : (own - first + heads) % heads;
  const int head = (first + i + (i >= own_turn ? 1 : 0)) % heads;
  const std::uint32_t connection = 1u << (own >= 0 && head > own ? head - 1 : head);
  primitive.in = direction_ == Direction::receives ? connection : 0;
  primitive.out = direction_ == Direction::sends ? connection : 0;
  primitive.slices = 1;
  primitive.chunk = primitive.slice =
      chunks_.one(role.lane, cursor.major, static_cast<std::uint32_t>(head));
  advance(cursor, steps(role));
  return true;
}

std::string_view HeadTurnsProgram::part(Role) const {
  return direction_ == Direction::sends ? "scatter" : "gather";
}

PrimitiveLabel HeadTurnsProgram::label(Role role, Cursor cursor) const {
  return {part(role), cursor.major, cursor.minor};
}

std::uint64_t HeadTurnsProgram::slices(Role role) const {
  return std::uint64_t{chunks_.loops(role.lane)} * steps(role);
}

}  // namespace fabricast
