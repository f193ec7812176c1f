#pragma once
// Files that come with questions, in folders that go with them.

#include <string>
#include <string_view>

namespace fabricast {

/// A new folder below that of temporary files. Throws OutputError.
class OwnFolder {
 public:
  OwnFolder();
  /// Below another; `name` is its own.
  OwnFolder(const std::string& above, const std::string& name);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const std::string& path() const { return path_; }
  /// The path of a file in it with this text. Throws OutputError.
  std::string write(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace fabricast
