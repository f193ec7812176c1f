#pragma once
// nccl-tests' own options, so that known command lines work as they are.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace fabricast {

/// Those that act, as typed.
struct NcclTestsOptions {
  std::string minbytes, maxbytes, stepbytes, datatype = "float", op = "sum";
  int stepfactor = 1, threads = 1, gpus = 1, root = 0, calls = 1, graphs = 0;

  /// Does any of them say what sizes to run?
  bool asks_for_sizes(const CLI::App& command) const;
  /// As nccl-tests walks from -b to -e. Throws Error.
  std::vector<Bytes> sizes() const;
};

void add_nccl_tests_options(CLI::App& command, NcclTestsOptions& options);
/// Names on stderr what was given and changes nothing.
void say_what_is_ignored(const CLI::App& command, const NcclTestsOptions& options);

}  // namespace fabricast
