#include "models/nccl/ring_program.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {

namespace {

/// LL and LL128 do not slice: the chunk is one slice.
Bytes slice_size(const RingProgram::Config& config, std::int64_t elements) {
  if (config.protocol != Protocol::simple) return {elements * config.element_bytes};
  return {slices_of_chunk(elements, config.element_bytes, config.shape, config.step).slice_elements *
          config.element_bytes};
}

}  // namespace

RingProgram::RingProgram(const Config& config, const std::vector<RingPart>& parts)
    : config_(config), ops_per_loop_(ring_ops_per_loop(config.collective, config.ranks)) {
  const bool splits_loop = config.collective == Collective::all_reduce;
  const std::int64_t chunks_per_loop = splits_loop ? config.ranks : 1;
  for (const RingPart& part : parts) {
    assert(part.count > 0 && part.chunk > 0);
    const std::int64_t loop = part.chunk * chunks_per_loop;
    Lane lane;
    lane.loops = static_cast<std::uint32_t>((part.count + loop - 1) / loop);
    lane.chunk = part.chunk;
    lane.last_count = part.count - (lane.loops - 1) * loop;
    // A last loop as long as the others keeps their chunk.
    lane.last_chunk = splits_loop && lane.last_count < loop ? part.last_chunk : part.chunk;
    assert(lane.last_chunk > 0);
    lane.root_index = part.root_index;
    lane.full_slice = slice_size(config, lane.chunk);
    lanes_.push_back(lane);
  }
}

/// Chunks are cut off where the buffer ends, down to nothing; an empty chunk is walked all the same.
std::int64_t RingProgram::chunk_elements(const Lane& lane, bool last_loop,
                                         std::uint32_t chunk) const {
  if (!last_loop) return lane.chunk;
  const std::int64_t skipped =
      config_.collective == Collective::all_reduce ? chunk * lane.last_chunk : 0;
  return std::clamp<std::int64_t>(lane.last_count - skipped, 0, lane.last_chunk);
}

bool RingProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  const Lane& lane = lanes_[role.lane];
  if (cursor.major == lane.loops) return false;
  const RingOp op = ring_op(config_.collective, role.position, config_.ranks, cursor.minor,
                            lane.root_index, config_.in_place);
  const std::int64_t elements =
      chunk_elements(lane, cursor.major + 1 == lane.loops, op.chunk);
  primitive.in = receives(op.kind) ? 1 : 0;
  primitive.out = sends(op.kind) ? 1 : 0;
  primitive.slices = static_cast<std::uint32_t>(config_.shape.slices_per_chunk());
  primitive.chunk = {elements * config_.element_bytes};
  primitive.slice = elements == lane.chunk ? lane.full_slice : slice_size(config_, elements);
  if (++cursor.minor == ops_per_loop_) {
    cursor.minor = 0;
    ++cursor.major;
  }
  return true;
}

std::uint64_t RingProgram::slices(std::uint32_t lane) const {
  return std::uint64_t{lanes_[lane].loops} * ops_per_loop_ *
         static_cast<std::uint64_t>(config_.shape.slices_per_chunk());
}

}  // namespace fabricast
