#pragma once
// Who answers the checks of rules, one function for each way to ask.

#include "models/studies/rules/rules.hpp"

namespace fabricast::rule_answers {

// Asked of NCCL's tuning model and of simulated runs: rule_runs.cpp.
CheckOutcome choice(const RuleCheck& check, const PartsCatalogue& parts);
CheckOutcome fastest(const RuleCheck& check, const PartsCatalogue& parts);
CheckOutcome run_figure(const RuleCheck& check, const PartsCatalogue& parts);
CheckOutcome compare(const RuleCheck& check, const PartsCatalogue& parts);

// Asked of readers of files and catalogues: rule_files.cpp.
CheckOutcome lint_findings(const RuleCheck& check, const PartsCatalogue& parts);
CheckOutcome default_of(const RuleCheck& check);
CheckOutcome imported(const RuleCheck& check);
CheckOutcome hang(const RuleCheck& check);
CheckOutcome judged(const RuleCheck& check, const PartsCatalogue& parts);
CheckOutcome part_figure(const RuleCheck& check, const PartsCatalogue& parts);
CheckOutcome price(const RuleCheck& check);
CheckOutcome retry(const RuleCheck& check);

// Asked of training steps and serving: rule_steps.cpp.
CheckOutcome step_figure(const RuleCheck& check, const PartsCatalogue& parts);
CheckOutcome serve_figure(const RuleCheck& check, const PartsCatalogue& parts);

/// A point with its verdict. `detail` stands behind the figure.
RulePoint point_of(const RuleCheck& check, double figure, const FormulaValues& values,
                   const std::string& detail = {});
RulePoint point_of(const RuleCheck& check, const std::string& found);
/// One point, and nothing else.
CheckOutcome only(RulePoint point);

}  // namespace fabricast::rule_answers
