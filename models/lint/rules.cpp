#include "models/lint/rules.hpp"
#include "models/nccl/base/releases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "text/cut.hpp"
#include "text/quoting.hpp"

namespace fabricast::lint_rules_detail {

Finding& Sheet::add(std::string_view rule, Severity severity, const Setting& setting,
                    std::string message) {
  Finding& f = add(rule, severity, *setting.file, setting.at->line, std::move(message));
  f.column = setting.at->column;
  f.variable = setting.name();
  return f;
}

Finding& Sheet::add(std::string_view rule, Severity severity, const EnvFile& file, int line,
                    std::string message) {
  Finding f;
  f.rule = rule;
  f.severity = severity;
  f.file = file.path;
  f.line = line;
  f.message = std::move(message);
  result.findings.push_back(std::move(f));
  return result.findings.back();
}

bool Sheet::sees(const Setting& s, const Setting& other) {
  if (other.at->has(EnvTrap::build_argument) || other.at->has(EnvTrap::lost_after_run))
    return false;
  const bool together = other.file == s.file && other.at->group == s.at->group;
  const bool everywhere = other.at->scope != EnvScope::command && !other.at->conditional;
  const bool one_process = other.file != s.file || other.file->kind != EnvKind::yaml;
  return together || (everywhere && one_process);
}

const Setting* Sheet::beside(const Setting& s, std::string_view name) const {
  const Setting* found = nullptr;
  for (const Setting& other : settings) {
    if (other.name() != name || !sees(s, other)) continue;
    const bool first_counts = other.file->kind == EnvKind::nccl_conf;
    if (found != nullptr && first_counts && found->file == other.file) continue;
    found = &other;
  }
  return found != nullptr && found->has_value() ? found : nullptr;
}

std::optional<std::int64_t> Sheet::number_beside(const Setting& s, std::string_view name) const {
  const Setting* other = beside(s, name);
  if (other == nullptr || other->value().empty()) return std::nullopt;
  return number_text(other->value()).value;
}

Environment Sheet::environment_of(const Setting& s) const {
  Environment out;
  for (const Setting& other : settings) {
    if (const Setting* counts = beside(s, other.name())) out.set(counts->name(), counts->value());
  }
  return out;
}

bool Sheet::lacks_verbs() const {
  if (input.cluster == nullptr) return false;
  const std::span<const NicInfo> nics = input.cluster->node().nics();
  return !nics.empty() &&
         std::ranges::none_of(nics, [](const NicInfo& n) { return has_verbs(n.part.network); });
}

NumberText number_text(std::string_view text) {
  NumberText out;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  out.value = std::strtoll(copy.c_str(), &end, 0);
  out.out_of_range = errno == ERANGE;
  out.has_digits = end != copy.c_str();
  out.complete = out.has_digits && *end == '\0';
  std::string_view digits = text;
  digits.remove_prefix(std::min(digits.find_first_not_of(" \t+-"), digits.size()));
  out.octal = out.has_digits && digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' &&
              digits[1] <= '9';
  return out;
}

std::string shown(const Setting& setting) {
  constexpr std::size_t most = 60;
  const std::string_view value = setting.value();
  return fmt::format("{}={}{}", setting.name(), cut(value, most), value.size() > most ? "..." : "");
}

std::string assignment(const Setting& setting) {
  return fmt::format("{}={}", setting.name(), shell_word(setting.value()));
}

std::vector<std::string_view> split_list(std::string_view text, char mark) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(mark);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string first_that_takes(const Setting& setting, NcclVersion version,
                             const std::function<bool(const VariableReading&)>& takes) {
  for (const VariableReading& reading : setting.variable->readings) {
    if (reading.since && *reading.since > version && takes(reading))
      return nccl_release_text(*reading.since) + " is the first that takes it";
  }
  return "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace fabricast::lint_rules_detail
