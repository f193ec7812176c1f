#pragma once
// The options of `validate` that are the same for every kind of measured rows.

#include <CLI/CLI.hpp>
#include <string>

#include "models/io/formats/text_file.hpp"

namespace fabricast {

struct MeasuredOptions {
  std::string file;
  bool leave_out = false, fit = false;

  /// Of the file; `hint` where it cannot be read.
  std::string text(const char* hint = "--file takes a CSV file") const {
    return read_text_file(file, hint);
  }
};

/// `rows`: "CSV of measured kernels"; `unseen`: what --cross-validate predicts.
inline void add_measured_options(CLI::App& command, MeasuredOptions& options, const char* rows,
                                 const char* unseen) {
  command.add_option("--file", options.file, rows)->required();
  command.add_flag("--cross-validate", options.leave_out, unseen);
  command.add_flag("--fit", options.fit, "say what a fit to all rows gives");
}

}  // namespace fabricast
