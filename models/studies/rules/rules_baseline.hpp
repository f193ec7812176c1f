#pragma once
// A run of rules beside an earlier one: a regression test of rules of thumb across releases of
// NCCL, topologies and releases of this program.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/studies/rules/rules.hpp"

namespace fabricast {

/// What an earlier run found.
struct RulesBaseline {
  struct Point {
    std::string found;
    std::optional<double> figure;
  };
  struct Rule {
    RuleVerdict verdict{};
    std::map<std::string, Point> points;  ///< by what point_names() says
  };
  std::string file;
  std::map<std::string, Rule> rules;  ///< by id
};

/// What rules_json() wrote. Throws Error with the line.
RulesBaseline load_baseline(const std::string& file);
RulesBaseline parse_baseline(const std::string& text, const std::string& file);

/// "tuned, 2 nodes, 8 GiB": unique in its rule, as points that are named alike are numbered.
std::vector<std::string> point_names(const Rule& rule, const RuleOutcome& outcome);

struct RuleChange {
  std::string rule, where;  ///< where: "" = the verdict
  std::string before, after;
};

struct RulesComparison {
  std::string baseline;                ///< its file
  double tolerance = 0;                ///< share of a figure
  std::vector<RuleChange> verdicts;    ///< that differ
  std::vector<RuleChange> figures;     ///< that differ by more, and words that differ
  std::vector<std::string> only_here;  ///< rules
  std::vector<std::string> only_there;
};

RulesComparison compare_rules(const RulesResult& result, const RulesBaseline& baseline,
                              double tolerance);

}  // namespace fabricast
