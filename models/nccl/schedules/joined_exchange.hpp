#pragma once
// The sends and receives of several calls as one schedule for one exchange: blocks and proxy
// threads of each follow those of the ones before.

#include <algorithm>
#include <vector>

#include "models/nccl/schedules/p2p_schedule.hpp"

namespace fabricast {

class JoinedExchange final : public ExchangeSchedule {
 public:
  struct Part {
    const P2pSchedule* schedule;
    std::uint32_t first_block, first_thread, first_kind;
  };

  /// The number of its first block. `thread`: that of its rank 0. One that is called several times
  /// is added as often. It outlives this.
  std::uint32_t add(const P2pSchedule& schedule, std::uint32_t thread) {
    const std::uint32_t first = blocks();
    const auto part = static_cast<std::uint32_t>(parts_.size());
    part_of_block_.resize(first + schedule.blocks(), part);
    parts_.push_back({&schedule, first, thread, place_of(schedule.kinds())});
    return first;
  }

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(part_of_block_.size()); }
  const std::vector<MessageKind>& kinds() const { return kinds_; }
  const std::vector<Part>& parts() const { return parts_; }
  std::uint32_t part_of(std::uint32_t block) const { return part_of_block_[block]; }

  bool next(std::uint32_t block, std::uint32_t& cursor, ExchangeBatch& batch) const override {
    const Part& part = parts_[part_of_block_[block]];
    const bool is_there = part.schedule->next(block - part.first_block, cursor, batch);
    for (std::vector<ExchangeLane>* lanes : {&batch.sends, &batch.receives}) {
      for (ExchangeLane& lane : *lanes) {
        lane.peer += part.first_block;
        lane.kind += part.first_kind;
      }
    }
    return is_there;
  }

  void way(std::uint32_t from, const ExchangeLane& lane, ExchangeWay& way) const override {
    const Part& part = parts_[part_of_block_[from]];
    if (part.first_block == 0 && part.first_kind == 0) {  // of each message: no copy of its lane
      part.schedule->way(from, lane, way);
    } else {
      ExchangeLane own = lane;
      own.peer -= part.first_block;
      own.kind -= part.first_kind;
      part.schedule->way(from - part.first_block, own, way);
    }
    way.send_thread += part.first_thread;
    way.receive_thread += part.first_thread;
  }

  std::uint64_t each_way(std::uint32_t /*blocks*/, const WayVisitor& visit) const override {
    std::uint64_t chunks = 0;
    for (const Part& part : parts_)
      chunks += part.schedule->each_way(part.schedule->blocks(), visit);
    return chunks;
  }

  std::uint32_t connection(std::uint32_t from, std::uint32_t tag) const override {
    const Part& part = parts_[part_of_block_[from]];
    return part.schedule->connection(from - part.first_block, tag);
  }

 private:
  /// Calls of one communicator have equal kinds.
  std::uint32_t place_of(const std::vector<MessageKind>& kinds) {
    const auto known = std::search(kinds_.begin(), kinds_.end(), kinds.begin(), kinds.end());
    const auto place = static_cast<std::uint32_t>(known - kinds_.begin());
    if (known == kinds_.end()) kinds_.insert(kinds_.end(), kinds.begin(), kinds.end());
    return place;
  }

  std::vector<Part> parts_;
  std::vector<std::uint32_t> part_of_block_;
  std::vector<MessageKind> kinds_;
};

}  // namespace fabricast
