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
  /// The option that it is about, "--nodes", where one is at fault. Messages do not show it: who
  /// puts them beside a field of a form reads it.
  std::string about{};
};

/// Of an option whose message begins with it: "--nodes: 0 is too small".
inline Place option_place(std::string option) { return {{}, 0, option, option}; }
/// Of an option that the message names itself, or need not name.
inline Place about(std::string option) { return {{}, 0, {}, std::move(option)}; }

/// Reads `scenarios/a.yaml:12: nodes.gpu.rate: unknown unit "GBs"`, and in a second line
/// `hint: did you mean "GB/s"?`.
class Error : public std::runtime_error {
 public:
  Error(Place place, std::string message, std::string hint = {})
      : std::runtime_error(text(place, message, hint)),
        place_(std::move(place)),
        message_(std::move(message)),
        hint_(std::move(hint)) {}
  explicit Error(std::string message, std::string hint = {})
      : Error(Place{}, std::move(message), std::move(hint)) {}

  const Place& place() const { return place_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }  ///< "" = none
  /// Place and message: why, without what to do.
  std::string reason() const { return text(place_, message_, {}); }

  /// The same mistake where it was met. A file that it names already stays its place; a path alone
  /// goes behind that of `place`. What it is about is said by who is nearest to the user.
  Error with(Place place) const {
    if (place.about.empty() && place.file.empty()) place.about = place_.about;
    if (!place_.file.empty()) {
      Error out = *this;
      if (!place.about.empty()) out.place_.about = std::move(place.about);
      return out;
    }
    if (!place_.path.empty()) place.path += (place.path.empty() ? "" : ": ") + place_.path;
    return {std::move(place), message_, hint_};
  }

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
  std::string message_, hint_;
};

/// What `call` returns; a mistake that it throws without a file is one at `place`.
template <class Call>
auto placed(const Place& place, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    throw error.with(place);
  }
}

}  // namespace fabricast
