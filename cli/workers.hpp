#pragma once
// Independent pieces of work on all cores.

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/output/answers.hpp"
#include "models/studies/shared/for_each.hpp"

namespace fabricast {

inline constexpr int kJobsMax = 4096;

/// --jobs N, of a command whose answer is made of many pieces: threads, which run_program() makes
/// Answers::jobs of.
CLI::Option* add_jobs_option(CLI::App& command);

/// In the order of their numbers, as many at a time as --jobs says, else as the process has CPUs
/// (usable_cpus()). Throws what the first failing one threw. `progress` gets the share done, 0..1,
/// one call at a time; empty when nobody watches.
ForEach on_all_cores(const Answers& answers, std::function<void(double)> progress);

}  // namespace fabricast
