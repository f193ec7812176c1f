#include "cli/ui/own_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/output/streams.hpp"

namespace fabricast {

namespace fs = std::filesystem;

OwnFolder::OwnFolder()
    : path_((fs::temp_directory_path() / ("fabricast-ui-" + std::string(6, 'X'))).string()) {
  if (mkdtemp(path_.data()) == nullptr)
    throw OutputError(path_ + ": cannot be made; TMPDIR names another folder for such files");
}

OwnFolder::OwnFolder(const std::string& above, const std::string& name)
    : path_(above + "/" + name) {
  std::error_code problem;
  if (!fs::create_directory(path_, problem) || problem)
    throw OutputError(path_ +
                      ": cannot be made: " + (problem ? problem.message() : "it is there already"));
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string OwnFolder::write(const std::string& name, std::string_view text) const {
  std::string path = path_ + "/" + name;
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw OutputError(name + ": cannot be kept: " + std::generic_category().message(errno));
  return path;
}

}  // namespace fabricast
