#pragma once
// Values of options: checked where they are read, with a message that names the option.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "text/words.hpp"

namespace fabricast {

bool given(const CLI::App& command, const char* option);

CLI::Validator whole_number(int min, int max);
/// Not nan, which CLI::Range lets through.
CLI::Validator number_between(double min, double max);
/// `unknown WHAT "wrod"`, with the nearest word. --help and completions list the words.
CLI::Validator one_of(std::vector<std::string> words, const std::string& what = "word");

/// --parts.
CLI::Option* add_parts_option(CLI::App& command, std::string& parts);

/// --sizes, with the value it has as its default.
CLI::Option* add_sizes_option(CLI::App& command, std::string& sizes);
/// The value of --sizes. Says on stderr what nccl-tests' letters mean, where they stand in it.
std::vector<Bytes> sizes_from_option(const std::string& text);

/// What `parse` throws, said of the option. What has a place in a file keeps it.
template <class Parse>
auto of_option(const char* option, Parse parse) {
  return placed(option_place(option), parse);
}

/// What `parse` makes of each of "a,b". Throws Error: two of them are the same.
template <class Parse>
auto each_once(const std::string& text, Parse parse) {
  std::vector<std::invoke_result_t<Parse, std::string_view>> out;
  for (const std::string_view item : comma_items(text)) {
    auto value = parse(item);
    if (std::ranges::find(out, value) != out.end())
      throw Error(std::string(item) + " is asked for twice");
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace fabricast
