#pragma once
// Commands of `validate` that compare predictions with rows of a CSV: their options are the same.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands.hpp"

namespace fabricast {

struct MeasuredOptions {
  std::string file, parts, format = "text";
  bool leave_out = false, fit = false;

  /// Of the file; `hint` where it cannot be read.
  std::string text(const char* hint = "--file takes a CSV file") const;
};

struct MeasuredCommand {
  const char* name;
  const char* about;      ///< in the list of commands
  const char* rows;       ///< "CSV of measured kernels"
  const char* unseen;     ///< what --cross-validate predicts
  bool has_parts = true;  ///< --parts
  int (*run)(const MeasuredOptions& options, const Answers& answers);
};

void add_measured_command(CLI::App& validate, Action& action, const MeasuredCommand& command);

}  // namespace fabricast
