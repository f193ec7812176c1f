#include "models/io/imports/nccl_tests_command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <span>

#include "models/io/environments/env_file.hpp"
#include "models/io/formats/log_lines.hpp"
#include "models/nccl/environment/env_values.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

bool starts_processes(std::string_view word) {
  word = word.substr(word.find_last_of('/') + 1);
  constexpr std::array<std::string_view, 9> kLaunchers = {
      "mpirun", "mpiexec", "srun", "prterun", "orterun", "aprun", "jsrun", "flux", "kubectl"};
  return std::ranges::find(kLaunchers, word) != kLaunchers.end();
}

/// The whole number that stands behind one of `names`, or after its "=".
int option_of(std::span<const std::string_view> words,
              std::initializer_list<std::string_view> names) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view name : names) {
      const bool behind = words[i] == name && i + 1 < words.size();
      const bool joined =
          words[i].starts_with(name) && words[i].substr(name.size()).starts_with('=');
      const std::string_view text = behind   ? words[i + 1]
                                    : joined ? words[i].substr(name.size() + 1)
                                             : std::string_view();
      if (const auto value = to_number<std::int64_t>(text))
        out = std::clamp<std::int64_t>(*value, 0, 1 << 24);
    }
  }
  return static_cast<int>(out);
}

/// What a shell would set by `text` in `scope`. Not NCCL_TESTS_: those are nccl-tests' own.
void set_by_shell(std::string_view text, EnvScope scope, Environment& environment) {
  const bool readable = std::ranges::none_of(
      text, [](char c) { return c != '\t' && std::iscntrl(static_cast<unsigned char>(c)) != 0; });
  if (!readable || text.find("NCCL_") == std::string_view::npos) return;
  for (const EnvAssignment& one : parse_env_file(text, "a log", EnvKind::shell).assignments) {
    if (!one.name.starts_with("NCCL_") || one.name.starts_with("NCCL_TESTS_")) continue;
    if (one.scope == EnvScope::unset) environment.unset(one.name);
    if (one.scope == scope && !one.computed && is_settable(one.name, one.value))
      environment.set(one.name, one.value);
  }
}

}  // namespace

std::optional<NamedTest> nccl_tests_command(std::string_view line, int number) {
  const std::vector<std::string_view> words = split_words(line);
  const auto program = std::ranges::find_if(
      words, [](std::string_view word) { return word.find("_perf") != std::string_view::npos; });
  if (program == words.end()) return std::nullopt;
  const std::size_t at = program->find("_perf");
  std::size_t from = at;
  while (from > 0 && (std::islower(static_cast<unsigned char>((*program)[from - 1])) != 0 ||
                      (*program)[from - 1] == '_'))
    --from;
  const auto collective = collective_from_text(program->substr(from, at - from));
  if (!collective) return std::nullopt;
  NamedTest out{*collective, number, 0, 0, 0};
  const std::span<const std::string_view> launcher(words.begin(), program),
      arguments(program, words.end());
  const auto first = std::ranges::find_if(launcher, [](std::string_view word) {
    return starts_processes(word) || word.starts_with("NCCL_");
  });
  // Without the prompt before it.
  const std::string_view begin = first == launcher.end() ? *program : *first;
  set_by_shell(line.substr(static_cast<std::size_t>(begin.data() - line.data())), EnvScope::command,
               out.environment);
  out.starts = std::ranges::any_of(launcher, starts_processes) ||
               (arguments.size() > 1 && arguments[1].starts_with('-'));
  out.threads = option_of(arguments, {"-t", "--nthreads"});
  out.gpus = option_of(arguments, {"-g", "--ngpus"});
  const int of_process = std::max(out.threads, 1) * std::max(out.gpus, 1);
  if (std::ranges::any_of(launcher, starts_processes)) {
    const int processes = option_of(launcher, {"-np", "--np", "-n", "--ntasks"});
    out.ranks = processes < (1 << 20) ? processes * of_process : 0;
  } else if (of_process > 1) {
    out.ranks = of_process;
  }
  return out;
}

void set_by_trace(std::string_view line, Environment& environment) {
  if (!line.starts_with('+')) return;
  line.remove_prefix(std::min(line.find_first_not_of('+'), line.size()));
  set_by_shell(line, EnvScope::exported, environment);
}

}  // namespace fabricast
