#pragma once
// What an option or an argument takes: words of a list, names that the program knows, files.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// A word for a command line, and what it is in one line. A word that ends in '/', '=', ',' or ':'
/// goes on.
struct Completion {
  std::string word, what;
};

/// The words of a check by one_of(); empty where the option has none.
std::vector<std::string> enumerated(const CLI::Option& option);

/// Those that begin as `typed`. `command` is its name, as "sweep status".
std::vector<Completion> values_of(const std::string& command, const CLI::Option& option,
                                  const std::string& typed);

/// Folders and files of the folder that `typed` begins with; of files only those with one of the
/// endings, as " .yaml .yml "; all where there are none.
std::vector<Completion> files_like(const std::string& typed, std::string_view endings);

/// Values of an environment variable, as the newest release of NCCL reads it: words, 0 and 1, path
/// types; of a list the last item. Empty for numbers and for names nobody knows.
std::vector<Completion> values_of_variable(const std::string& name, const std::string& typed);
/// NAME=value, or without `assigned` the name alone.
std::vector<Completion> variables_like(const std::string& typed, bool assigned);

/// Keeps those that begin as `typed`.
std::vector<Completion> that_begin(std::vector<Completion> all, const std::string& typed);
/// For a list with commas: `all` are words for its last item.
std::vector<Completion> in_list(std::vector<Completion> all, const std::string& typed);

}  // namespace fabricast
