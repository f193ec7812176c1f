#pragma once
// What `fabricast advise` prints and writes.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/studies/advise/advise.hpp"

namespace fabricast {

std::string advise_text(const AdviseResult& result);
/// Tables: rows, lines, line_worths, held_back.
Report advise_report(const AdviseResult& result);

/// The whole recommended environment, for whom it is: `export` lines; a container's `env` list; a
/// Slurm TaskProlog; /etc/nccl.conf.
std::string advise_shell(const AdviseResult& result);
std::string advise_kubernetes(const AdviseResult& result);
std::string advise_slurm(const AdviseResult& result);
std::string advise_nccl_conf(const AdviseResult& result);
/// Rules for NCCL's example tuner plugin. Without any: a comment that says why.
std::string advise_tuner(const AdviseResult& result);
/// A script of nccl-tests commands, with what to expect of each row in comments. Of a step: how to
/// time it.
std::string advise_verify(const AdviseResult& result);

struct AdviseFile {
  std::string name, text;
};
/// The names of all files that there may be.
inline constexpr std::array<std::string_view, 8> kAdviseFileNames = {
    "advice.txt",           "advice.json", "nccl-env.sh", "kubernetes-env.yaml",
    "slurm-task-prolog.sh", "nccl.conf",   "verify.sh",   "nccl_tuner.conf"};
/// All of it, by file name.
std::vector<AdviseFile> advise_files(const AdviseResult& result);

}  // namespace fabricast
