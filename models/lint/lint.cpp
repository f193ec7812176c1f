#include "models/lint/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <tuple>

#include "models/lint/rules.hpp"
#include "models/nccl/base/releases.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

namespace {

using namespace lint_rules_detail;

constexpr LintRule kRules[] = {
    {"FL001", "unknown-name", "No release of NCCL reads this name."},
    {"FL002", "read-by-others", "The name is read by something else than NCCL."},
    {"FL003", "removed", "The release does not read the variable any more."},
    {"FL004", "not-yet", "The release does not read the variable yet."},
    {"FL005", "old-name", "An old name that still works."},
    {"FL010", "not-a-number", "Text where NCCL reads an integer."},
    {"FL011", "not-a-switch", "A word where NCCL reads 0 or 1."},
    {"FL012", "out-of-range", "A number outside what the variable takes."},
    {"FL013", "unknown-word", "A word the variable does not know."},
    {"FL014", "path-level", "Not a path level, which are upper case."},
    {"FL015", "blank-in-list", "A blank in a list that is not trimmed."},
    {"FL016", "choice-list", "NCCL_ALGO or NCCL_PROTO does not name what it should."},
    {"FL017", "octal", "A leading 0 makes a number octal."},
    {"FL018", "bad-step", "A number that is no multiple of what it must be."},
    {"FL019", "empty", "An empty value counts as not set."},
    {"FL020", "default", "The value is the default."},
    {"FL030", "no-effect-here", "The hardware lacks what the variable acts on."},
    {"FL031", "no-effect-beside", "Another setting leaves the variable without effect."},
    {"FL040", "beaten-choice", "A forced choice that another beats in NCCL's own model."},
    {"FL041", "ll128-forced", "LL128 without the check whether the hardware keeps its order."},
    {"FL042", "channel-bounds", "A lower bound above the upper one."},
    {"FL043", "fast-path-off", "A setting keeps traffic off the node's fast path."},
    {"FL044", "contradiction", "Two settings that do not go together."},
    {"FL050", "hca-none", "The HCA list selects nothing."},
    {"FL051", "hca-unmatched", "An entry of a list of HCAs matches no device."},
    {"FL052", "hca-prefix", "An entry is a prefix of other names."},
    {"FL053", "hca-numa", "GPUs are left without a NIC on their NUMA node."},
    {"FL054", "hca-fewer", "The HCA list leaves NICs unused."},
    {"FL060", "set-twice", "The variable is set more than once; one setting counts."},
    {"FL061", "disagree", "Parts of a job set different values."},
    {"FL070", "set-after-init", "The variable is set when it has been read already."},
    {"FL071", "not-exported", "A shell variable that no process sees."},
    {"FL072", "not-passed-on", "The launcher does not hand the variable to other nodes."},
    {"FL073", "export-none", "The job drops its environment."},
    {"FL074", "not-seen", "Settings that are made elsewhere and were not read."},
    {"FL075", "lost", "The setting is gone when the job runs."},
    {"FL080", "comment-in-value", "Text that looks like a comment is part of the value."},
    {"FL081", "quotes-in-value", "Quotes or blanks are part of the value."},
    {"FL082", "odd-name", "The name is not the one that was meant."},
    {"FL083", "line-ends", "Carriage returns at the ends of lines."},
    {"FL084", "not-text", "A number or boolean of YAML or Python where text is required."},
    {"FL085", "open-quote", "A quote that is never closed."},
};

/// Rules compare settings with each other: bounds what hostile input can cost.
constexpr std::size_t kSettingsMax = 2000;

/// Is it ours to look at? Nothing else of a file may appear in the output: it may be a secret.
bool concerns_nccl(const EnvAssignment& a, const VariableCatalogue& catalogue) {
  const Variable* known = catalogue.find(a.name);
  if (known != nullptr)
    return known->reader == VariableReader::libnccl || a.name.starts_with("NCCL_") ||
           a.name.starts_with("TORCH_NCCL_") || known->reader == VariableReader::pytorch;
  if (a.name.starts_with("NCCL_") || a.name.starts_with("TORCH_NCCL_")) return true;
  // Near a name of NCCL: "NCLL_DEBUG", "nccl_debug"; not a script's own "var_NCCL_IB_HCA".
  if (a.scope == EnvScope::shell_only || a.name.find("NCCL_") != std::string::npos) return false;
  constexpr std::size_t prefix_max = 5;
  const std::string_view prefix = std::string_view(a.name).substr(0, a.name.find('_'));
  const bool alike = prefix.size() < a.name.size() && prefix.size() <= prefix_max &&
                     prefix.find_first_of("Nn") == 0 &&
                     prefix.find_first_of("Cc") != std::string_view::npos;
  return alike && catalogue.nearest_read(a.name).starts_with("NCCL_");
}

bool before(const Finding& a, const Finding& b) {
  return std::tie(a.line, a.column, a.rule) < std::tie(b.line, b.column, b.rule);
}

/// By file in the order given, by line within it.
void sort_findings(LintResult& result, const LintInput& input) {
  const auto file_of = [&](const Finding& f) {
    return std::ranges::find(input.files, f.file, &EnvFile::path) - input.files.begin();
  };
  std::ranges::stable_sort(result.findings, [&](const Finding& a, const Finding& b) {
    const auto left = file_of(a), right = file_of(b);
    return left != right ? left < right : before(a, b);
  });
}

}  // namespace

std::string_view to_text(Severity severity) {
  return enum_words<Severity>("note", "warning", "error")[severity];
}

std::span<const LintRule> lint_rules() { return kRules; }

const LintRule& lint_rule(std::string_view id) {
  const auto at = std::ranges::find(kRules, id, &LintRule::id);
  assert(at != std::end(kRules));
  return *at;
}

LintResult lint(const LintInput& input, const VariableCatalogue& catalogue) {
  LintResult result;
  Sheet sheet{input, catalogue, {}, result};
  for (const EnvFile& file : input.files) {
    for (const EnvAssignment& a : file.assignments) {
      if (sheet.settings.size() == kSettingsMax) break;
      if (concerns_nccl(a, catalogue))
        sheet.settings.push_back({&file, &a, catalogue.find(a.name)});
    }
  }
  result.settings = static_cast<int>(sheet.settings.size());
  if (sheet.settings.size() == kSettingsMax)
    result.notes.push_back(fmt::format("only the first {} settings were checked", kSettingsMax));
  if (input.version > kNewestSearched)
    result.notes.push_back(
        fmt::format("names and defaults are those of {}: what {} adds or drops is not known",
                    nccl_release_text(kNewestSearched), nccl_release_text(input.version)));
  for (const auto check : {check_names, check_values, check_lists, check_defaults, check_pairs,
                           check_hardware, check_hcas, check_choices, check_reach, check_writing})
    check(sheet);
  sort_findings(result, input);
  return result;
}

std::optional<Severity> worst(const LintResult& result) {
  if (result.findings.empty()) return std::nullopt;
  return std::ranges::max(result.findings, {}, &Finding::severity).severity;
}

}  // namespace fabricast
