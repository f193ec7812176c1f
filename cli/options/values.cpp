#include "cli/options/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <regex>

#include "cli/output/streams.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

bool given(const CLI::App& command, const char* option) {
  return command.get_option(option)->count() > 0;
}

CLI::Validator whole_number(int min, int max) {
  const auto check = [=](const std::string& text) -> std::string {
    const auto value = to_number<int>(text);
    if (value && *value >= min && *value <= max) return {};
    return fmt::format("\"{}\" is not a whole number from {} to {}", text, min, max);
  };
  return CLI::Validator(check, "");
}

CLI::Validator number_between(double min, double max) {
  const auto check = [=](const std::string& text) -> std::string {
    const auto value = to_number<double>(text);
    if (value && *value >= min && *value <= max) return {};
    return fmt::format("\"{}\" is not a number from {:g} to {:g}", text, min, max);
  };
  return CLI::Validator(check, fmt::format("FLOAT in [{:g} - {:g}]", min, max));
}

CLI::Validator one_of(std::vector<std::string> words, const std::string& what) {
  const std::string known = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto check = [words = std::move(words), what](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return {};
    return Error(fmt::format("unknown {} \"{}\"", what, text), hint_nearest(text, words)).what();
  };
  return CLI::Validator(check, known);
}

CLI::Option* add_parts_option(CLI::App& command, std::string& parts) {
  return command.add_option("--parts", parts, "YAML file of own parts, on top of the catalogue");
}

CLI::Option* add_sizes_option(CLI::App& command, std::string& sizes) {
  return command.add_option("--sizes", sizes, "8B..16GiB (doubling), 8B..1GiB:x4, or 1MiB,64MiB")
      ->capture_default_str();
}

std::vector<Bytes> sizes_from_option(const std::string& text) {
  const std::vector<Bytes> out = of_option("--sizes", [&] { return parse_sizes(text); });
  std::smatch letter;
  if (std::regex_search(text, letter, std::regex("[0-9][KMGkmg]([^iB0-9A-Za-z]|$)")))
    print_err("note: --sizes {}: K, M and G are powers of 1024, as in nccl-tests\n", text);
  return out;
}

}  // namespace fabricast
