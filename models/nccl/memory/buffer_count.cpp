#include "models/nccl/memory/buffer_count.hpp"

#include <algorithm>
#include <tuple>

namespace fabricast {
namespace {

/// Its size is a multiple of a page (CUDA_IPC_MIN) wherever it comes from.
constexpr bool is_exported(MemoryPurpose purpose) {
  return purpose == MemoryPurpose::p2p_send || purpose == MemoryPurpose::sendrecv_send;
}

}  // namespace

void BufferCount::add(int rank, MemoryPurpose purpose, MemoryPlace place, std::int64_t each,
                      std::int64_t count) {
  if (each <= 0 || count <= 0) return;
  std::vector<MemoryRow>& rows = ranks_[static_cast<std::size_t>(rank)];
  for (MemoryRow& row : rows) {
    if (row.purpose != purpose || row.place != place || row.each != each) continue;
    row.count += count;
    return;
  }
  rows.push_back({purpose, place, count, each});
}

void BufferCount::add_everywhere(MemoryPurpose purpose, MemoryPlace place, std::int64_t each,
                                 std::int64_t count) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    add(static_cast<int>(rank), purpose, place, each, count);
}

RankMemory BufferCount::of(int rank) const {
  RankMemory out{ranks_[static_cast<std::size_t>(rank)]};
  std::ranges::sort(out.rows, {}, [](const MemoryRow& row) {
    return std::tuple(row.place, row.purpose, -row.each);
  });
  for (MemoryRow& row : out.rows) {
    const bool in_whole_pages = row.place == MemoryPlace::gpu &&
                                (cumem_ || row.each >= kGpuPage || is_exported(row.purpose));
    row.bytes = row.count * (in_whole_pages ? in_pages(row.each) : row.each);
  }
  return out;
}

}  // namespace fabricast
