#pragma once
// What the groups of rules share. Each group is one function in a file of its own.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/lint/lint.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast::lint_rules_detail {

/// One setting with where it stands and what the catalogue knows of it.
struct Setting {
  const EnvFile* file = nullptr;
  const EnvAssignment* at = nullptr;
  const Variable* variable = nullptr;  ///< nullptr: in no catalogue

  const std::string& name() const { return at->name; }
  const std::string& value() const { return at->value; }
  /// Its value can be judged: it is set, and known without running anything.
  bool has_value() const { return at->scope != EnvScope::unset && !at->computed; }
  /// NCCL of the release reads it.
  bool acts(NcclVersion version) const {
    return variable != nullptr && variable->read_in(version) && at->scope != EnvScope::unset;
  }
};

struct Sheet {
  const LintInput& input;
  const VariableCatalogue& catalogue;
  std::vector<Setting> settings;  ///< of NCCL and PyTorch, by file and line
  LintResult& result;

  /// Adds a finding about a setting and returns it, to fill in the rest.
  Finding& add(std::string_view rule, Severity severity, const Setting& setting,
               std::string message);
  Finding& add(std::string_view rule, Severity severity, const EnvFile& file, int line,
               std::string message);

  /// Does a process that sees `s` see `other`, too? Those of its own group, and what is exported
  /// outside of branches.
  static bool sees(const Setting& s, const Setting& other);
  /// The setting of this name that counts together with `s`: the last (in nccl.conf the first);
  /// nullptr when there is none or its value is not known.
  const Setting* beside(const Setting& s, std::string_view name) const;
  /// As beside(), its value as NCCL's integer.
  std::optional<std::int64_t> number_beside(const Setting& s, std::string_view name) const;
  /// The nodes' NICs are all served by a plugin: NCCL's own InfiniBand network finds none.
  bool lacks_verbs() const;
  /// All that is known of the environment of a process that sees `s`.
  Environment environment_of(const Setting& s) const;
};

/// strtoll with base 0, as NCCL reads numbers.
struct NumberText {
  std::int64_t value = 0;
  bool complete = false;      ///< nothing behind the number
  bool has_digits = false;    ///< a number at all
  bool out_of_range = false;  ///< of 64 bits
  bool octal = false;         ///< a leading 0
};
NumberText number_text(std::string_view text);

/// One of PyTorch's words for true.
bool is_torch_on(std::string_view text);
/// `NAME=value`, cut when it is long.
std::string shown(const Setting& setting);
/// The same in full, as a shell reads it.
std::string assignment(const Setting& setting);
/// At a character without trimming, as NCCL does.
std::vector<std::string_view> split_list(std::string_view text, char mark);
inline std::vector<std::string_view> comma_list(std::string_view text) {
  return split_list(text, ',');
}
/// "NCCL 2.25.1 is the first that takes it": of the readings after this release's, the first that
/// `takes` the value; "" when there is none.
std::string first_that_takes(const Setting& setting, NcclVersion version,
                             const std::function<bool(const VariableReading&)>& takes);
/// NCCL_ALGO leaves the collective without any algorithm that NCCL has for it. REQUIRES: a list
/// that the release takes.
bool lists_nothing_for(const Sheet& sheet, const Setting& s, Collective collective);
/// "a", "a and b", "a, b and c"
std::string joined(const std::vector<std::string>& words);

void check_names(Sheet& sheet);     ///< FL001..FL005
void check_values(Sheet& sheet);    ///< FL010..FL019
void check_lists(Sheet& sheet);     ///< FL013..FL016 of lists and words
void check_defaults(Sheet& sheet);  ///< FL020
void check_pairs(Sheet& sheet);     ///< FL031, FL042, FL044
void check_hardware(Sheet& sheet);  ///< FL030, FL043
void check_hcas(Sheet& sheet);      ///< FL050..FL054
void check_choices(Sheet& sheet);   ///< FL040, FL041
void check_reach(Sheet& sheet);     ///< FL060..FL075
void check_writing(Sheet& sheet);   ///< FL080..FL084

}  // namespace fabricast::lint_rules_detail
