#include "models/nccl/memory/buffer_count.hpp"

#include <algorithm>
#include <tuple>

namespace fabricast {
namespace {

constexpr std::int64_t kSmall = 1 << 20;  // below this cudaMalloc() puts several into one page

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
    const bool shares_pages = !cumem_ && row.each < kSmall &&
                              row.purpose != MemoryPurpose::p2p_send &&
                              row.purpose != MemoryPurpose::sendrecv_send;
    row.bytes = row.place == MemoryPlace::host ? row.count * row.each
                : shares_pages                 ? in_pages(row.count * row.each)
                                               : row.count * in_pages(row.each);
  }
  return out;
}

}  // namespace fabricast
