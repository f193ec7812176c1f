#include "models/nccl/programs/ring_program.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {

RingProgram::RingProgram(const Config& config, const Partition& partition,
                         const std::vector<std::uint32_t>& root_index)
    : config_(config),
      element_bytes_(partition.element_bytes),
      shape_(partition.shape),
      slices_per_chunk_(static_cast<std::uint32_t>(partition.shape.slices_per_chunk())),
      ops_per_loop_(ring_ops_per_loop(config.collective, config.ranks)) {
  for (std::size_t i = 0; i < partition.parts.size(); ++i) {
    const ChannelPart& part = partition.parts[i];
    assert(part.count_elements > 0 && part.chunk_elements > 0);
    const std::int64_t loops = loop_count(part, Algorithm::ring, config.collective, config.ranks);
    const ChunkLoop last =
        chunk_loop(part, Algorithm::ring, config.collective, config.ranks, loops - 1);
    Lane lane;
    lane.loops = static_cast<std::uint32_t>(loops);
    lane.chunk = part.chunk_elements;
    lane.last_count = last.left_elements;
    lane.last_chunk = config.collective == Collective::all_reduce
                          ? last.chunk_elements
                          : std::min(last.chunk_elements, last.left_elements);
    lane.root_index = root_index.empty() ? 0 : root_index[i];
    lane.full = {{lane.chunk * element_bytes_}, slice_size(lane.chunk)};
    const std::int64_t chunks =
        config.collective == Collective::all_reduce ? std::int64_t{config.ranks} : 1;
    if (ops_per_loop_ > 1)
      lane.even_loops = lane.loops - (lane.last_count == lane.last_chunk * chunks ? 0 : 1);
    lane.last_full = {{lane.last_chunk * element_bytes_}, slice_size(lane.last_chunk)};
    lane.full_chunks = static_cast<std::uint32_t>(lane.last_count / lane.last_chunk);
    lane.empty_from = lane.full_chunks + (lane.last_count % lane.last_chunk > 0 ? 1 : 0);
    lanes_.push_back(lane);
  }
}

/// LL and LL128 do not slice: the chunk is one slice.
Bytes RingProgram::slice_size(std::int64_t chunk_elements) const {
  if (config_.protocol != Protocol::simple) return {chunk_elements * element_bytes_};
  return {slices_of_chunk(chunk_elements, element_bytes_, shape_, config_.step).slice_elements *
          element_bytes_};
}

/// Chunks are cut off where the buffer ends, down to nothing; an empty chunk is walked all the
/// same.
std::int64_t RingProgram::chunk_elements(const Lane& lane, bool last_loop,
                                         std::uint32_t chunk) const {
  if (!last_loop) return lane.chunk;
  const std::int64_t before =
      config_.collective == Collective::all_reduce ? chunk * lane.last_chunk : 0;
  return std::clamp<std::int64_t>(lane.last_count - before, 0, lane.last_chunk);
}

/// Goes on to a primitive that works on one of the chunks asked for; false = there is none left.
bool RingProgram::find_chunk(Role role, Cursor& cursor) const {
  while (cursor.major < lanes_[role.lane].loops) {
    const std::uint32_t chunk =
        ring_op(config_.collective, role.position, config_.ranks, cursor.minor).chunk;
    if (chunk < config_.chunks) return true;
    cursor.minor += chunk + 1 - config_.chunks;  // each works one chunk further back
    if (cursor.minor >= ops_per_loop_) cursor = {cursor.major + 1, 0};
  }
  return false;
}

bool RingProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  const Lane& lane = lanes_[role.lane];
  if (config_.chunks > 0 && !find_chunk(role, cursor)) return false;
  if (cursor.major >= lane.even_loops) return next_uneven(lane, role.position, cursor, primitive);
  // Chunks are equal; the first primitive only sends, the last only receives.
  const Full& full = cursor.major + 1 == lane.loops ? lane.last_full : lane.full;
  primitive.slices = slices_per_chunk_;
  primitive.in = cursor.minor > 0 ? 1 : 0;
  primitive.chunk = full.chunk;
  primitive.slice = full.slice;
  const bool is_last = ++cursor.minor == ops_per_loop_;
  primitive.out = is_last ? 0 : 1;
  if (is_last) cursor = {cursor.major + 1, 0};
  return true;
}

/// The same in a loop whose chunks may differ, or that is one primitive.
bool RingProgram::next_uneven(const Lane& lane, std::uint32_t position, Cursor& cursor,
                              Primitive& primitive) const {
  if (cursor.major == lane.loops) return false;
  const RingOp op = ring_op(config_.collective, position, config_.ranks, cursor.minor,
                            lane.root_index, config_.in_place);
  const std::int64_t elements = chunk_elements(lane, cursor.major + 1 == lane.loops, op.chunk);
  primitive.slices = slices_per_chunk_;
  primitive.in = receives(op.kind) ? 1 : 0;
  primitive.out = sends(op.kind) ? 1 : 0;
  primitive.chunk = {elements * element_bytes_};
  primitive.slice = elements == lane.chunk ? lane.full.slice : slice_size(elements);
  advance(cursor, ops_per_loop_);
  return true;
}

/// In the last loop of an all_reduce: so many chunks right below this one are as large as it is.
std::uint64_t RingProgram::alike_below(const Lane& lane, std::uint32_t chunk) const {
  if (chunk < lane.full_chunks) return chunk;
  return chunk < lane.empty_from ? 0 : chunk - lane.empty_from;
}

/// Whole loops whose chunks are equal; inside one of them all primitives but the first and the
/// last. In a loop whose chunks differ, of these what stands in a row with chunks of one size: each
/// primitive works one chunk further back than the one before.
std::uint64_t RingProgram::repeats(Role role, std::uint64_t first, std::uint64_t stride) const {
  if (config_.chunks > 0) return 0;
  const Lane& lane = lanes_[role.lane];
  const std::uint64_t loop = first / ops_per_loop_;
  std::uint64_t end = std::uint64_t{lane.loops - 1} * ops_per_loop_;
  if (stride % ops_per_loop_ != 0) {
    const std::uint64_t op = first % ops_per_loop_;
    if (loop >= lane.loops || op == 0) return 0;
    end = (loop + 1) * ops_per_loop_ - 1;
    if (loop >= lane.even_loops) {
      const std::uint32_t chunk =
          ring_op(config_.collective, role.position, config_.ranks, static_cast<std::uint32_t>(op))
              .chunk;
      end = std::min(end, first + alike_below(lane, chunk) + 1);
    }
  }
  return left(end, first, stride);
}

PrimitiveLabel RingProgram::label(Role role, Cursor cursor) const {
  const RingOp op = ring_op(config_.collective, role.position, config_.ranks, cursor.minor,
                            lanes_[role.lane].root_index, config_.in_place);
  return {to_text(op.kind), cursor.major, cursor.minor};
}

std::uint64_t RingProgram::slices(std::uint32_t lane) const {
  const std::uint64_t loops = lanes_[lane].loops;
  if (config_.chunks == 0) return loops * ops_per_loop_ * slices_per_chunk_;
  const std::uint64_t laps = config_.collective == Collective::all_reduce ? 2 : 1;
  return loops * laps * config_.chunks * slices_per_chunk_;
}

}  // namespace fabricast
