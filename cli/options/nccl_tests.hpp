#pragma once
// nccl-tests' own options, so that known command lines work as they are.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/registered/registered_run.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

/// Those that act, as typed.
struct NcclTestsOptions {
  std::string minbytes, maxbytes, stepbytes, datatype = "float", op = "sum", registered = "0";
  int stepfactor = 1, threads = 1, gpus = 1, root = 0, calls = 1, graphs = 0;

  /// Does any of them say what sizes to run?
  bool asks_for_sizes(const CLI::App& command) const;
  /// As nccl-tests walks from -b to -e. Throws Error.
  std::vector<Bytes> sizes() const;
};

/// -R, for commands without the rest.
CLI::Option* add_registered_option(CLI::App& command, std::string& registered);
/// Nothing: plain buffers.
std::optional<AskedRegistration> registered_from_option(const std::string& registered);

void add_nccl_tests_options(CLI::App& command, NcclTestsOptions& options);
/// Is it accepted for nccl-tests' sake alone?
bool is_ignored(const CLI::Option& option);
/// Names on stderr what was given and changes nothing.
void say_what_is_ignored(const CLI::App& command, const NcclTestsOptions& options);

}  // namespace fabricast
