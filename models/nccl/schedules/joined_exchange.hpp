#pragma once
// The sends and receives of several calls as one schedule for one exchange: blocks and proxy
// threads of each follow those of the ones before.

#include <memory>
#include <vector>

#include "models/nccl/schedules/p2p_schedule.hpp"

namespace fabricast {

class JoinedExchange final : public ExchangeSchedule {
 public:
  /// The number of its first block. `thread`: that of its rank 0.
  std::uint32_t add(std::unique_ptr<P2pSchedule> schedule, std::uint32_t thread) {
    const std::uint32_t first = blocks();
    const auto part = static_cast<std::uint32_t>(parts_.size());
    part_of_block_.resize(first + schedule->blocks(), part);
    parts_.push_back({std::move(schedule), first, thread});
    return first;
  }

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(part_of_block_.size()); }
  /// Equal for all.
  std::vector<MessageKind> kinds() const { return parts_.front().schedule->kinds(); }

  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override {
    const Part& part = parts_[part_of_block_[block]];
    const bool is_there = part.schedule->next(block - part.first_block, cursor, batch);
    for (ExchangeLane& lane : batch.sends) lane.peer += part.first_block;
    for (ExchangeLane& lane : batch.receives) lane.peer += part.first_block;
    return is_there;
  }

  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override {
    const Part& part = parts_[part_of_block_[from]];
    ExchangeLane own = lane;
    own.peer -= part.first_block;
    part.schedule->way(from - part.first_block, own, way);
    way.send_thread += part.first_thread;
    way.receive_thread += part.first_thread;
  }

 private:
  struct Part {
    std::unique_ptr<P2pSchedule> schedule;
    std::uint32_t first_block, first_thread;
  };
  std::vector<Part> parts_;
  std::vector<std::uint32_t> part_of_block_;
};

}  // namespace fabricast
