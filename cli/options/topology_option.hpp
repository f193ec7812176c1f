#pragma once
// The option --topology, with what may be changed of it, the same in every command that takes one.

#include <CLI/CLI.hpp>
#include <string>

#include "models/hardware/node/node_changes.hpp"

namespace fabricast {

/// The option `name` (--topology, or a positional one) and --nics, --gpu. As soon as the command
/// line is read, `topology` has the changes in its name and stderr says what it stands for.
/// `or_of`: the option whose file says a topology where there is none; the command gives that one
/// the changes. Without either they are refused.
CLI::Option* add_topology_option(CLI::App& command, std::string& topology,
                                 const std::string& name = "--topology",
                                 const char* or_of = nullptr);

/// --nics and --gpu.
NodeChanges asked_changes(const CLI::App& command);

/// What --nics and --gpu make of a topology that a file names.
std::string with_options(const CLI::App& command, const std::string& topology);

/// --fabric; `usual`: what is taken where it is not given, "" = the topology's own.
CLI::Option* add_fabric_option(CLI::App& command, std::string& fabric,
                               const std::string& usual = {});

/// --sharp, which means the same everywhere.
CLI::Option* add_sharp_option(CLI::App& command, bool& sharp);

}  // namespace fabricast
