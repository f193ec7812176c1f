#pragma once
// Findings and the catalogue as people and machines read them.

#include <string>

#include "models/io/report/report.hpp"
#include "models/lint/lint.hpp"

namespace fabricast {

/// "file:line:col: severity: message [FL010]", indented reason, source and suggestion, a summary.
std::string lint_text(const LintResult& result, NcclVersion version);
/// The table is findings (docs/lint.md).
Report lint_report(const LintResult& result, NcclVersion version);
/// SARIF 2.1.0, for code scanning.
std::string lint_sarif(const LintResult& result);

/// The whole catalogue as a Markdown table of name, reader, releases, default and effect, and one
/// of what releases after 2.18.1 changed.
std::string variables_markdown(const VariableCatalogue& catalogue);
/// All that is known of one variable, and what its default is in `version`.
std::string explain_variable(const Variable& variable, NcclVersion version);

}  // namespace fabricast
