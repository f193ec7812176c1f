#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options/topology_option.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/streams.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/lint/lint_text.hpp"
#include "models/nccl/base/releases.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

struct LintOptions {
  std::vector<std::string> files, env, env_files;
  std::string topology, fabric, parts, kind, explain;
  std::string nccl = to_text(kDefaultNccl), format = "text", fail_on = "error";
  int nodes = 0;  ///< 0 = what the topology says
  bool sharp = false, list_rules = false, list_variables = false;
};

/// --env takes a file, or NAME=value where there is no file of that name.
bool is_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  return equals != std::string::npos && is_env_name(text.substr(0, equals)) &&
         !std::filesystem::exists(text);
}

std::vector<EnvFile> read_files(const LintOptions& options) {
  std::optional<EnvKind> kind;
  if (!options.kind.empty()) kind = env_kind_from_text(options.kind);
  std::vector<EnvFile> out;
  for (const std::string& file : options.files) out.push_back(read_env_file(file, kind));
  for (const std::string& file : options.env_files) out.push_back(read_env_file(file, kind));
  const bool several = std::ranges::count_if(options.env, is_assignment) > 1;
  int number = 0;  // of the option, as given
  for (const std::string& text : options.env) {
    ++number;
    out.push_back(is_assignment(text)
                      ? of_option("--env", [&] { return env_option(text, several ? number : 0); })
                      : read_env_file(text, kind));
  }
  if (out.empty())
    throw Error("nothing to look at", "give files, --env NAME=value, or - for standard input");
  return out;
}

/// A modelled series by its name is the release that stands for it, so that "2.21" is 2.21.5.
NcclVersion release(const std::string& text) {
  for (const NcclVersion known : kModelledVersions) {
    if (text == fmt::format("2.{}", known.series)) return known;
  }
  return nccl_release_from_text(text);
}

std::string rules_text() {
  std::string out;
  for (const LintRule& rule : lint_rules())
    out += fmt::format("{}  {:<18} {}\n", rule.id, rule.name, rule.what);
  return out;
}

std::string explanation(const std::string& name, NcclVersion version) {
  const VariableCatalogue catalogue = load_variables();
  const Variable* variable = catalogue.find(name);
  if (variable != nullptr) return explain_variable(*variable, version);
  std::vector<std::string> names;
  for (const Variable& v : catalogue.all()) names.push_back(v.name);
  const std::string near = nearest(name, names);
  throw Error(fmt::format("nobody reads {}", name),
              near.empty() ? "fabricast lint --list-variables lists all names"
                           : fmt::format("did you mean {}?", near));
}

bool fails(const LintResult& result, const std::string& fail_on) {
  const std::optional<Severity> found = worst(result);
  if (!found || fail_on == "never") return false;
  for (const Severity s : {Severity::note, Severity::warning, Severity::error}) {
    if (fail_on == to_text(s)) return *found >= s;
  }
  return false;
}

int check(const LintOptions& options, NcclVersion version, const Answers& answers) {
  LintInput input;
  input.files = read_files(options);
  input.version = version;
  input.sharp = options.sharp;
  std::optional<Cluster> cluster, apart;
  if (!options.topology.empty()) {
    const PartsCatalogue parts = load_parts(options.parts);
    const Topology topology(options.topology, options.fabric, parts);
    const NodesRequest asked{options.nodes, true};
    cluster.emplace(topology.cluster(asked));
    input.cluster = &*cluster;
    input.description = topology.describe(asked).node;
    if (cluster->hosts() > cluster->nodes()) {
      const NodesRequest each{options.nodes, false};
      apart.emplace(topology.cluster(each));
      input.apart = &*apart;
      input.description_apart = topology.describe(each).node;
    }
  }
  const LintResult result = lint(input, load_variables());
  if (options.format == "sarif") {
    print_out("{}", lint_sarif(result));
    answers.give([&] { return lint_report(result, version); });
  } else {
    answers.give(
        options.format, [&] { return lint_text(result, version); },
        [&] { return lint_report(result, version); });
  }
  return fails(result, options.fail_on) ? kCheckFailed : kDone;
}

int run(const LintOptions& options, const Answers& answers) {
  const NcclVersion version = of_option("--nccl", [&] { return release(options.nccl); });
  if (options.list_rules) {
    print_out("{}", rules_text());
  } else if (options.list_variables) {
    print_out("{}", variables_markdown(load_variables()));
  } else if (!options.explain.empty()) {
    print_out("{}", explanation(options.explain, version));
  } else {
    return check(options, version, answers);
  }
  return kDone;
}

}  // namespace

void add_lint(CLI::App& app, Action& action) {
  auto options = std::make_shared<LintOptions>();
  CLI::App* command = app.add_subcommand(
      "lint", "what each environment variable really does, and what is wrong with it");
  command->add_option("files", options->files,
                      "scripts, job files, container specs, NAME=value lines; - is stdin");
  command->add_option("--env", options->env, "a file as well, or NAME=value; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--env-file", options->env_files, "a file as well")->expected(1)->take_all();
  command->add_option("--kind", options->kind, "of all files; default: by name and content of each")
      ->check(one_of({env_kind_words().begin(), env_kind_words().end()}, "kind"));
  add_topology_option(*command, options->topology)
      ->description("preset name or YAML file; without it nothing is said of hardware");
  command->add_option("--nodes", options->nodes, "number of nodes; default: the topology's, else 1")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  add_fabric_option(*command, options->fabric);
  add_parts_option(*command, options->parts);
  add_sharp_option(*command, options->sharp);
  command->add_option("--nccl", options->nccl, "any release of NCCL 2, like 2.18.3")
      ->capture_default_str();
  add_html_option(*command);
  command->add_option("--format", options->format)
      ->check(one_of({"text", "json", "sarif"}))
      ->capture_default_str();
  command->add_option("--fail-on", options->fail_on, "least severity for which the exit code is 1")
      ->check(one_of({"error", "warning", "note", "never"}))
      ->capture_default_str();
  command->add_flag("--list-rules", options->list_rules, "print the rules");
  command->add_flag("--list-variables", options->list_variables, "print the catalogue");
  command->add_option("--explain", options->explain, "print all that is known of one variable");
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
