#pragma once
// Files that a run writes: each whole or not at all, and none over what the run reads. Written to a
// temporary name in the same folder; commit() gives all of them their own.

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// An option that names a file to write. Who has to know of such files knows it by this: Outputs,
/// the groups of --help, and the live page, which writes none.
CLI::Option* add_output_option(CLI::App& command, const std::string& name, std::string& file,
                               const std::string& what);
/// The same where only the option itself is asked for its value.
CLI::Option* add_output_option(CLI::App& command, const std::string& name, const std::string& what);
/// An option that names a folder for files to write, which the command adds to its Outputs.
CLI::Option* add_output_folder_option(CLI::App& command, const std::string& name,
                                      std::string& folder, const std::string& what);
/// Is it one of these?
bool names_output(const CLI::Option& option);

class Outputs {
 public:
  /// With the files to write that the options of `command` were given. Before anything is
  /// simulated: throws as add() does.
  explicit Outputs(const CLI::App& command);
  ~Outputs();  ///< what is not committed has never been there
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// One more file, which `option` asks for. Throws Error when the run reads it, or writes it
  /// twice, and OutputError when it cannot be written.
  void add(const std::string& option, const std::string& path);
  /// REQUIRES: the path was given or added. Throws OutputError.
  void write(const std::string& path, std::string_view text);
  void write(const std::string& path, const std::function<void(std::ostream&)>& writer);
  /// The same by another program: the name that it has to write to.
  std::string written_elsewhere(const std::string& path);
  /// Throws OutputError.
  void commit();

 private:
  struct File {
    std::string path;
    std::string real;       ///< where links lead
    std::string temporary;  ///< "" = none: not written yet, or a device or pipe
  };

  File& file(const std::string& path);
  void check_is_no_input(const std::string& option, const File& file) const;

  std::vector<std::string> inputs_;  ///< what the command line names and is a file
  std::vector<File> files_;
};

}  // namespace fabricast
