#pragma once
// Commands of `validate` that compare predictions with rows of a CSV: their options are the same.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace fabricast {

inline constexpr const char* kFileHint = "--file takes a CSV file";

struct MeasuredOptions {
  std::vector<std::string> files;  ///< one, unless the command takes several
  std::string parts, kernels, format = "text";
  bool leave_out = false, fit = false;

  const std::string& file() const { return files.front(); }
  /// Of the file; `hint` where it cannot be read.
  std::string text(const char* hint = kFileHint) const;
};

struct MeasuredCommand {
  const char* name;
  const char* about;      ///< in the list of commands
  const char* rows;       ///< "CSV of measured kernels"
  const char* unseen;     ///< what --cross-validate predicts
  bool has_parts = true;  ///< --parts
  bool has_fit = true;    ///< --fit
  bool many = false;      ///< --file may be given again: rows of all files are compared together
  const char* kernels = nullptr;  ///< what --kernels takes; null = no such option
  int (*run)(const MeasuredOptions& options, const Answers& answers);
};

void add_measured_command(CLI::App& validate, Action& action, const MeasuredCommand& command);

}  // namespace fabricast
