#pragma once
// A sweep as a job array of Slurm: tasks answer a share of the points each, into stores on disks of
// their nodes, which they copy to a shared folder at the end; a last job merges them. SQLite must
// not be written by several hosts over a network's file system.

#include <string>
#include <vector>

#include "cli/output/outputs.hpp"

namespace fabricast {

struct SlurmOptions {
  std::string partition, time;  ///< "" = the cluster's
  int tasks = 0;                ///< of the array
  int cpus = 1;                 ///< of a task
};

/// The folder beside the store that holds the scripts, the shares and the jobs' numbers.
std::string slurm_folder(const std::string& store);

/// The scripts. `program`: of fabricast. All paths are absolute.
std::string array_script(const std::string& program, const std::string& file,
                         const std::string& store, const SlurmOptions& options);
std::string merge_script(const std::string& program, const std::string& store,
                         const SlurmOptions& options);
/// Commands that do the same without Slurm, one for each share, for GNU parallel.
std::vector<std::string> share_commands(const std::string& program, const std::string& file,
                                        const std::string& store, const SlurmOptions& options);

/// Writes the scripts and submits them. Returns the numbers of both jobs. Throws Error.
std::vector<std::string> submit(const std::string& program, const std::string& file,
                                const std::string& store, const SlurmOptions& options,
                                Outputs& outputs);
/// Cancels the job array of a store. Returns its number and, if there is one, that of the job that
/// merges what it has done. Throws Error.
std::vector<std::string> cancel(const std::string& store);

}  // namespace fabricast
