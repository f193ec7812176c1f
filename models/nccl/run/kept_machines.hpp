#pragma once
// Machines of one job that are used again, for the same calls of another size.

#include <map>
#include <memory>
#include <utility>

#include "models/nccl/run/stream_machine.hpp"

namespace fabricast {

class KeptMachines {
 public:
  /// As it is before the first event; built when it is asked for first. REQUIRES: all that the
  /// setting names outlives this, and is the same each time, but for the rounds of the one stream
  /// and for what its draft was resized to.
  StreamMachine<PlainStamp>& of(const StreamMachine<PlainStamp>::Setting& setting);

 private:
  std::map<std::pair<Launching, int>, std::unique_ptr<StreamMachine<PlainStamp>>> machines_;
};

}  // namespace fabricast
