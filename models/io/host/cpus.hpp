#pragma once
// How many CPUs the machine lets this process use.

#include <filesystem>
#include <optional>

namespace fabricast {

/// As many threads as this run at the same time: the CPUs that the process may be scheduled on
/// (taskset, cpusets, Slurm), and no more than the quota of its control groups (docker --cpus, a
/// limit of Kubernetes), a part of a CPU counted as one. 1 or more.
int usable_cpus();

/// The least quota of the control groups that a process is in, of version 2 (cpu.max) and 1
/// (cpu.cfs_quota_us) and of all groups above, as CPUs; nothing = none has one, or none can be
/// read. `root` is where /proc/self and the mounts are looked for: "/".
std::optional<double> cpu_quota(const std::filesystem::path& root);

}  // namespace fabricast
