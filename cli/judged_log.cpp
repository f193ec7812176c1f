#include "cli/judged_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/values.hpp"
#include "cli/output/streams.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/variables.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/judge/judge_log.hpp"

namespace fabricast {

namespace {

/// The release that ran, as far as its rules are known. `basis`: what is concluded from the log.
NcclVersion version_of(const std::string& release, const CLI::App& command,
                       const JobOptions& options, std::vector<std::string>& basis) {
  if (given(command, "--nccl") || release.empty()) return options.version();
  NcclVersion version;
  try {
    version = nccl_release_from_text(release);
  } catch (const Error&) {
    return options.version();
  }
  const NcclVersion taken = answered_version(version);
  basis.push_back(fmt::format(
      "NCCL {}: the log{}", release,
      release == to_text(taken) ? "" : fmt::format(", judged by the rules of {}", to_text(taken))));
  return taken;
}

/// What the log says was set, then what the command line says.
Environment environment_of(const NcclTestsLog& log, const NcclTestsTable& table,
                           const Environment& given, JudgeConfig& config) {
  Environment logged, out;
  for (const Environment* one : {&table.environment, &log.environment})
    for (const auto& [name, value] : one->variables()) logged.set(name, value);
  for (const auto& [name, value] : logged.variables()) {
    if (name == "NCCL_DEBUG" || name == "NCCL_DEBUG_SUBSYS") continue;
    out.set(name, value);
    if (given.get(name)) continue;
    config.basis.push_back(fmt::format("{}={}: the log", name, value));
    config.logged_settings.push_back(name);
  }
  for (const auto& [name, value] : given.variables()) out.set(name, value);
  return out;
}

JudgeRequest request_of(const JudgedLogOptions& options) {
  JudgeRequest out{options.topology,          options.fabric, 0,
                   options.job.gpus_per_node, options.sharp,  {}};
  const std::vector<int> nodes = options.job.node_counts();
  if (nodes.size() > 1) throw Error(option_place("--nodes"), "one number, that of the log");
  if (!nodes.empty()) out.nodes = nodes.front();
  if (!options.collective.empty()) {
    const auto asked =
        of_option("--collective", [&] { return parse_collectives(options.collective); });
    if (asked.size() > 1) throw Error(option_place("--collective"), "one, that of the log");
    out.collective = asked.front();
  }
  return out;
}

/// One table of the log, with what the whole log and the command line say.
JudgeConfig config_of(const NcclTestsLog& log, const NcclTestsTable& table, const std::string& file,
                      const JudgedLogOptions& options, const JudgeRequest& request,
                      const CLI::App& command, const PartsCatalogue& parts,
                      const Environment& given_settings) {
  JudgeConfig out = judge_config(table, file, request, parts);
  out.parts = options.job.parts;
  out.version = version_of(log.nccl_version, command, options.job, out.basis);
  out.release_said = given(command, "--nccl") || !log.nccl_version.empty();
  out.environment = environment_of(log, table, given_settings, out);
  out.network = log.network;
  out.run_failed = log.failed;
  out.notes.insert(out.notes.begin(), log.remarks.begin(), log.remarks.end());
  return out;
}

}  // namespace

NcclTestsLog logged_run(const std::string& file, std::string_view command) {
  NcclTestsLog log =
      read_nccl_tests(file, fmt::format("{} takes the output of nccl-tests", command));
  const auto say_remarks = [&] {
    for (const std::string& remark : log.remarks) print_err("{}: {}\n", file, remark);
  };
  if (log.independent_runs) {
    say_remarks();
    throw Error(Place{file, 0, {}}, "each process ran for itself: there is nothing to judge",
                "build nccl-tests with MPI=1");
  }
  std::erase_if(log.tables, [](const NcclTestsTable& table) {
    return judged_rows(table).empty() && (table.rows.empty() || !has_wrong_values(table));
  });
  if (!log.tables.empty()) return log;
  say_remarks();
  throw Error(Place{file, 0, {}}, "no row of nccl-tests is in it",
              "fabricast import FILE says what it is");
}

std::vector<JudgeConfig> judge_configs(const NcclTestsLog& log, const std::string& file,
                                       const JudgedLogOptions& options, const CLI::App& command,
                                       const PartsCatalogue& parts) {
  const Environment settings = options.job.environment();
  const JudgeRequest request = request_of(options);
  std::vector<JudgeConfig> out;
  for (const NcclTestsTable& table : log.tables)
    out.push_back(config_of(log, table, file, options, request, command, parts, settings));
  return out;
}

std::string table_name(const NcclTestsLog& log, const std::string& file, std::size_t table) {
  return log.tables.size() > 1 ? fmt::format("{}, table {}", file, table + 1) : file;
}

}  // namespace fabricast
