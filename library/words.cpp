#include "library/words.hpp"

#include <fmt/format.h>

#include <sstream>

#include "cli/program.hpp"
#include "sim/base/error.hpp"

namespace fabricast::api {

std::vector<std::string> words_of(const Options& options) {
  std::vector<std::string> out;
  for (const auto& [name, values] : options) {
    if (name.empty() || name.starts_with('-'))
      throw fabricast::Error(fmt::format("\"{}\" is no name of an option", name),
                             "as in --help, without the hyphens before it");
    const std::string typed = (name.size() == 1 ? "-" : "--") + name;
    if (values.empty()) out.push_back(typed);
    for (const std::string& value : values) {
      if (name.size() == 1) {
        out.insert(out.end(), {typed, value});
      } else {
        out.push_back(fmt::format("{}={}", typed, value));
      }
    }
  }
  return out;
}

std::vector<std::string> words_of(const Job& job) {
  std::vector<std::string> out;
  std::istringstream study(job.study);  // "validate steps" is two words
  for (std::string word; study >> word;) out.push_back(word);
  if (out.empty()) throw fabricast::Error("a job without a study", "name a command: bench");
  auto files = job.arguments.begin();
  if (out.size() == 1 && files != job.arguments.end() && has_part(out.front(), *files))
    out.push_back(*files++);
  const std::vector<std::string> options = words_of(job.options);
  out.insert(out.end(), options.begin(), options.end());
  if (files == job.arguments.end()) return out;
  out.emplace_back("--");
  out.insert(out.end(), files, job.arguments.end());
  return out;
}

}  // namespace fabricast::api
