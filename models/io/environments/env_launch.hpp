#pragma once
// Settings given with a command: -x of Open MPI, -env of MPICH, --export of Slurm, -e of
// containers.

#include "models/io/environments/env_readers.hpp"
#include "models/io/environments/shell_words.hpp"

namespace fabricast::env_readers {

/// `words` from the program's name on. Adds the settings and, for launchers, the launch.
void read_launch(const std::vector<ShellWord>& words, std::size_t program, const Context& context,
                 EnvFile& out);

/// The name in `NAME=value`; "" when it is no assignment.
std::string_view assigned_name(std::string_view text);
/// Adds `NAME=value` of a word; false when it is none.
bool add_assignment(const ShellWord& word, EnvScope scope, const Context& context, EnvFile& out);

}  // namespace fabricast::env_readers
