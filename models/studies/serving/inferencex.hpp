#pragma once
// What InferenceX's launch scripts and recipes say of its runs, and its results do not.

#include <string>

#include "models/studies/training/serve.hpp"

namespace fabricast {

struct InferencexRun {
  std::string release;  ///< of the engine, as the row has it
  std::string date;     ///< YYYY-MM-DD, or blank
};

/// Waits, budgets of passes, drafts and places of such a run. Sources: beside each of them.
/// REQUIRES: config.engine, config.load.
void set_inferencex(const InferencexRun& run, ServeConfig& config);

}  // namespace fabricast
