#pragma once
// The environment a job runs with: NCCL_* and other variables as the user gave them. What NCCL
// makes of their values stands in settings.hpp.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// Variables in the order in which they were first set; setting one again replaces its value.
class Environment {
 public:
  /// `NAME=value`, value verbatim, as from a command line. Throws Error when there is no name or
  /// '='.
  void set(std::string_view assignment);
  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);

  /// The text of a file of `NAME=value` lines, each optionally after `export`. Blank lines and
  /// lines that start with '#' are skipped. A value in single or double quotes is taken as it is;
  /// otherwise it ends before " #" (a comment) and has no blanks at its ends. `file` is for
  /// messages.
  void read_text(std::string_view text, const std::string& file);

  std::optional<std::string_view> get(std::string_view name) const;
  /// The line of a file that set it; no place where no file did.
  Place place_of(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& variables() const { return variables_; }

  /// Names that begin with NCCL_ and change nothing here yet, unknown ones too, in order. Without
  /// those that environment_warnings() speaks of.
  std::vector<std::string> not_acted_on() const;

 private:
  std::vector<std::pair<std::string, std::string>> variables_;
  std::map<std::string, Place, std::less<>> places_;  ///< of those that a file set
};

/// The variables that act.
std::span<const std::string_view> acting_variables();

/// It acts, or environment_warnings() says what is missing.
bool is_known(std::string_view name);

/// One sentence each, beginning with the variable: what the version does not read, and what would
/// change its decisions but is not modelled.
std::vector<std::string> environment_warnings(const Environment& environment, NcclVersion version);

}  // namespace fabricast
