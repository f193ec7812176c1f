#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options/budget_option.hpp"
#include "cli/options/values.hpp"
#include "cli/options/work_options.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/shared/named_job.hpp"
#include "models/studies/whatif/whatif_text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kSetupsMax = 64;

/// What was typed, before it means anything.
struct WhatifOptions {
  WorkOptions work;
  BudgetOption budget;
  std::string format = "text";
  std::vector<std::string> to, unset;
  // Several of these: several setups after the change.
  std::vector<std::string> env_files, versions, topologies, fabrics;
};

/// All that before is compared with.
std::vector<NamedJob> afters(const WhatifOptions& options, const Job& before) {
  std::vector<NamedJob> out = {{"", before}};
  multiply(out, options.topologies, [](Job& setup, const std::string& value) {
    placed(about("--to-topology"), [&] { check_topology_name(value); });
    setup.topology = value;
    return "topology " + value;
  });
  multiply(out, options.fabrics, [](Job& setup, const std::string& value) {
    placed(about("--to-fabric"), [&] { check_fabric_name(value); });
    setup.fabric = value;
    return "fabric " + value;
  });
  multiply(out, options.versions, [](Job& setup, const std::string& value) {
    setup.version = of_option("--to-nccl", [&] { return nccl_version_from_text(value); });
    return "NCCL " + value;
  });
  multiply(out, options.env_files, [](Job& setup, const std::string& value) {
    setup.environment = {};
    set_from_file(value, "--to-env-file", setup.environment);
    return std::filesystem::path(value).stem().string();
  });
  if (out.size() > kSetupsMax)
    throw Error(fmt::format("{} setups are too many, at most {}", out.size(), kSetupsMax));
  for (NamedJob& one : out) {
    for (const std::string& name : options.unset) one.job.environment.unset(name);
    for (const std::string& assignment : options.to)
      of_option("--to", [&] { one.job.environment.set(assignment); });
  }
  std::vector<Job> jobs;
  for (const NamedJob& one : out) jobs.push_back(one.job);
  say_what_does_not_act(jobs);
  return out;
}

int run(const WhatifOptions& options, const CLI::App& command, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.work.job.parts);
  const BandTable bands = load_bands(options.work.job.parts);
  Work before = options.work.work(command);
  if (!options.work.layout.empty()) refuse_beside_layout(command, {"--budget", "--exact"});
  if (auto* bench = std::get_if<BenchConfig>(&before))
    bench->budget = options.budget.wanted(command);
  const std::vector<NamedJob> after = afters(options, job_of(before));
  std::function<std::string()> page;
  std::function<Report()> report;
  if (after.size() == 1) {
    Progress progress(answers);
    const Job& to = after.front().job;
    const auto two = std::make_shared<WhatifResult>(run_whatif(
        before, with_job(before, to), parts, bands, on_all_cores(answers, progress.callback())));
    page = [two] { return whatif_text(*two); };
    report = [two, &before, &to] { return whatif_report(*two, job_of(before), to); };
  } else {
    std::vector<NamedWork> works = {{"before", before}};
    for (const NamedJob& one : after) works.push_back({one.name, with_job(before, one.job)});
    Progress progress(answers);
    const auto many = std::make_shared<WhatifTable>(
        compare_all(works, parts, bands, on_all_cores(answers, progress.callback())));
    page = [many] { return whatif_text(*many); };
    report = [many, works] { return whatif_report(*many, works); };
  }
  answers.give(options.format, page, report);
  return kDone;
}

}  // namespace

void add_whatif(CLI::App& app, Action& action) {
  auto options = std::make_shared<WhatifOptions>();
  options->work.collective = "all_reduce";
  options->work.sizes = "1MiB,1GiB";
  CLI::App* command = app.add_subcommand(
      "whatif", "the same work before and after several changes: what each is worth, and why");
  add_work_options(*command, options->work);
  command->add_option("--to", options->to, "NAME=value after the change; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--to-unset", options->unset, "a variable that goes; may be repeated")
      ->expected(1)
      ->take_all();
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* what) {
    command->add_option(name, values, what)->expected(1)->take_all();
  };
  repeated("--to-env-file", options->env_files,
           "the whole environment after the change, in place of --env and --env-file");
  repeated("--to-nccl", options->versions, "version after the change");
  repeated("--to-topology", options->topologies, "preset name or YAML file");
  repeated("--to-fabric", options->fabrics,
           "preset name or YAML file; several of these four: a table of each against before");
  add_budget_option(*command, options->budget,
                    "CPU time for a call, at 10 million events a second; one that takes more gets "
                    "bounds of its time instead, or is extrapolated, and a note",
                    "simulate every call, however long it takes");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
