#include "models/io/records/record_files.hpp"

#include <algorithm>
#include <filesystem>

#include "models/io/formats/text_file.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

std::vector<std::string> record_files(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    require_readable(path);
    std::error_code problem;
    if (fs::is_regular_file(path, problem)) {
      out.push_back(path);
      continue;
    }
    if (!fs::is_directory(path, problem)) {
      read_text_file(path);  // says what it is
      throw Error(Place{path, 0, {}}, "is no file and no folder", "write it to a file first");
    }
    std::vector<std::string> below;
    for (fs::recursive_directory_iterator at(path, problem), end; !problem && at != end;
         at.increment(problem)) {
      const bool hidden = at->path().filename().string().starts_with('.');
      if (hidden && at->is_directory(problem)) at.disable_recursion_pending();
      if (!hidden && at->is_regular_file(problem)) below.push_back(at->path().string());
    }
    if (problem) throw Error(Place{path, 0, {}}, "cannot be read: " + problem.message());
    std::ranges::sort(below);
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}

std::string head_of_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream in = open_file(path);
  std::string out(4096, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

bool begins_as_json_with(std::string_view text, std::initializer_list<std::string_view> words) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos || text[begin] != '{') return false;
  const std::string_view head = text.substr(begin, 4096);
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return head.find(word) != head.npos; });
}

std::string_view last_digits(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t last = name.find_last_of(kDigits);
  if (last == name.npos) return {};
  const std::size_t before = name.find_last_not_of(kDigits, last);
  const std::size_t first = before == name.npos ? 0 : before + 1;
  return name.substr(first, last + 1 - first);
}

}  // namespace fabricast
