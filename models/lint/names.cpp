#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/lint/rules.hpp"

namespace fabricast::lint_rules_detail {

namespace {

constexpr std::string_view kAllTags = "all release tags v2.3.5-5 .. v2.30.7-1 of NCCL";

void unknown(Sheet& sheet, const Setting& s, const UnreadName& unread) {
  Finding& f = sheet.add("FL001", Severity::warning, s, fmt::format("nobody reads {}", s.name()));
  f.source = kAllTags;
  f.suggestion = unread.instead.empty() ? "remove it" : unread.instead;
  if (s.variable == nullptr) return;
  f.reason = s.variable->effect;
  if (!s.variable->note.empty()) f.reason += "; " + s.variable->note;
  // A variable of a build or an image is no mistake.
  if (s.variable->acts_on == ActsOn::none && s.variable->instead.empty() &&
      s.variable->effect.find("image") != std::string::npos) {
    f.severity = Severity::note;
    f.suggestion.clear();
  }
}

/// How many settings of a file belong to a family.
std::size_t members(const Sheet& sheet, const Setting& s) {
  return static_cast<std::size_t>(std::ranges::count_if(sheet.settings, [&](const Setting& other) {
    return other.file == s.file && other.variable == s.variable;
  }));
}

void of_others(Sheet& sheet, const Setting& s, const UnreadName& unread) {
  const Variable& v = *s.variable;
  const std::size_t others = v.is_family() ? members(sheet, s) : 1;
  const std::string subject =
      others > 1 ? fmt::format("{} ({} settings) are", v.name, others) : s.name() + " is";
  Finding& f = sheet.add("FL002", Severity::note, s, fmt::format("{} {}", subject, unread.why));
  f.reason = v.note.empty() ? v.effect : v.effect + ". " + v.note;
  f.source = v.evidence;
  f.suggestion = unread.instead;
}

void of_another_release(Sheet& sheet, const Setting& s, const UnreadName& unread) {
  const Variable& v = *s.variable;
  const bool gone = v.until && *v.until < sheet.input.version;
  Finding& f = sheet.add(gone ? "FL003" : "FL004", Severity::warning, s,
                         fmt::format("{} is {}", s.name(), unread.why));
  f.reason = v.note.empty() ? v.effect : v.note;
  f.source = v.evidence;
  f.suggestion = unread.instead.empty() ? "remove it, or change the release" : unread.instead;
}

/// A name of PyTorch's form that it is not known to read.
void of_torch_perhaps(Sheet& sheet, const Setting& s) {
  Finding& f = sheet.add("FL001", Severity::note, s,
                         fmt::format("PyTorch is not known to read {}", s.name()));
  f.source = "PyTorch torch/csrc/distributed/c10d, torch 1.7 to 2.9";
  const std::string near = sheet.catalogue.nearest_read(s.name());
  if (near.starts_with("TORCH_")) f.suggestion = fmt::format("did you mean {}?", near);
}

}  // namespace

void check_names(Sheet& sheet) {
  std::set<std::pair<const EnvFile*, const Variable*>> families;  // one finding each; not walked
  for (const Setting& s : sheet.settings) {
    if (s.at->scope == EnvScope::unset || s.at->has(EnvTrap::build_argument)) continue;
    const Variable* v = s.variable;
    const std::optional<UnreadName> unread =
        unread_name(sheet.catalogue, s.name(), sheet.input.version);
    if (v == nullptr || v->reader == VariableReader::nobody) {
      unknown(sheet, s, *unread);
    } else if (v->reader != VariableReader::libnccl) {
      // TORCH_NCCL_* say themselves whose they are.
      const bool again = v->is_family() && !families.insert({s.file, v}).second;
      if (s.name().starts_with("NCCL_") && !again) of_others(sheet, s, *unread);
      if (s.name().starts_with("TORCH_NCCL_") && v->is_family()) of_torch_perhaps(sheet, s);
    } else if (unread) {
      of_another_release(sheet, s, *unread);
    } else if (v->effect.starts_with("Old ")) {
      Finding& f = sheet.add("FL005", Severity::note, s,
                             fmt::format("{} is an old name that still works", s.name()));
      f.reason = v->note;
      f.source = v->evidence;
      if (!v->instead.empty()) f.suggestion = fmt::format("use {}", v->instead);
    }
  }
}

}  // namespace fabricast::lint_rules_detail
