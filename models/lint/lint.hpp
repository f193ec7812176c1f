#pragma once
// The linter of environments: what each variable really does in a release of NCCL and on a node,
// and what is wrong with it. Rules are functions from all settings to findings; each finding has a
// rule, a severity, a reason with its source, and a suggestion.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/cluster/cluster.hpp"
#include "models/io/environments/env_file.hpp"
#include "models/nccl/environment/variables.hpp"
#include "models/nccl/node/node_description.hpp"

namespace fabricast {

/// note: worth knowing. warning: has no effect, or costs time. error: is read as something else
/// than it says, or NCCL refuses to start.
enum class Severity : std::uint8_t { note, warning, error };
std::string_view to_text(Severity severity);

struct LintRule {
  std::string_view id;    ///< "FL010", stable
  std::string_view name;  ///< "not-a-number"
  std::string_view what;  ///< one sentence
};
/// All rules, in the order of their ids.
std::span<const LintRule> lint_rules();
/// REQUIRES: an id of lint_rules().
const LintRule& lint_rule(std::string_view id);

struct Finding {
  std::string_view rule;  ///< an id of lint_rules()
  Severity severity{};
  std::string file;
  int line = 0, column = 0;  ///< 1-based; 0 = of the whole file, or of the command line
  std::string variable;
  std::string message;
  std::string reason;      ///< what NCCL does with it; may be empty
  std::string source;      ///< file and release of NCCL, or a document
  std::string suggestion;  ///< may be empty
};

struct LintInput {
  std::vector<EnvFile> files;
  NcclVersion version = kDefaultNccl;
  const Cluster* cluster = nullptr;  ///< nullptr: rules about hardware are skipped
  /// What NCCL is told of each node, as in CommunicatorConfig.
  std::optional<NodeDescription> description;
  /// Where NVLink joins servers into one node: the same as NCCL has it when told not to join them.
  const Cluster* apart = nullptr;
  std::optional<NodeDescription> description_apart = {};
  bool sharp = false;  ///< the fabric offers SHARP
};

struct LintResult {
  std::vector<Finding> findings;   ///< by file, then line
  std::vector<std::string> notes;  ///< what was not checked, and why
  int settings = 0;                ///< of NCCL and PyTorch that were looked at
};

LintResult lint(const LintInput& input, const VariableCatalogue& catalogue);

/// The worst severity; nothing when there are no findings.
std::optional<Severity> worst(const LintResult& result);

}  // namespace fabricast
