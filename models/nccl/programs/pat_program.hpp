#pragma once
// PAT as a program of the executor: the rows of a round, round after round over a part. Role: lane
// = index of the part in the partition; the position is not used, as all ranks do the same. Input
// and output d are those of dimension d.

#include <cstdint>
#include <vector>

#include "models/nccl/programs/pat_steps.hpp"
#include "models/nccl/split/partition.hpp"
#include "sim/links/program.hpp"

namespace fabricast {

class PatProgram final : public LoopProgram {
 public:
  /// REQUIRES: all_gather or reduce_scatter; every part has elements; two ranks or more.
  PatProgram(Collective collective, const Partition& partition, int ranks, NcclVersion version);

  bool next(Role role, Cursor& cursor, Primitive& primitive) const override;

  /// Slices that each worker of a lane handles: one per row.
  std::uint64_t slices(std::uint32_t lane) const;
  /// Messages that each worker of a lane posts in a dimension.
  std::uint64_t messages(std::uint32_t lane, int dimension) const;

 private:
  std::uint32_t steps(Role role) const override {
    return static_cast<std::uint32_t>(lanes_[role.lane].rows.size());
  }
  std::uint32_t loops(Role role) const override { return lanes_[role.lane].rounds; }

  struct Lane {
    std::int64_t count = 0, chunk = 0;  ///< elements
    std::uint32_t rounds = 0;
    std::vector<PatRow> rows;
  };

  int element_bytes_;
  std::vector<Lane> lanes_;
};

}  // namespace fabricast
