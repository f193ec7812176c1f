#include "models/nccl/head_program.hpp"

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

HeadProgram::HeadProgram(const Config& config, const Partition& partition)
    : config_(config),
      partition_(partition),
      in_(first_bits(config.inputs)),
      out_(first_bits(config.outputs)) {
  assert(config.inputs <= 32 && config.outputs <= 32);
}

/// all_reduce: head h takes chunk h of the loop. all_gather and reduce_scatter: the loop is one
/// chunk of every rank's share. Strided: channels take the loops in turn.
std::int64_t HeadProgram::chunk_elements(std::uint32_t lane, std::uint32_t head,
                                         std::uint32_t loop) const {
  const ChannelPart& part = partition_.parts[lane];
  const bool per_head = config_.collective == Collective::all_reduce;
  const std::int64_t heads = per_head ? config_.heads : 1;
  const bool strided = partition_.is_strided;
  const auto lanes = static_cast<std::int64_t>(partition_.parts.size());
  const std::int64_t turn = strided ? loop * lanes + part.channel : std::int64_t{loop};
  const std::int64_t left = part.count_elements - turn * heads * part.chunk_elements;
  const bool last = left < heads * part.chunk_elements;
  const std::int64_t chunk = last && per_head && !strided && part.last_loop_chunk_elements > 0
                                 ? part.last_loop_chunk_elements
                                 : part.chunk_elements;
  return std::clamp<std::int64_t>(left - (per_head ? head * chunk : 0), 0, chunk);
}

bool HeadProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  if (cursor.major == slices(role.lane)) return false;
  std::int64_t elements = 0;
  if (config_.share == HeadShare::one_chunk || config_.collective != Collective::all_reduce) {
    elements = chunk_elements(role.lane, role.position, cursor.major);
  } else {
    for (std::uint32_t head = 0; head < config_.heads; ++head)
      elements += chunk_elements(role.lane, head, cursor.major);
    elements = ceil_div(elements, config_.heads);
  }
  primitive.in = in_;
  primitive.out = out_;
  primitive.slices = 1;
  primitive.chunk = primitive.slice = {elements * partition_.element_bytes};
  ++cursor.major;
  return true;
}

std::string_view HeadProgram::part(Role) const {
  if (config_.share == HeadShare::all_chunks) return in_ == 0 ? "scatter" : "gather";
  return std::popcount(in_) > 1 ? "reduce" : "bcast";  // a head that reduces hears several ranks
}

PrimitiveLabel HeadProgram::label(Role role, Cursor cursor) const {
  return {part(role), cursor.major, 0};
}

std::uint64_t HeadProgram::slices(std::uint32_t lane) const {
  const ChannelPart& part = partition_.parts[lane];
  const std::int64_t heads = config_.collective == Collective::all_reduce ? config_.heads : 1;
  const std::int64_t loops = ceil_div(part.count_elements, heads * part.chunk_elements);
  if (!partition_.is_strided) return static_cast<std::uint64_t>(loops);
  // The loops of the whole buffer, dealt out to the channels in turn.
  const auto lanes = static_cast<std::int64_t>(partition_.parts.size());
  return static_cast<std::uint64_t>(ceil_div(loops - part.channel, lanes));
}

}  // namespace fabricast
