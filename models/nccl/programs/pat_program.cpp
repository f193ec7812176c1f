#include "models/nccl/programs/pat_program.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {

PatProgram::PatProgram(Collective collective, const Partition& partition, int ranks,
                       NcclVersion version)
    : element_bytes_(partition.element_bytes) {
  for (const ChannelPart& part : partition.parts) {
    assert(part.count_elements > 0 && part.chunk_elements > 0);
    Lane lane;
    lane.count = part.count_elements;
    lane.chunk = part.chunk_elements;
    lane.rounds = static_cast<std::uint32_t>((lane.count + lane.chunk - 1) / lane.chunk);
    const Bytes chunk{lane.chunk * element_bytes_}, share{lane.count * element_bytes_};
    lane.rows = pat_rows(collective, pat_shape(chunk, share, ranks, pat_parallel_max(version)));
    lanes_.push_back(std::move(lane));
  }
}

bool PatProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  const Lane& lane = lanes_[role.lane];
  if (cursor.major == lane.rounds) return false;
  const PatRow& row = lane.rows[cursor.minor];
  const std::int64_t elements = std::min(lane.chunk, lane.count - cursor.major * lane.chunk);
  primitive.in = row.in;
  primitive.out = row.out;
  primitive.slices = 1;
  primitive.chunk = primitive.slice = {row.parts * elements * element_bytes_};
  advance(cursor, static_cast<std::uint32_t>(lane.rows.size()));
  return true;
}

std::uint64_t PatProgram::slices(std::uint32_t lane) const {
  return std::uint64_t{lanes_[lane].rounds} * lanes_[lane].rows.size();
}

std::uint64_t PatProgram::messages(std::uint32_t lane, int dimension) const {
  const auto posts = std::ranges::count_if(
      lanes_[lane].rows, [&](const PatRow& row) { return (row.out >> dimension & 1) != 0; });
  return std::uint64_t{lanes_[lane].rounds} * static_cast<std::uint64_t>(posts);
}

}  // namespace fabricast
