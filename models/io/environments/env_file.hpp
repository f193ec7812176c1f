#pragma once
// Environment settings as people keep them: scripts, job files, container specs, notebooks. Read
// without running anything and without refusing anything: what cannot be known (a value computed at
// run time, a branch that may not be taken) is said, not guessed.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

enum class EnvKind : std::uint8_t {
  plain,      ///< NAME=value lines: docker --env-file, the output of env
  nccl_conf,  ///< nccl.conf: nothing but NAME=value, to the letter
  shell,      ///< sh, bash, sbatch
  csh,
  dockerfile,
  yaml,  ///< Kubernetes, Helm, compose; templates and fragments too
  toml,
  python,  ///< scripts and notebooks
  option   ///< one NAME=value of a command line
};
std::string_view to_text(EnvKind kind);
/// Words that --kind takes: all but `option`.
std::span<const std::string_view> env_kind_words();
/// Throws Error for an unknown word.
EnvKind env_kind_from_text(std::string_view text);

/// How far a setting reaches.
enum class EnvScope : std::uint8_t {
  exported,    ///< every later process sees it
  shell_only,  ///< an assignment that nobody exports
  command,     ///< one launch: `A=B cmd`, -x, -e, --export
  unset
};

/// What is unusual about how a setting is written, apart from its value.
enum class EnvTrap : std::uint8_t {
  comment_in_value,    ///< "value  # text" where comments do not exist
  quotes_in_value,     ///< quotes that are not taken off
  blank_at_end,        ///< of a value that is taken to the letter
  blank_in_name,       ///< "export NAME" or "NAME " where the name is taken to the letter
  commented_name,      ///< "; NAME": looks like a comment and is a name
  carriage_return,     ///< CRLF where the CR stays in the value
  yaml_number,         ///< unquoted: not a string
  yaml_bool,           ///< unquoted yes/no/true/false/on/off
  python_value,        ///< a number, True, False or None where os.environ takes text alone
  value_elsewhere,     ///< valueFrom: not in this file
  build_argument,      ///< ARG: not in the environment of the container
  undefined_argument,  ///< refers to a build argument that is not there: empty
  lost_after_run,      ///< exported in a RUN line, or a subshell of a notebook
  login_shells_only,   ///< written to /etc/profile or the like
  after_init           ///< set after the process group was made
};

struct EnvAssignment {
  std::string name, value;
  int line = 0, column = 0;  ///< 1-based, of the name
  EnvScope scope = EnvScope::exported;
  bool computed = false;     ///< the value holds what only a run can tell
  bool conditional = false;  ///< in a branch, a loop or a function
  int group = 0;  ///< settings that meet each other: one container, one launch, one branch
  std::vector<EnvTrap> traps;

  bool has(EnvTrap trap) const;
};

/// A command that starts processes, and what of the environment it hands to other nodes.
struct EnvLaunch {
  enum class Kind : std::uint8_t { mpirun, srun };
  int line = 0;
  Kind kind{};
  int group = 0;                   ///< of the settings given with it
  std::vector<std::string> names;  ///< -x NAME, --export=...,NAME: passed on by name
  bool by_list = false;            ///< srun --export: nothing but what the list says
  bool passes_all = false;         ///< srun --export=ALL, mpich's -genvall
  bool passes_none = false;        ///< srun --export=NONE
};

struct EnvRemark {
  enum class Kind : std::uint8_t {
    sourced_file,   ///< settings of another file are not seen
    export_none,    ///< #SBATCH --export=NONE
    unread_update,  ///< os.environ is updated from what only a run can tell
    env_from,       ///< a container takes all of a ConfigMap
    crlf,
    unbalanced_quote
  };
  int line = 0;
  Kind kind{};
  std::string what;  ///< the file that is sourced, the ConfigMap
};

struct EnvFile {
  std::string path;  ///< for messages
  EnvKind kind{};
  std::vector<EnvAssignment> assignments;  ///< in the order of the file
  std::vector<EnvLaunch> launches;
  std::vector<EnvRemark> remarks;
  int groups = 0;  ///< made so far, besides those numbered by lines
};

/// NUL bytes, or control characters in masses: a program, an archive, UTF-16.
bool is_binary(std::string_view text);
/// From the name and, where that does not say it, from the content.
EnvKind detect_env_kind(std::string_view path, std::string_view text);

/// `path` is for messages and detection. Throws Error only when it is not text at all.
EnvFile parse_env_file(std::string_view text, const std::string& path,
                       std::optional<EnvKind> kind = {});
/// "-" is standard input. Throws Error with the path when it cannot be read or is not text.
EnvFile read_env_file(const std::string& path, std::optional<EnvKind> kind = {});
/// `NAME=value` of a command line; `number` tells several --env apart, 0 where there is one. Throws
/// Error when it is no assignment.
EnvFile env_option(std::string_view assignment, int number = 0);

/// A letter or '_', then letters, digits and '_'.
bool is_env_name(std::string_view text);

}  // namespace fabricast
