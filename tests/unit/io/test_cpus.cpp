// Goal: a container's limit of CPUs is seen, whatever shape its control groups have. Method:
// folders that look like /proc and /sys/fs/cgroup of a machine, with the files that the kernel has
// there (Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst).

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "models/io/host/cpus.hpp"

using namespace fabricast;

namespace {

constexpr const char* kV2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

/// A machine's files; gone at the end.
class Machine {
 public:
  Machine(const std::string& mounts, const std::string& groups)
      : root_((std::filesystem::temp_directory_path() / ("fabricast-cpus-" + std::string(6, 'X')))
                  .string()) {
    REQUIRE(mkdtemp(root_.data()) != nullptr);
    write("proc/self/mountinfo", "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts);
    write("proc/self/cgroup", groups);
  }
  ~Machine() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Machine& write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path(root_) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  double quota() const { return cpu_quota(root_).value_or(0); }

 private:
  std::string root_;
};

}  // namespace

TEST_CASE("version 2: quota over period, the least of the groups above") {
  Machine machine(kV2, "0::/kubepods/pod1/job\n");
  CHECK(machine.quota() == 0);  // no file: the root has none
  machine.write("sys/fs/cgroup/kubepods/pod1/job/cpu.max", "max 100000\n");
  CHECK(machine.quota() == 0);
  machine.write("sys/fs/cgroup/kubepods/cpu.max", "800000 100000\n");
  CHECK(machine.quota() == 8);
  machine.write("sys/fs/cgroup/kubepods/pod1/cpu.max", "150000 100000\n");
  CHECK(machine.quota() == 1.5);
  machine.write("sys/fs/cgroup/kubepods/pod1/job/cpu.max", "400000 100000\n");
  CHECK(machine.quota() == 1.5);
  machine.write("sys/fs/cgroup/other/cpu.max", "10000 100000\n");  // somebody else's
  CHECK(machine.quota() == 1.5);
}

TEST_CASE("a container with groups of its own sees them as the top") {
  Machine machine(kV2, "0::/\n");
  machine.write("sys/fs/cgroup/cpu.max", "50000 20000\n");
  CHECK(machine.quota() == 2.5);
}

TEST_CASE("version 1: the controller of CPUs, mounted with others or alone") {
  Machine machine(
      "33 31 0:30 /docker/3f /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
      "5:cpuset:/docker/3f\n4:cpu,cpuacct:/docker/3f/step\n0::/\n");
  const std::string folder = "sys/fs/cgroup/cpu,cpuacct/";
  machine.write(folder + "cpu.cfs_quota_us", "-1\n").write(folder + "cpu.cfs_period_us", "100000");
  CHECK(machine.quota() == 0);
  machine.write(folder + "cpu.cfs_quota_us", "300000\n");
  CHECK(machine.quota() == 3);
  machine.write(folder + "step/cpu.cfs_quota_us", "120000\n")
      .write(folder + "step/cpu.cfs_period_us", "60000\n");
  CHECK(machine.quota() == 2);
}

TEST_CASE("files that say nothing of use are no limit") {
  Machine machine(fmt::format("no mount\n- - -\n{}", kV2), "nonsense\n0::/a\n");
  machine.write("sys/fs/cgroup/a/cpu.max", "much\n").write("sys/fs/cgroup/cpu.max", "0 100000\n");
  CHECK(machine.quota() == 0);
  CHECK(!cpu_quota("/no/such/folder"));
}

TEST_CASE("the process has at least one CPU, and no more than its quota") {
  CHECK(usable_cpus() >= 1);
  if (const auto quota = cpu_quota("/")) CHECK(usable_cpus() < *quota + 1);
}
