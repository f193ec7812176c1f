#pragma once
// The programs that workers of a schedule with heads share, made when first asked for.

#include <map>
#include <tuple>

#include "models/nccl/programs/head_program.hpp"
#include "models/nccl/schedules/assembly.hpp"

namespace fabricast {

class HeadPrograms {
 public:
  HeadPrograms(Assembly& assembly, std::uint32_t heads)
      : assembly_(assembly),
        heads_(heads),
        wire_class_(assembly.machine().add_worker_class({{}, {}, {}})) {}

  const HeadProgram& get(HeadShare share, std::uint32_t inputs, std::uint32_t outputs) {
    const HeadProgram*& known = programs_[{share, inputs, outputs}];
    if (known == nullptr) {
      const HeadProgram::Config config{assembly_.run().collective, share, heads_, inputs, outputs,
                                       assembly_.nodes()};
      known = &assembly_.keep(std::make_unique<HeadProgram>(config, assembly_.partition()));
    }
    return *known;
  }

  /// Some of the threads of `rank`'s block.
  std::uint32_t add_worker(const std::vector<std::uint32_t>& classes, HeadShare share,
                           std::uint32_t inputs, std::uint32_t outputs, Role role, int rank) {
    const HeadProgram& runs = get(share, inputs, outputs);
    return assembly_.add_worker(classes, runs, role, rank, runs.slices(role.lane));
  }

  /// What joins or hands on slices without a thread: a switch. Takes no time.
  std::uint32_t add_junction(HeadShare share, std::uint32_t inputs, std::uint32_t outputs,
                             Role role) {
    const HeadProgram& runs = get(share, inputs, outputs);
    assembly_.add_forwarded(runs.slices(role.lane), assembly_.copies_of_lane(role.lane));
    return assembly_.machine().add_worker(wire_class_, runs, role);
  }

 private:
  Assembly& assembly_;
  std::uint32_t heads_;
  std::uint32_t wire_class_;
  std::map<std::tuple<HeadShare, std::uint32_t, std::uint32_t>, const HeadProgram*> programs_;
};

}  // namespace fabricast
