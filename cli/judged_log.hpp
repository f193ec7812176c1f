#pragma once
// A log of nccl-tests and what the command line says of it, as what `judge` and `gate` hold it
// against.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/job_options.hpp"
#include "models/io/imports/nccl_tests_log.hpp"
#include "models/studies/judge/judge.hpp"

namespace fabricast {

/// What was typed, before it means anything.
struct JudgedLogOptions {
  JobOptions job;
  std::string topology, fabric, collective;  ///< collective: "" = what the log says
  bool sharp = false;
};

/// Its tables with rows, or with wrong values. Throws Error where there are none. `command`: the
/// command that reads it, for the message.
NcclTestsLog logged_run(const std::string& file, std::string_view command);

/// Of each table. What the log says counts where the command line says nothing. Throws Error.
std::vector<JudgeConfig> judge_configs(const NcclTestsLog& log, const std::string& file,
                                       const JudgedLogOptions& options, const CLI::App& command,
                                       const PartsCatalogue& parts);

/// "all_reduce.log", of several tables "all_reduce.log, table 2".
std::string table_name(const NcclTestsLog& log, const std::string& file, std::size_t table);

}  // namespace fabricast
