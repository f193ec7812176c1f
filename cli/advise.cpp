
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options/budget_option.hpp"
#include "cli/options/values.hpp"
#include "cli/options/work_options.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/studies/advise/advise_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct AdviseOptions {
  WorkOptions work;
  std::string goal = "training", format = "text", write;
  double least_percent = 1;
  bool pin_hcas = false;
  BudgetOption budget;
};

AdviseConfig config(const AdviseOptions& options, const CLI::App& command,
                    const PartsCatalogue& parts) {
  AdviseConfig out;
  out.goal = *kGoalWords.find(options.goal);
  WorkOptions work = options.work;
  if (!given(command, "--collective")) work.collective = work_of(out.goal).collectives;
  if (!given(command, "--sizes")) work.sizes = work_of(out.goal).sizes;
  out.work = work_for(out.goal, work.work(command), parts, out.notes);
  out.pin_hcas = options.pin_hcas;
  out.budget = options.budget.wanted(command);
  out.least = options.least_percent / 100;
  return out;
}

/// Before anything is simulated.
void make_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem || !std::filesystem::is_directory(folder))
    throw OutputError(folder + ": is no folder and cannot be made one; --write takes a folder");
}

std::string path_in(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

void write_files(const std::string& folder, const AdviseResult& result, Outputs& outputs) {
  const std::vector<AdviseFile> files = advise_files(result);
  for (const AdviseFile& file : files) outputs.write(path_in(folder, file.name), file.text);
  outputs.commit();
  for (const AdviseFile& file : files) print_err("{}\n", path_in(folder, file.name));
}

std::string text_in(const std::string& format, const AdviseResult& result) {
  if (format == "shell") return advise_shell(result);
  if (format == "kubernetes") return advise_kubernetes(result);
  if (format == "slurm") return advise_slurm(result);
  if (format == "nccl.conf") return advise_nccl_conf(result);
  if (format == "tuner-csv") return advise_tuner(result);
  return advise_verify(result);
}

int run(const AdviseOptions& options, const CLI::App& command, const Answers& answers) {
  const PartsCatalogue parts = load_parts(options.work.job.parts);
  const AdviseConfig asked = config(options, command, parts);
  make_folder(options.write);
  Outputs outputs(command);
  if (!options.write.empty()) {
    for (const std::string_view name : kAdviseFileNames)
      outputs.add("--write", path_in(options.write, name));
  }
  AdviseResult result;
  {
    Progress progress(answers);
    Passes passes(progress.callback(), {0.01, 0.12, 0.1, 0.15, 0.3});
    result = run_advise(asked, candidate_moves(asked.work, parts), parts,
                        load_bands(options.work.job.parts), on_all_cores(answers, passes));
  }
  if (!options.write.empty()) write_files(options.write, result, outputs);
  const auto report = [&] { return advise_report(result); };
  if (options.format == "text" || options.format == "csv" || options.format == "json") {
    answers.give(
        options.format, [&] { return advise_text(result); }, report);
  } else {
    print_out("{}", text_in(options.format, result));
    answers.give(report);
  }
  return kDone;
}

}  // namespace

void add_advise(CLI::App& app, Action& action) {
  auto options = std::make_shared<AdviseOptions>();
  CLI::App* command = app.add_subcommand(
      "advise", "the environment that suits a job best, with what each line of it is worth");
  command
      ->add_option("--goal", options->goal,
                   "what counts: large collectives, tensor-parallel all-reduces, small ones, or "
                   "bytes per second")
      ->check(one_of({"training", "inference", "latency", "bandwidth"}))
      ->capture_default_str();
  add_work_options(*command, options->work);
  command->add_flag("--pin-hcas", options->pin_hcas,
                    "also NCCL_IB_HCA with the exact names of the topology");
  command
      ->add_option("--least", options->least_percent,
                   "percent of the time that a line must save to be written")
      ->check(number_between(0.0, 100.0))
      ->capture_default_str();
  add_budget_option(*command, options->budget,
                    "CPU time of the search, at 10 million events a second; one that takes more "
                    "tries on fewer nodes first what is worth trying on all",
                    "try every setting on all nodes, however long it takes");
  add_html_option(*command);
  add_jobs_option(*command);
  add_output_folder_option(*command, "--write", options->write,
                           "a folder: all forms of it, as files");
  command->add_option("--format", options->format)
      ->check(one_of({"text", "csv", "json", "shell", "kubernetes", "slurm", "nccl.conf",
                      "tuner-csv", "nccl-tests"}))
      ->capture_default_str();
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
