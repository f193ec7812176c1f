#pragma once
// A mistake in what was asked, said so that it can be mended: where, what is wrong, what to do.

#include <exception>
#include <string>

#include "fabricast/export.hpp"

namespace fabricast::api {

class FABRICAST_API Error : public std::exception {
 public:
  Error(std::string file, int line, std::string path, std::string message, std::string hint);
  ~Error() override;

  /// All of it: "a.yaml:12: nodes.gpu.rate: unknown unit "GBs"", and the hint in a second line.
  const char* what() const noexcept override { return text_.c_str(); }

  const std::string& file() const { return file_; }  ///< "" = in no file
  int line() const { return line_; }                 ///< from 1; 0 = not known
  /// The option, as "--nodes", or the dotted path of a key in the file; "" = not known.
  const std::string& path() const { return path_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }  ///< "" = none

 private:
  std::string file_;
  int line_;
  std::string path_, message_, hint_, text_;
};

}  // namespace fabricast::api
