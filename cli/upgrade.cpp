#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/report/page_data.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/upgrade/read_targets.hpp"
#include "models/studies/upgrade/upgrade_baseline.hpp"
#include "models/studies/upgrade/upgrade_text.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// What was typed, before it means anything.
struct UpgradeOptions {
  JobOptions job;
  std::string from, to = to_text(kDefaultNccl);
  std::string topology, targets, fabric, sizes = "8B..4GiB", format = "text";
  std::string collective = "all_reduce,all_gather,reduce_scatter,broadcast,reduce";
  std::string junit, markdown, json, baseline, fail_over;
  bool sharp = false, all = false, bisect = false, no_remedies = false;
};

UpgradeConfig config(const UpgradeOptions& options) {
  UpgradeConfig out;
  out.from = of_option("--from", [&] { return nccl_version_from_text(options.from); });
  out.to = of_option("--to", [&] { return nccl_version_from_text(options.to); });
  JobOptions job = options.job;
  job.nccl = options.to;
  UpgradeTarget one;
  static_cast<Job&>(one) = job.job(options.topology, options.fabric, options.sharp);
  one.nodes = job.node_counts();
  UpgradeTarget defaults = one;
  defaults.topology.clear();
  if (!options.targets.empty()) out.targets = load_upgrade_targets(options.targets, defaults);
  if (!options.topology.empty()) {
    one.name = target_name(options.topology);
    out.targets.insert(out.targets.begin(), one);
  }
  if (out.targets.empty()) {
    throw Error("no machine is named",
                "--topology names one (fabricast list topologies), --targets a file of several");
  }
  out.collectives =
      of_option("--collective", [&] { return parse_collectives(options.collective); });
  for (const Collective collective : out.collectives) {
    if (!is_tuned(collective))
      throw Error(option_place("--collective"),
                  "NCCL makes no choice for " + std::string(to_text(collective)),
                  "it chooses for all_reduce, all_gather, reduce_scatter, broadcast, reduce");
  }
  out.sizes = sizes_from_option(options.sizes);
  std::ranges::sort(out.sizes);
  out.remedies = !options.no_remedies;
  out.every_count = options.all || !options.fail_over.empty();
  return out;
}

/// By how much times may differ from those of a baseline.
constexpr double kTolerance = 0.02;

/// "5%" or "5 %", as a share.
std::optional<double> share(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return of_option("--fail-over", [&] { return parse_percent(text); });
}

int run(const UpgradeOptions& options, const CLI::App& command, const Answers& answers) {
  Outputs outputs(command);
  std::string baseline;
  if (!options.baseline.empty())
    baseline = report_in(read_text_file(options.baseline, "--baseline takes what --json wrote"),
                         options.baseline, "upgrade");
  const PartsCatalogue parts = load_parts(options.job.parts);
  const UpgradeConfig asked = config(options);
  const std::optional<double> fail_over = share(options.fail_over);
  UpgradeResult result;
  {
    Progress progress(answers);
    Passes passes(progress.callback(), {0.25, 0.02, 0.3, 0.3});
    result = run_upgrade(asked, parts, on_all_cores(answers, passes));
  }
  if (!options.junit.empty()) outputs.write(options.junit, upgrade_junit(result, fail_over));
  if (!options.markdown.empty()) outputs.write(options.markdown, upgrade_markdown(result));
  if (!options.json.empty()) outputs.write(options.json, report_json(upgrade_report(result)));
  std::vector<UpgradeDrift> drifts;
  if (!baseline.empty()) drifts = compare_upgrade(result, baseline, options.baseline, kTolerance);
  outputs.commit();
  answers.give(
      options.format,
      [&] {
        return upgrade_text(result, {options.all, options.bisect});
      },
      [&] { return upgrade_report(result); });
  if (!options.baseline.empty()) print_err("{}", drift_text(drifts, options.baseline));
  if (const auto loss = result.largest_loss(); fail_over && loss && *loss > *fail_over) {
    print_err("a call takes {:.1f} % longer, more than the {:g} % of --fail-over\n", *loss * 100,
              *fail_over * 100);
    return kCheckFailed;
  }
  if (const int unknown = result.calls_without_times(); fail_over && unknown > 0) {
    print_err(
        "{} otherwise, and how long is not known: --fail-over cannot say that none takes "
        "longer\n",
        calls_run(unknown));
    return kCheckFailed;
  }
  return drifts.empty() ? kDone : kCheckFailed;
}

}  // namespace

void add_upgrade(CLI::App& app, Action& action) {
  auto options = std::make_shared<UpgradeOptions>();
  CLI::App* command =
      app.add_subcommand("upgrade", "what changes with another release of NCCL, and why");
  command->add_option("--from", options->from, "the release that runs now, as 2.21.5")->required();
  command->add_option("--to", options->to, "the one to go to (decide --releases lists all)")
      ->capture_default_str();
  add_topology_option(*command, options->topology);
  command->add_option("--targets", options->targets,
                      "YAML file of machines: targets: [{topology: dgx-h100, nodes: 1..64}]");
  add_fabric_option(*command, options->fabric);
  add_job_options(*command, options->job);
  command->remove_option(command->get_option("--nccl"));  // --from and --to stand for it
  command->add_option("--collective", options->collective, "list")->capture_default_str();
  add_sizes_option(*command, options->sizes);
  add_sharp_option(*command, options->sharp);
  command->add_flag("--bisect", options->bisect, "name the releases in which each call changed");
  command->add_flag("--all", options->all,
                    "list every change, not only the largest, simulated on every number of nodes");
  command->add_flag("--no-remedies", options->no_remedies,
                    "do not look for variables and tuner lines that give time back");
  command->add_option(
      "--fail-over", options->fail_over,
      "exit code 1 if a call takes longer by more than this, as 5%: every change is "
      "simulated on every number of nodes");
  add_output_option(*command, "--junit", options->junit, "write JUnit XML to this file");
  add_output_option(*command, "--markdown", options->markdown, "write tables for a pull request");
  add_output_option(*command, "--json", options->json, "write the report to this file, too");
  command->add_option("--baseline", options->baseline,
                      "what --json wrote earlier: exit code 1 if something is not as it was");
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
