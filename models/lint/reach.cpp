// Who gets to see a setting: duplicates, launches, exports, order.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/lint/rules.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast::lint_rules_detail {

namespace {

bool is_of_nccl(const Setting& s) {
  return s.variable != nullptr && s.variable->reader != VariableReader::nobody &&
         !s.at->has(EnvTrap::build_argument);
}

/// Do both stand where one replaces the other: in one file, or on the command line?
bool stand_together(const Setting& a, const Setting& b) {
  return a.file == b.file || (a.file->kind == EnvKind::option && b.file->kind == EnvKind::option);
}

/// "line 3", or of the command line "--env #2".
std::string place_of(const Setting& s) {
  return s.file->kind == EnvKind::option ? s.file->path : fmt::format("line {}", s.at->line);
}

/// Is there a launch between two lines of a file, which sees what stands before it?
bool launch_between(const EnvFile& file, int first, int last) {
  return std::ranges::any_of(file.launches,
                             [&](const EnvLaunch& l) { return l.line > first && l.line < last; });
}

void check_duplicates(Sheet& sheet) {
  for (std::size_t i = 0; i < sheet.settings.size(); ++i) {
    const Setting& a = sheet.settings[i];
    if (a.at->scope == EnvScope::unset || !is_of_nccl(a)) continue;
    const auto again = std::find_if(sheet.settings.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    sheet.settings.end(), [&](const Setting& b) {
                                      return stand_together(a, b) && b.name() == a.name() &&
                                             b.at->group == a.at->group &&
                                             b.at->scope != EnvScope::unset &&
                                             b.at->scope == a.at->scope;
                                    });
    if (again == sheet.settings.end() || again->at->computed ||
        launch_between(*a.file, a.at->line, again->at->line))
      continue;
    const bool first_counts = a.file->kind == EnvKind::nccl_conf;
    const Setting& lost = first_counts ? *again : a;
    const Setting& counts = first_counts ? a : *again;
    const bool same = lost.value() == counts.value();
    Finding& f = sheet.add("FL060", same ? Severity::note : Severity::warning, lost,
                           fmt::format("{} does not count: {} sets {}", shown(lost),
                                       place_of(counts), same ? "it, too" : shown(counts)));
    if (first_counts) {
      f.reason = "in nccl.conf the first line of a name wins";
      f.source = "NCCL 2.21.5 src/misc/param.cc, setEnvFile";
    }
  }
}

/// Containers or launches of one file with different values.
void check_disagreement(Sheet& sheet) {
  std::set<std::string> told;
  for (std::size_t i = 0; i < sheet.settings.size(); ++i) {
    const Setting& a = sheet.settings[i];
    const bool containers = a.file->kind == EnvKind::yaml && a.at->scope == EnvScope::exported;
    const bool launched = a.at->scope == EnvScope::command;
    if (!is_of_nccl(a) || !a.has_value() || a.at->conditional || (!containers && !launched))
      continue;
    for (const Setting& b : sheet.settings) {
      if (b.file != a.file || b.name() != a.name() || b.at->group == a.at->group) continue;
      if (!b.has_value() || b.at->conditional || b.value() == a.value()) continue;
      if (launched ? b.at->line > a.at->line : b.at->line < a.at->line) continue;
      if (!told.insert(a.file->path + ":" + a.name()).second) continue;
      Finding& f =
          sheet.add("FL061", containers ? Severity::warning : Severity::note, a,
                    fmt::format("{}, but line {} sets {}", shown(a), b.at->line, shown(b)));
      f.reason = containers ? "all ranks of a job must agree on what shapes the schedule, and NCCL "
                              "does not check it"
                            : "this launch runs with another value than the rest of the file";
      f.source = "NCCL 2.21.5 src/init.cc";
    }
  }
}

std::vector<std::string> exported_before(const Sheet& sheet, const EnvFile& file, int line) {
  std::vector<std::string> out;
  for (const Setting& s : sheet.settings) {
    const bool counts =
        s.file == &file && s.at->scope == EnvScope::exported && s.at->line < line && is_of_nccl(s);
    if (counts) add_once(out, s.name());
  }
  return out;
}

bool given_with(const Sheet& sheet, const EnvFile& file, const EnvLaunch& launch,
                const std::string& name) {
  if (std::ranges::find(launch.names, name) != launch.names.end()) return true;
  return std::ranges::any_of(sheet.settings, [&](const Setting& s) {
    return s.file == &file && s.at->group == launch.group && s.name() == name;
  });
}

void check_launch(Sheet& sheet, const EnvFile& file, const EnvLaunch& launch) {
  const bool mpi = launch.kind == EnvLaunch::Kind::mpirun;
  if (launch.passes_all || (!mpi && !launch.by_list)) return;
  std::vector<std::string> lost;
  for (const std::string& name : exported_before(sheet, file, launch.line)) {
    if (!given_with(sheet, file, launch, name)) lost.push_back(name);
  }
  if (lost.empty()) return;
  Finding& f = sheet.add(
      "FL072", Severity::warning, file, launch.line,
      fmt::format("{} does not hand on {}", mpi ? "mpirun" : "srun --export", joined(lost)));
  f.reason = mpi ? "Open MPI gives processes on other nodes what -x names; started by Slurm they "
                   "may see the job's environment"
                 : "without ALL in its list srun passes on nothing else";
  f.source = mpi ? "Open MPI mpirun(1), -x" : "Slurm srun(1), --export";
  f.suggestion =
      mpi ? "-x " + lost.front() + (lost.size() > 1 ? " -x ..." : "") : "--export=ALL,...";
}

void check_exports(Sheet& sheet, const Setting& s) {
  if (s.at->scope != EnvScope::shell_only || !is_of_nccl(s)) return;
  const auto names_it = [&](const EnvLaunch& l) {
    return std::ranges::find(l.names, s.name()) != l.names.end();
  };
  const bool passed = std::ranges::any_of(s.file->launches, names_it);
  Finding& f =
      sheet.add("FL071", passed ? Severity::error : Severity::warning, s,
                fmt::format("{} is not exported: {}", shown(s),
                            passed ? "the launcher's -x passes nothing on" : "no process sees it"));
  f.source = "POSIX shell, 2.5.3 and 2.12";
  f.suggestion = fmt::format("export {}", assignment(s));
}

/// PyTorch reads its own variables in the constructor of the process group, but for these two: they
/// are read when a communicator is made (torch/csrc/distributed/c10d/NCCLUtils.cpp).
bool is_read_at_init(const Setting& s) {
  return s.variable->reader == VariableReader::pytorch &&
         s.name() != "TORCH_NCCL_USE_COMM_NONBLOCKING" &&
         s.name() != "TORCH_NCCL_NONBLOCKING_TIMEOUT";
}

/// Set after init_process_group or the like: too late for PyTorch's variables. NCCL reads its own
/// when a communicator is made, and whether there is one by then only a run can tell.
void check_after_init(Sheet& sheet, const Setting& s) {
  if (!s.at->has(EnvTrap::after_init)) return;
  const bool too_late = is_read_at_init(s);
  Finding& f = sheet.add("FL070", too_late ? Severity::error : Severity::warning, s,
                         fmt::format("{} is set after the process group was made{}", s.name(),
                                     too_late ? "" : ", which may be too late"));
  f.suggestion = "set it before init_process_group, or in the job's environment";
  if (too_late) {
    f.reason = "PyTorch reads it once, when the process group is made";
    f.source = "PyTorch ProcessGroupNCCL.cpp";
    return;
  }
  const bool each = s.name() == "NCCL_ALGO" || s.name() == "NCCL_PROTO";
  f.reason = fmt::format(
      "{}; PyTorch makes the first communicator at the first collective, or within "
      "init_process_group if that is given device_id",
      each ? "it is read for each communicator, and those that are there keep what they have"
           : "it is read once in a process, when the first communicator is made or before");
  f.source = fmt::format("NCCL 2.21.5 {}; PyTorch ProcessGroupNCCL.cpp",
                         each ? "src/graph/tuning.cc" : "src/misc/param.cc");
}

void check_trapped(Sheet& sheet, const Setting& s) {
  if (!is_of_nccl(s) && !s.at->has(EnvTrap::build_argument)) return;
  check_after_init(sheet, s);
  if (s.at->has(EnvTrap::lost_after_run)) {
    Finding& f = sheet.add("FL075", Severity::warning, s,
                           fmt::format("{} is gone after this line", shown(s)));
    f.reason = "it is exported in a shell that ends with the line";
    f.source = s.file->kind == EnvKind::dockerfile ? "Dockerfile reference, RUN" : "IPython, !";
    f.suggestion = s.file->kind == EnvKind::dockerfile
                       ? fmt::format("ENV {}", assignment(s))
                       : fmt::format("%env {}={}", s.name(), s.value());
  }
  if (s.at->has(EnvTrap::login_shells_only)) {
    Finding& f = sheet.add("FL075", Severity::warning, s,
                           fmt::format("{} reaches login shells only", shown(s)));
    f.reason = "profiles are read by login shells, which jobs and containers rarely start";
    f.source = "bash(1), INVOCATION";
  }
  if (s.at->has(EnvTrap::build_argument) && s.variable != nullptr &&
      s.variable->reader != VariableReader::nobody) {
    Finding& f = sheet.add("FL075", Severity::warning, s,
                           fmt::format("{} is a build argument, not in the environment", s.name()));
    f.source = "Dockerfile reference, ARG";
    f.suggestion = fmt::format("ENV {}", assignment(s));
  }
  if (s.at->has(EnvTrap::undefined_argument)) {
    Finding& f =
        sheet.add("FL075", Severity::warning, s,
                  fmt::format("{} is empty: no ARG or ENV before it defines that", shown(s)));
    f.source = "Dockerfile reference, ENV";
  }
  if (s.at->has(EnvTrap::value_elsewhere))
    sheet.add("FL074", Severity::note, s,
              fmt::format("the value of {} is not in this file", s.name()));
  if (s.name() == "NCCL_CONF_FILE" && s.at->scope != EnvScope::unset)
    sheet.add("FL074", Severity::note, s, "settings of that file are not seen here");
}

void check_remarks(Sheet& sheet, const EnvFile& file) {
  for (const EnvRemark& remark : file.remarks) {
    if (remark.kind == EnvRemark::Kind::unread_update) {
      sheet.add("FL074", Severity::note, file, remark.line,
                "os.environ is updated here from what only a run can tell: what that sets is not "
                "seen");
    } else if (remark.kind == EnvRemark::Kind::env_from) {
      sheet.add("FL074", Severity::note, file, remark.line,
                fmt::format("all of the ConfigMap {} is set here: what that sets is not seen",
                            remark.what));
    } else if (remark.kind == EnvRemark::Kind::sourced_file) {
      const bool of_nccl = remark.what.find("activate") == std::string::npos &&
                           remark.what.find("conda") == std::string::npos;
      if (of_nccl)
        sheet.add("FL074", Severity::note, file, remark.line,
                  "a file is sourced here: what it sets is not seen");
    } else if (remark.kind == EnvRemark::Kind::export_none) {
      const bool dropped = std::ranges::any_of(file.launches, [&](const EnvLaunch& l) {
        return l.kind == EnvLaunch::Kind::srun && !l.passes_all;
      });
      Finding& f = sheet.add("FL073", dropped ? Severity::error : Severity::note, file, remark.line,
                             dropped ? "--export=NONE: srun's tasks see no setting of this file"
                                     : "--export=NONE: the job does not see what sbatch's caller "
                                       "has set");
      f.reason = "sbatch then sets SLURM_EXPORT_ENV=NONE, which every srun in the job obeys";
      f.source = "Slurm sbatch(1), --export";
      f.suggestion = dropped ? "srun --export=ALL" : "";
    }
  }
}

}  // namespace

void check_reach(Sheet& sheet) {
  check_duplicates(sheet);
  check_disagreement(sheet);
  for (const Setting& s : sheet.settings) {
    check_exports(sheet, s);
    check_trapped(sheet, s);
  }
  for (const EnvFile& file : sheet.input.files) {
    for (const EnvLaunch& launch : file.launches) check_launch(sheet, file, launch);
    check_remarks(sheet, file);
  }
}

}  // namespace fabricast::lint_rules_detail
