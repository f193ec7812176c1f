#include "cli/options/job_options.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "cli/options/values.hpp"
#include "cli/output/streams.hpp"
#include "models/io/environments/env_file.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/bench/bench.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// One line for each.
std::vector<std::string> idle_variables(const Environment& environment, NcclVersion version) {
  const std::vector<std::string> names = environment.not_acted_on();
  if (names.empty()) return {};
  const VariableCatalogue catalogue = load_variables();
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (name.starts_with("NCCL_TESTS_SPLIT")) continue;  // bench acts on it
    const std::optional<UnreadName> unread = unread_name(catalogue, name, version);
    std::string line = name + ": " + (unread ? unread->why : "not acted on yet");
    if (unread && !unread->instead.empty()) line += "; " + unread->instead;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

void say_what_does_not_act(std::span<const Job> jobs) {
  std::set<std::string> said;
  for (const Job& job : jobs) {
    for (const std::string& line : idle_variables(job.environment, job.version))
      if (said.insert(line).second) print_err("{}\n", line);
  }
}

void set_from_file(const std::string& path, std::string_view option, Environment& out) {
  const std::string hint = fmt::format("{} takes a file of NAME=value lines", option);
  const std::string text = read_text_file(path, hint);
  if (is_binary(text)) throw Error(Place{path, 0, {}}, "is not text", hint + ", in UTF-8");
  out.read_text(text, path);
}

NcclVersion JobOptions::version() const {
  return of_option("--nccl", [&] { return nccl_version_from_text(nccl); });
}

std::vector<int> JobOptions::node_counts() const {
  if (!nodes) return {};
  return of_option("--nodes", [&] { return parse_counts(*nodes, "nodes", kNodesMax); });
}

Environment JobOptions::variables() const {
  Environment out;
  if (!env_file.empty()) set_from_file(env_file, "--env-file", out);
  for (const std::string& assignment : env) of_option("--env", [&] { out.set(assignment); });
  for (const std::string_view name : acting_variables()) {
    if (std::getenv(std::string(name).c_str()) == nullptr || out.get(name)) continue;
    print_err("{0} is set in this shell but not read: give --env {0}=...\n", name);
  }
  return out;
}

Environment JobOptions::environment() const {
  const Environment out = variables();
  Job elsewhere;
  elsewhere.version = version();
  elsewhere.environment = out;
  for (const std::string_view name : also_acting) elsewhere.environment.unset(name);
  say_what_does_not_act({&elsewhere, 1});
  return out;
}

void add_gpus_option(CLI::App& command, JobOptions& options) {
  command
      .add_option("--gpus-per-node", options.gpus_per_node, "use only so many GPUs of each node")
      ->check(whole_number(1, kGpusPerNodeMax));
}

void add_variables_options(CLI::App& command, JobOptions& options) {
  command.add_option("--env", options.env, "NAME=value, as the job would see it; may be repeated")
      ->expected(1)
      ->take_all();
  command.add_option("--env-file", options.env_file, "file of NAME=value lines");
}

void add_environment_options(CLI::App& command, JobOptions& options) {
  command
      .add_option("--nccl", options.nccl,
                  "a release from 2.18 on, as 2.21.5 (decide --releases lists them)")
      ->capture_default_str();
  add_variables_options(command, options);
}

void add_job_options(CLI::App& command, JobOptions& options) {
  command.add_option("--nodes", options.nodes,
                     "1,2,4 or 1..64 (doubling); default: the topology's, else 1");
  add_gpus_option(command, options);
  add_parts_option(command, options.parts);
  add_environment_options(command, options);
}

}  // namespace fabricast
