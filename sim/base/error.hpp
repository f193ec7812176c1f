#pragma once
// A mistake of the user, said so that it can be mended: where, what is wrong, what to do.
// Our own mistakes are assertions. Errors are caught once, in cli.

#include <stdexcept>
#include <string>
#include <utility>

namespace fabricast {

/// Where in the user's input something stands. Empty parts are left out of the message.
struct Place {
  std::string file;
  int line = 0;      ///< 1-based; 0 = unknown
  std::string path;  ///< dotted path of the key, e.g. "nodes.gpu.nvlink.rate"
};

/// Reads `scenarios/a.yaml:12: nodes.gpu.rate: unknown unit "GBs"`, and in a second line
/// `hint: did you mean "GB/s"?`.
class Error : public std::runtime_error {
 public:
  Error(Place place, std::string message, std::string hint = {})
      : std::runtime_error(text(place, message, hint)), place_(std::move(place)) {}
  explicit Error(std::string message, std::string hint = {})
      : Error(Place{}, std::move(message), std::move(hint)) {}

  const Place& place() const { return place_; }

 private:
  static std::string text(const Place& place, const std::string& message, const std::string& hint) {
    std::string out;
    if (!place.file.empty()) {
      out += place.file;
      if (place.line > 0) {
        out += ':';
        out += std::to_string(place.line);
      }
      out += ": ";
    }
    if (!place.path.empty()) out += place.path + ": ";
    out += message;
    if (!hint.empty()) out += "\nhint: " + hint;
    return out;
  }

  Place place_;
};

}  // namespace fabricast
