#include "models/nccl/run/kept_machines.hpp"

namespace fabricast {

StreamMachine<PlainStamp>& KeptMachines::of(const StreamMachine<PlainStamp>::Setting& setting) {
  auto& machine = machines_[{setting.launching, setting.streams.front().rounds}];
  if (machine) {
    machine->rewind();
  } else {
    machine = std::make_unique<StreamMachine<PlainStamp>>(setting);
    machine->keep_start();
  }
  return *machine;
}

}  // namespace fabricast
