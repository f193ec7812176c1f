#include "models/io/host/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "text/numbers.hpp"

namespace fabricast {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(std::istream& in) {
  return {std::istream_iterator<std::string>(in), {}};
}
std::vector<std::string> words_in(const fs::path& file) {
  std::ifstream in(file);
  return words_of(in);
}

/// A tree of control groups that limits CPUs, and the group in it.
struct Hierarchy {
  bool is_v2 = false;
  fs::path mount;     ///< where the tree stands
  std::string shown;  ///< the group that the mount shows as its top
  std::string group;  ///< the process's
};

bool limits_cpus(const std::string& controllers) {
  std::istringstream in(controllers);
  for (std::string one; std::getline(in, one, ',');)
    if (one == "cpu") return true;
  return false;
}

/// "36 25 0:29 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw": proc_pid_mountinfo(5).
std::optional<Hierarchy> hierarchy_in(const std::string& line) {
  std::istringstream in(line);
  const std::vector<std::string> words = words_of(in);
  const auto dash = std::ranges::find(words, "-");
  if (words.size() < 5 || words.end() - dash < 4) return std::nullopt;
  Hierarchy out{dash[1] == "cgroup2", words[4], words[3], {}};
  if (!out.is_v2 && (dash[1] != "cgroup" || !limits_cpus(dash[3]))) return std::nullopt;
  return out;
}

/// The process's group in a tree, of lines like "0::/docker/3f2a" and "4:cpu,cpuacct:/docker/3f2a":
/// cgroups(7).
std::optional<std::string> group_in(const fs::path& file, bool is_v2) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = is_v2 ? controllers.empty() : limits_cpus(controllers);
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> out;
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::optional<Hierarchy> one = hierarchy_in(line);
    if (!one) continue;
    const std::optional<std::string> group = group_in(root / "proc/self/cgroup", one->is_v2);
    if (!group) continue;
    one->group = *group;
    one->mount = root / one->mount.relative_path();
    out.push_back(std::move(*one));
  }
  return out;
}

/// "200000 100000", "max 100000"; of version 1 "-1" is no limit.
std::optional<double> quota_of(const fs::path& group, bool is_v2) {
  std::vector<std::string> words = words_in(group / (is_v2 ? "cpu.max" : "cpu.cfs_quota_us"));
  if (!is_v2) std::ranges::copy(words_in(group / "cpu.cfs_period_us"), std::back_inserter(words));
  if (words.size() != 2) return std::nullopt;
  const auto quota = to_number<double>(words[0]), period = to_number<double>(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

/// The group's folder below the mount. In a container that sees the groups of its host the mount
/// shows the container's own.
fs::path below_mount(const Hierarchy& tree) {
  const fs::path below = fs::path(tree.group).lexically_relative(tree.shown);
  return below.empty() || *below.begin() == ".." ? fs::path(".") : below;
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const Hierarchy& tree : hierarchies(root)) {
    fs::path folder = tree.mount;
    const auto take = [&] {
      const std::optional<double> quota = quota_of(folder, tree.is_v2);
      if (quota) least = std::min(least.value_or(*quota), *quota);
    };
    take();
    for (const fs::path& name : below_mount(tree)) {
      folder /= name;
      take();
    }
  }
  return least;
}

int usable_cpus() {
  int cpus = 1;
  // The set is as long as the kernel has it: more than CPU_SETSIZE on large machines.
  for (std::size_t count = CPU_SETSIZE; count <= (1u << 20); count *= 2) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(count);
    const bool known = sched_getaffinity(0, size, set) == 0;
    if (known) cpus = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (known) break;
  }
  if (const std::optional<double> quota = cpu_quota("/"))
    cpus = std::min(cpus, static_cast<int>(std::ceil(std::min(*quota, 1e6))));
  return std::max(cpus, 1);
}

}  // namespace fabricast
