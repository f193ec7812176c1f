#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/complete/values.hpp"

namespace fabricast {

std::vector<Completion> files_like(const std::string& typed, std::string_view endings) {
  namespace fs = std::filesystem;
  const std::size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  const std::string begin = typed.substr(folder.size());
  const auto fits = [&](const std::string& name) {
    const std::size_t dot = name.rfind('.');
    return endings.empty() ||
           (dot != std::string::npos && endings.find(" " + name.substr(dot) + " ") != endings.npos);
  };
  std::vector<Completion> out;
  std::error_code problem;
  fs::directory_iterator entry(folder.empty() ? "." : folder, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || (begin.empty() && name.starts_with('.'))) continue;
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      out.push_back({folder + name + "/", "folder"});
    } else if (fits(name)) {
      out.push_back({folder + name, "file"});
    }
  }
  std::ranges::sort(out, {}, &Completion::word);
  return out;
}

}  // namespace fabricast
