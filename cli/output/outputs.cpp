#include "cli/output/outputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "cli/output/streams.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/formats/yaml_tree.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

namespace fs = std::filesystem;

// Types of options in --help, by which those that write are known.
constexpr const char* kFileType = "FILE";
constexpr const char* kFolderType = "FOLDER";

bool names_file(const CLI::Option& option) { return option.get_type_name() == kFileType; }

[[noreturn]] void fail(const std::string& path, int why) {
  throw OutputError(
      fmt::format("{}: cannot be written: {}", path, std::generic_category().message(why)));
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_same(const std::string& a, const std::string& b) {
  std::error_code problem;
  return fs::equivalent(a, b, problem) && !problem;
}

/// All scalars of a tree that could name a file.
void names_in(const YamlNode& node, std::vector<std::string>& out) {
  constexpr std::size_t kNameMax = 4096;
  if (node.kind == YamlNode::Kind::scalar && !node.text.empty() && node.text.size() < kNameMax)
    out.push_back(node.text);
  for (const YamlNode& item : node.items) names_in(item, out);
}

/// The files that a file of ours names, as seen from its folder or from here; none of what is no
/// YAML.
std::vector<std::string> files_named_in(const std::string& file) {
  std::vector<std::string> names, out;
  try {
    names_in(parse_yaml(read_text_file(file), file), names);
  } catch (const Error&) {  // who reads it will say what is wrong
    return {};
  }
  for (const std::string& name : names) {
    for (const fs::path& path : {fs::path(file).parent_path() / name, fs::path(name)})
      if (is_file(path.string())) out.push_back(path.string());
  }
  return out;
}

/// The file that `inputs`, or the files that those name, have in common with `path`, and who names
/// it ("" = the command line).
struct Found {
  bool found = false;
  std::string by;
};
Found found_among(const std::vector<std::string>& inputs, const std::string& path) {
  std::vector<std::pair<std::string, std::string>> left;  // file, named by
  std::set<std::string> seen;
  for (const std::string& input : inputs) left.emplace_back(input, "");
  while (!left.empty()) {
    const auto [file, by] = left.back();
    left.pop_back();
    if (is_same(file, path)) return {true, by};
    std::error_code ignored;
    if (!seen.insert(fs::weakly_canonical(file, ignored).string()).second) continue;
    for (const std::string& name : files_named_in(file)) left.emplace_back(name, file);
  }
  return {};
}

/// Fails before a long run, not after it. A pipe needs a reader.
void check_writable(const std::string& path, const std::string& real) {
  std::error_code ignored;
  const fs::file_status status = fs::status(real, ignored);
  if (fs::is_directory(status)) fail(path, EISDIR);
  if (fs::exists(status)) {
    if (access(real.c_str(), W_OK) != 0) fail(path, errno);
    if (!fs::is_fifo(status)) return;
    const int pipe = open(real.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe < 0) fail(path, errno);
    close(pipe);
    return;
  }
  const fs::path folder = fs::path(real).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) fail(path, errno);
}

/// A new file beside `real`, with its permissions if there is one.
std::string make_temporary(const std::string& path, const std::string& real) {
  const fs::path folder = fs::path(real).parent_path();
  for (int number = 0;; ++number) {
    const fs::path ending = fs::path(real).extension();  // by which other programs go
    const std::string name =
        (folder / fmt::format(".fabricast-{}-{}{}", getpid(), number, ending.string())).string();
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) fail(path, errno);
    close(file);
    std::error_code ignored;
    if (is_file(real)) fs::permissions(name, fs::status(real).permissions(), ignored);
    return name;
  }
}

}  // namespace

CLI::Option* add_output_option(CLI::App& command, const std::string& name, std::string& file,
                               const std::string& what) {
  return command.add_option(name, file, what)->type_name(kFileType);
}

CLI::Option* add_output_option(CLI::App& command, const std::string& name,
                               const std::string& what) {
  return command.add_option(name, what)->type_name(kFileType);
}

CLI::Option* add_output_folder_option(CLI::App& command, const std::string& name,
                                      std::string& folder, const std::string& what) {
  return command.add_option(name, folder, what)->type_name(kFolderType);
}

bool names_output(const CLI::Option& option) {
  return names_file(option) || option.get_type_name() == kFolderType;
}

Outputs::Outputs(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (!names_file(*option))
      std::ranges::copy_if(option->results(), std::back_inserter(inputs_), is_file);
  for (const CLI::Option* option : command.get_options()) {
    if (!names_file(*option)) continue;
    for (const std::string& path : option->results()) add(option->get_name(), path);
  }
}

Outputs::~Outputs() {
  std::error_code ignored;
  for (const File& file : files_)
    if (!file.temporary.empty()) fs::remove(file.temporary, ignored);
}

void Outputs::check_is_no_input(const std::string& option, const File& file) const {
  if (!is_file(file.real)) return;
  const Found input = found_among(inputs_, file.real);
  if (input.found)
    throw Error(option_place(option),
                fmt::format("{} is an input of this run{}", file.path,
                            input.by.empty() ? "" : ": " + input.by + " names it"),
                "name another file to write");
}

void Outputs::add(const std::string& option, const std::string& path) {
  std::error_code problem;
  File file{path, fs::weakly_canonical(fs::absolute(path, problem), problem).string(), {}};
  // "/dev/stdout" may lead to a pipe without a name.
  if (problem || (exists(path) && !exists(file.real))) file.real = path;
  for (const File& other : files_) {
    if (other.real == file.real && (is_file(file.real) || !exists(file.real)))
      throw Error(option_place(option), fmt::format("{} is written twice", path),
                  "a file for each");
  }
  check_is_no_input(option, file);
  check_writable(path, file.real);
  files_.push_back(std::move(file));
}

void Outputs::write(const std::string& path, std::string_view text) {
  const std::string clean = terminal_text(text);  // somebody will look at it
  write(path, [&](std::ostream& out) {
    out.write(clean.data(), static_cast<std::streamsize>(clean.size()));
  });
}

Outputs::File& Outputs::file(const std::string& path) {
  const auto found =
      std::ranges::find_if(files_, [&](const File& other) { return other.path == path; });
  assert(found != files_.end());
  return *found;
}

std::string Outputs::written_elsewhere(const std::string& path) {
  File& to = file(path);
  const bool is_special = exists(to.real) && !is_file(to.real);
  if (is_special) return to.real;
  if (to.temporary.empty()) to.temporary = make_temporary(path, to.real);
  return to.temporary;
}

void Outputs::write(const std::string& path, const std::function<void(std::ostream&)>& writer) {
  const std::string name = written_elsewhere(path);
  errno = 0;
  std::ofstream out(name, std::ios::binary);
  writer(out);
  out.close();
  if (out.fail()) fail(path, errno == 0 ? EIO : errno);
}

void Outputs::commit() {
  for (File& file : files_) {
    if (file.temporary.empty()) continue;
    std::error_code problem;
    fs::rename(file.temporary, file.real, problem);
    if (problem) fail(file.path, problem.value());
    file.temporary.clear();
  }
}

}  // namespace fabricast
