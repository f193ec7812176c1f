#pragma once
// The study behind `fabricast check`: rules of thumb as data, each asked of NCCL's tuning model, of
// simulations and of the readers of files, with a verdict and the figures. A rule has checks; a
// check gives points (a size on a number of nodes, a row of a table); a point is as claimed or not.
// Texts of it: rules_text.hpp; comparison with an earlier run: rules_baseline.hpp.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/studies/bench/bench.hpp"
#include "models/studies/rules/rule_claim.hpp"
#include "models/studies/shared/for_each.hpp"
#include "sim/base/error.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// Who answers a check. docs/check.md says what each takes.
enum class Ask : std::uint8_t {
  choice,       ///< what NCCL chooses
  fastest,      ///< which of several variants is the fastest, simulated
  figure,       ///< a figure of a simulated run
  compare,      ///< a figure of two simulated runs
  lint,         ///< which findings settings raise
  default_of,   ///< a variable's default in the release
  import_file,  ///< what a file of a tool says
  hang,         ///< whether a trace of calls ends
  judge,        ///< what `judge` says of an nccl-tests output
  step,         ///< a figure of a training step
  serve,        ///< a figure of serving
  part,         ///< a figure of a GPU or NIC of the topology
  price,        ///< of a GPU and hour
  retry,        ///< InfiniBand's time-outs
  not_modelled  ///< nobody: the check says what is missing
};
/// Words of rule files.
inline constexpr auto kAskWords =
    enum_words<Ask>("choice", "fastest", "figure", "compare", "lint", "default", "import", "hang",
                    "judge", "step", "serve", "part", "price", "retry", "not-modelled");

struct FigureKind {
  std::string word;
  Dimension dimension{};
};
/// What can be asked for; empty where the answer is words.
const std::vector<FigureKind>& figures_of(Ask ask);

/// A run beside others: of `compare` and `fastest`.
struct RuleVariant {
  std::string name;
  BenchConfig config;
};

struct RuleCheck {
  Place place;
  Ask ask{};
  std::string label;
  BenchConfig config;                 ///< sizes, nodes, cluster, release, environment
  std::vector<RuleVariant> variants;  ///< compare: base, with
  FigureKind figure;
  Claim claim;
  std::string file, over;                            ///< paths; over: the step to compare with
  std::string text;                                  ///< import, hang: the file's text itself
  std::string name;                                  ///< variable, GPU
  std::vector<std::pair<std::string, Claim>> finds;  ///< import: by key
  std::string because;                               ///< not_modelled: what is missing
};

enum class RuleVerdict : std::uint8_t { holds, holds_in_range, contradicted, not_simulated };
inline constexpr auto kRuleVerdictWords =
    enum_words<RuleVerdict>("holds", "holds-in-range", "contradicted", "not-simulated");
inline constexpr int kRuleVerdicts = kRuleVerdictWords.words.size();
constexpr std::string_view to_text(RuleVerdict verdict) { return kRuleVerdictWords[verdict]; }

struct Rule {
  Place place;
  std::string id, claim, source;
  std::string why;  ///< the mechanism; shown where the verdict is the expected one
  std::optional<RuleVerdict> expect;  ///< nothing: a rule is a claim, and is to hold

  RuleVerdict expected() const { return expect.value_or(RuleVerdict::holds); }
  std::vector<RuleCheck> checks;
};

struct RuleFile {
  std::string file, name, title;
  std::string parts;  ///< file of own parts; "" = none
  std::vector<Rule> rules;
};

/// What the command line puts in place of what a file says for all its checks. A check that names
/// its own keeps it.
struct RuleOverrides : Job {  // its environment: on top of the file's
  std::vector<int> nodes;
  bool has_version = false;
};

/// models/studies/rules/read_rules.cpp. Throws Error. Paths are relative to the file's folder.
RuleFile load_rules(const std::string& file, const RuleOverrides& overrides = {});
RuleFile parse_rules(const std::string& text, const std::string& file,
                     const RuleOverrides& overrides = {});

/// Where NCCL is asked, of each check and its variants: whose variables are to act.
std::vector<Job> jobs_of(const RuleFile& file);

/// One condition, what is claimed of it and what was found.
struct RulePoint {
  std::string group, at;  ///< "4 nodes", "64 MiB"
  std::string claimed, found;
  std::optional<double> figure;  ///< of `found`; nothing where it is words
  bool holds = false;
};

struct CheckOutcome {
  std::vector<RulePoint> points;
  std::string not_simulated;  ///< why there are none
};

struct RuleOutcome {
  RuleVerdict verdict{};
  std::size_t holding = 0, points = 0;
  std::string range;  ///< where it holds, if not everywhere
  std::vector<CheckOutcome> checks;
};

struct RulesResult {
  RuleFile file;
  std::vector<RuleOutcome> outcomes;  ///< by rule
};

/// All points of a check. Throws Error for input that is wrong: a topology or a file that is not
/// there. What is asked and cannot be simulated here is an outcome.
CheckOutcome answer(const RuleCheck& check, const PartsCatalogue& parts);
/// What the points of all checks come to.
RuleOutcome verdict_of(const Rule& rule, std::vector<CheckOutcome> checks);
RulesResult run_rules(RuleFile file, const PartsCatalogue& parts, const ForEach& for_each);

}  // namespace fabricast
