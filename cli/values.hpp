#pragma once
// Values of options: checked where they are read, with a message that names the option.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace fabricast {

bool given(const CLI::App& command, const char* option);

CLI::Validator whole_number(int min, int max);
/// `unknown WHAT "wrod"`, with the nearest word. --help and completions list the words.
CLI::Validator one_of(std::vector<std::string> words, const std::string& what = "word");

/// The value of --sizes. Says on stderr what nccl-tests' letters mean, where they stand in it.
std::vector<Bytes> sizes_from_option(const std::string& text);

/// What `parse` throws, said of the option. What has a place in a file keeps it.
template <class Parse>
auto of_option(const char* option, Parse parse) {
  return placed({{}, 0, option}, parse);
}

}  // namespace fabricast
