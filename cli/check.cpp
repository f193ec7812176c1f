#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/values.hpp"
#include "cli/workers.hpp"
#include "models/io/words.hpp"
#include "models/studies/rules_text.hpp"

namespace fabricast {

namespace {

struct CheckOptions {
  JobOptions job;
  std::string rules, topology, fabric, junit, markdown, json, baseline;
  std::vector<std::string> only;
  double tolerance = 2;
  bool sharp = false, details = false;
};

RuleOverrides overrides(const CheckOptions& options, const CLI::App& command) {
  RuleOverrides out;
  out.topology = options.topology;
  out.fabric = options.fabric;
  out.nodes = options.job.node_counts();
  out.gpus_per_node = options.job.gpus_per_node;
  out.sharp = options.sharp;
  if (given(command, "--nccl")) out.version = options.job.version();
  out.environment = options.job.environment();
  return out;
}

/// Only these rules, in the order of the file.
void keep(const std::vector<std::string>& only, RuleFile& file) {
  if (only.empty()) return;
  std::vector<std::string> known;
  for (const Rule& rule : file.rules) known.push_back(rule.id);
  for (const std::string& id : only) {
    if (std::ranges::find(known, id) == known.end())
      throw Error(Place{{}, 0, "--only"}, fmt::format("no rule is named \"{}\"", id),
                  hint_nearest(id, known));
  }
  std::erase_if(file.rules,
                [&](const Rule& rule) { return std::ranges::find(only, rule.id) == only.end(); });
}

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out.fail()) throw Error(Place{path, 0, {}}, "cannot be written");
}

int run(const CheckOptions& options, const CLI::App& command) {
  RuleFile file = load_rules(options.rules, overrides(options, command));
  keep(options.only, file);
  std::optional<RulesBaseline> baseline;
  if (!options.baseline.empty()) baseline = load_baseline(options.baseline);
  if (baseline && !options.only.empty())
    std::erase_if(baseline->rules, [&](const auto& rule) {
      return std::ranges::find(options.only, rule.first) == options.only.end();
    });
  const PartsCatalogue parts =
      load_parts(options.job.parts.empty() ? file.parts : options.job.parts);
  if (!options.topology.empty())
    of_option("--topology", [&] { return load_nodes(options.topology, parts); });
  RulesResult result;
  {
    Progress progress;
    const auto callback = progress.callback();
    result = run_rules(std::move(file), parts, [&](std::size_t count, const auto& one) {
      for_each_on_all_cores(count, one, callback);
    });
  }
  std::optional<RulesComparison> changes;
  if (baseline) changes = compare_rules(result, *baseline, options.tolerance / 100);
  write(options.junit, options.junit.empty() ? "" : rules_junit(result, changes));
  write(options.markdown, options.markdown.empty() ? "" : rules_markdown(result));
  write(options.json, options.json.empty() ? "" : rules_json(result));
  fmt::print("{}", rules_text(result, options.details));
  if (changes) {
    fmt::print("{}", comparison_text(*changes));
    return changes->verdicts.empty() ? kDone : kCheckFailed;
  }
  const std::string against = expectations_text(result);
  fmt::print("{}", against);
  return against.empty() ? kDone : kCheckFailed;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "rules of thumb from a file: which hold here, and where");
  command->add_option("rules", options->rules, "YAML file (docs/check.md)")->required();
  command->add_option("--topology", options->topology,
                      "in place of the file's; a rule that names its own keeps it");
  command->add_option("--fabric", options->fabric, "preset name or YAML file, likewise");
  add_job_options(*command, options->job);
  command->get_option("--nccl")->default_str("the file's, else 2.21.5");
  command->add_flag("--sharp", options->sharp,
                    "the fabric offers SHARP: a CollNet plugin serves all NICs");
  command->add_option("--only", options->only, "ids of rules (list)")->delimiter(',');
  command->add_flag("--details", options->details, "every point of every rule");
  command->add_option("--baseline", options->baseline,
                      "an earlier run's --json: what changed since");
  command
      ->add_option("--tolerance", options->tolerance,
                   "per cent by which a figure may differ from the earlier run's")
      ->check(CLI::Range(0., 1000.))
      ->capture_default_str();
  command->add_option("--junit", options->junit, "write JUnit XML to this file");
  command->add_option("--markdown", options->markdown, "write a table to this file");
  command->add_option("--json", options->json, "write verdicts and figures to this file");
  command->callback([options, command, &action] {
    action = [options, command] { return run(*options, *command); };
  });
}

}  // namespace fabricast
