#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/studies/rules/rules_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

struct CheckOptions {
  JobOptions job;
  std::string rules, topology, fabric, junit, markdown, json, baseline;
  std::vector<std::string> only;
  double tolerance = 2;
  bool sharp = false, details = false;
};

/// One set for each release of --nccl; without it one, of the releases that the file names.
std::vector<RuleOverrides> overrides(const CheckOptions& options, const CLI::App& command) {
  std::vector<std::string> releases = {""};
  if (given(command, "--nccl")) releases = CLI::detail::split(options.job.nccl, ',');
  const Environment environment = options.job.variables();
  std::vector<RuleOverrides> out;
  for (const std::string& release : releases) {
    JobOptions job = options.job;
    if (!release.empty()) job.nccl = release;
    RuleOverrides& one = out.emplace_back();
    static_cast<Job&>(one) = {options.topology, options.fabric, job.gpus_per_node, options.sharp,
                              job.version(),    environment,    nullptr,           job.parts};
    one.nodes = job.node_counts();
    one.has_version = given(command, "--nccl");
    for (const RuleOverrides& other : out) {
      if (&other != &one && other.version == one.version)
        throw Error(option_place("--nccl"), fmt::format("{} is asked for twice", release));
    }
  }
  return out;
}

/// Only these rules, in the order of the file.
void keep(const std::vector<std::string>& only, RuleFile& file) {
  if (only.empty()) return;
  std::vector<std::string> known;
  for (const Rule& rule : file.rules) known.push_back(rule.id);
  for (const std::string& id : only) {
    if (std::ranges::find(known, id) == known.end())
      throw Error(option_place("--only"), fmt::format("no rule is named \"{}\"", id),
                  hint_nearest(id, known));
  }
  std::erase_if(file.rules,
                [&](const Rule& rule) { return std::ranges::find(only, rule.id) == only.end(); });
}

/// The seconds that each check took, added up by rule.
class Stopwatch {
 public:
  explicit Stopwatch(const RuleFile& file) : seconds_(file.rules.size()) {
    for (std::size_t r = 0; r < file.rules.size(); ++r)
      rule_of_.insert(rule_of_.end(), file.rules[r].checks.size(), r);
  }
  void add(std::size_t check, double seconds) {
    const std::lock_guard lock(mutex_);
    seconds_[rule_of_[check]] += seconds;
  }
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> rule_of_;
  std::vector<double> seconds_;
};

/// The file's rules for each of them; names on stderr what does not act.
std::vector<RuleFile> files_of(const CheckOptions& options,
                               const std::vector<RuleOverrides>& asked) {
  std::vector<RuleFile> out;
  std::vector<Job> jobs;
  for (const RuleOverrides& one : asked) {
    keep(options.only, out.emplace_back(load_rules(options.rules, one)));
    std::ranges::move(jobs_of(out.back()), std::back_inserter(jobs));
  }
  say_what_does_not_act(jobs);
  return out;
}

RulesRun run_one(const CheckOptions& options, const RuleOverrides& asked, RuleFile file,
                 const Answers& answers) {
  RulesRun out;
  if (asked.has_version) out.release = to_text(asked.version);
  const PartsCatalogue parts = load_parts(file.parts);
  if (!options.topology.empty())
    of_option("--topology", [&] { return load_nodes(options.topology, parts); });
  Stopwatch watch(file);
  Progress progress(answers);
  const ForEach for_each = on_all_cores(answers, progress.callback());
  out.result = run_rules(std::move(file), parts, [&](std::size_t count, const auto& one) {
    const auto timed = [&](std::size_t i) {
      const auto begin = std::chrono::steady_clock::now();
      one(i);
      watch.add(i, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    };
    for_each(count, timed);
  });
  out.seconds = watch.seconds();
  return out;
}

std::optional<RulesBaseline> baseline_of(const CheckOptions& options, std::size_t runs) {
  if (options.baseline.empty()) return std::nullopt;
  if (runs > 1)
    throw Error(about("--baseline"), "--baseline compares one run: --nccl names several",
                "one release at a time");
  RulesBaseline out = load_baseline(options.baseline);
  if (!options.only.empty())
    std::erase_if(out.rules, [&](const auto& rule) {
      return std::ranges::find(options.only, rule.first) == options.only.end();
    });
  return out;
}

void write_files(const CheckOptions& options, const std::vector<RulesRun>& runs,
                 const std::optional<RulesComparison>& changes, Outputs& outputs) {
  if (!options.junit.empty()) outputs.write(options.junit, rules_junit(runs, changes));
  if (!options.markdown.empty()) outputs.write(options.markdown, rules_markdown(runs));
  if (!options.json.empty()) outputs.write(options.json, report_json(rules_report(runs)));
  outputs.commit();
}

int run(const CheckOptions& options, const CLI::App& command, const Answers& answers) {
  Outputs outputs(command);
  const std::vector<RuleOverrides> asked = overrides(options, command);
  const std::optional<RulesBaseline> baseline = baseline_of(options, asked.size());
  std::vector<RulesRun> runs;
  std::vector<RuleFile> files = files_of(options, asked);
  for (std::size_t i = 0; i < asked.size(); ++i)
    runs.push_back(run_one(options, asked[i], std::move(files[i]), answers));
  std::optional<RulesComparison> changes;
  if (baseline) changes = compare_rules(runs.front().result, *baseline, options.tolerance / 100);
  write_files(options, runs, changes, outputs);
  answers.give([&] { return rules_report(runs); });
  std::string page;
  bool as_expected = true;
  for (const RulesRun& one : runs) {
    if (runs.size() > 1)
      page += fmt::format("{}NCCL {}\n\n", &one == &runs.front() ? "" : "\n", one.release);
    page += rules_text(one.result, options.details);
    if (changes) continue;
    const std::string against = expectations_text(one.result);
    page += against;
    as_expected = as_expected && against.empty();
  }
  if (changes) {
    page += comparison_text(*changes);
    as_expected = changes->verdicts.empty();
  }
  if (answers.prints) print_out("{}", page);
  return as_expected ? kDone : kCheckFailed;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "rules of thumb from a file: which hold here, and where");
  command->add_option("rules", options->rules, "YAML file (docs/check.md)")->required();
  add_topology_option(*command, options->topology)
      ->description("in place of the file's; a rule that names its own keeps it");
  command->add_option("--fabric", options->fabric, "preset name or YAML file, likewise");
  add_job_options(*command, options->job);
  command->get_option("--nccl")->default_str("the file's, else " + to_text(kDefaultNccl));
  add_sharp_option(*command, options->sharp);
  command->add_option("--only", options->only, "ids of rules (list)")->delimiter(',');
  command->add_flag("--details", options->details, "every point of every rule");
  command->add_option("--baseline", options->baseline,
                      "an earlier run's --json: what changed since");
  command
      ->add_option("--tolerance", options->tolerance,
                   "per cent by which a figure may differ from the earlier run's")
      ->check(number_between(0., 1000.))
      ->capture_default_str();
  add_output_option(*command, "--junit", options->junit, "write JUnit XML to this file");
  add_output_option(*command, "--markdown", options->markdown, "write a table to this file");
  add_output_option(*command, "--json", options->json, "write verdicts and figures to this file");
  add_html_option(*command);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
