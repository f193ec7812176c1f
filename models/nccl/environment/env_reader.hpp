#pragma once
// Reads single variables as NCCL's parsers do (src/misc/param.cc), and notes what they bend.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast {

class EnvReader {
 public:
  /// Warnings are one sentence each, beginning with the variable.
  EnvReader(const Environment& environment, NcclVersion version, std::vector<std::string>& warnings)
      : environment_(environment), version_(version), warnings_(warnings) {}

  NcclVersion version() const { return version_; }

  /// As it is written.
  std::optional<std::string_view> raw(std::string_view name) const {
    return environment_.get(name);
  }
  /// The same, but an empty value counts as none.
  std::optional<std::string_view> text(std::string_view name) const;
  /// strtoll with base 0, and nothing said about what follows the number. NCCL's own "not set" (-2)
  /// counts as none.
  std::optional<std::int64_t> integer(std::string_view name);
  /// The integer, moved into low..high with a warning.
  std::optional<std::int64_t> integer_within(std::string_view name, std::int64_t low,
                                             std::int64_t high);
  /// `kept` with a warning if it is not what the variable says.
  std::int64_t bent(std::string_view name, std::int64_t said, std::int64_t kept);

  /// Throws Error, "NAME=value: what", where the variable was set.
  [[noreturn]] void refuse(std::string_view name, std::string_view what, std::string hint) const;
  void warn(std::string_view name, std::string_view what);
  /// "NAME=value".
  std::string quoted(std::string_view name) const;
  Place place_of(std::string_view name) const { return environment_.place_of(name); }

  static constexpr std::int64_t kUnset = -2;

 private:
  const Environment& environment_;
  NcclVersion version_;
  std::vector<std::string>& warnings_;
};

}  // namespace fabricast
