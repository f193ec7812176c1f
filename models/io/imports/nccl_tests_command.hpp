#pragma once
// A line that starts one of nccl-tests' programs, or only names it.

#include <optional>
#include <string_view>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast {

/// A program of nccl-tests, as a command line starts it.
struct NamedTest {
  Collective collective{};
  int line = 0;
  int threads = 0, gpus = 0;     ///< -t and -g; 0 = not said
  int ranks = 0;                 ///< 0 = not said
  bool starts = false;           ///< a command line, not only the name
  Environment environment = {};  ///< NCCL_ variables given with it
};

/// "mpirun -np 16 ./build/all_reduce_perf -g 1", "Collective test starting: all_reduce_perf".
/// Nothing without a program that is known. Of a launcher without a number of processes, and of one
/// process with one GPU, which some script may start many times, the ranks are not said.
std::optional<NamedTest> nccl_tests_command(std::string_view line, int number);

/// A line that a shell's `set -x` printed, "+ export NCCL_CROSS_NIC=0": does to `environment` what
/// it says of NCCL_ variables.
void set_by_trace(std::string_view line, Environment& environment);

}  // namespace fabricast
