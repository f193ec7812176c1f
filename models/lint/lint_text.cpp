#include "models/lint/lint_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/nccl/base/releases.hpp"
#include "text/counted.hpp"

namespace fabricast {

namespace {

std::string place(const Finding& f) {
  if (f.line == 0) return f.file;
  if (f.column == 0) return fmt::format("{}:{}", f.file, f.line);
  return fmt::format("{}:{}:{}", f.file, f.line, f.column);
}

/// "since 2.14.3, until 2.30.4", or PyTorch's releases.
std::string releases(const Variable& v) {
  if (!v.releases.empty()) return v.releases;
  if (v.reader != VariableReader::libnccl) return "";
  const std::string since = v.since ? to_text(*v.since) : "2.3.5 or before";
  return v.until ? fmt::format("{} .. {}", since, to_text(*v.until)) : fmt::format("{} ..", since);
}

std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, "\\");
  return text;
}

void line(std::string& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out += fmt::format("  {:<12}{}\n", label, text);
}

std::string accepted(const Variable& v) {
  std::string out(to_text(v.type));
  if (v.min && v.max) out += fmt::format(", {} to {}", *v.min, *v.max);
  if (v.min && !v.max) out += fmt::format(", at least {}", *v.min);
  if (!v.unit.empty()) out += ", " + v.unit;
  for (std::size_t i = 0; i < v.words.size(); ++i) out += (i == 0 ? ": " : ", ") + v.words[i];
  return out;
}

}  // namespace

std::string lint_text(const LintResult& result, NcclVersion version) {
  std::string out;
  int counts[3] = {};
  for (const Finding& f : result.findings) {
    ++counts[static_cast<std::size_t>(f.severity)];
    out += fmt::format("{}: {}: {} [{}]\n", place(f), to_text(f.severity), f.message, f.rule);
    line(out, "reason:", f.reason);
    line(out, "source:", f.source);
    line(out, "suggestion:", f.suggestion);
  }
  if (!result.findings.empty()) out += '\n';
  for (const std::string& note : result.notes) out += fmt::format("# {}\n", note);
  out += fmt::format("# {} for {}: {}, {}, {}\n", counted(result.settings, "setting"),
                     nccl_release_text(version), counted(counts[2], "error"),
                     counted(counts[1], "warning"), counted(counts[0], "note"));
  return out;
}

std::string variables_markdown(const VariableCatalogue& catalogue) {
  std::string out =
      "| name | read by | NCCL releases | default | what it changes |\n"
      "|---|---|---|---|---|\n";
  for (const Variable& v : catalogue.all()) {
    std::string effect = v.effect;
    if (v.reader == VariableReader::nobody && !v.instead.empty()) effect += "; see " + v.instead;
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", v.name, v.reader_text(), releases(v),
                       cell(v.default_text), cell(effect));
  }
  return out;
}

std::string explain_variable(const Variable& v, NcclVersion version) {
  std::string out = v.name + "\n";
  line(out, "effect", v.effect);
  line(out, "read by", v.reader_text());
  line(out, "releases", releases(v));
  if (v.reader != VariableReader::nobody) line(out, "takes", accepted(v));
  line(out, "default", v.default_text);
  std::string history;
  for (const ReleaseDefault& d : v.defaults)
    history += fmt::format("{}{} since {}", history.empty() ? "" : ", ", d.value, to_text(d.since));
  line(out, "history", history);
  if (const auto value = v.default_in(version); value && v.read_in(version))
    line(out, "here", fmt::format("{} in {}", *value, nccl_release_text(version)));
  if (v.reader == VariableReader::libnccl && !v.read_in(version))
    line(out, "here", "not read by " + nccl_release_text(version));
  if (v.acts_on != ActsOn::none) line(out, "acts on", std::string(to_text(v.acts_on)));
  std::string needs;
  for (const Need need : v.needs)
    needs += fmt::format("{}{}", needs.empty() ? "" : ", ", kNeedWords[need]);
  line(out, "needs", needs);
  line(out, "use instead", v.instead);
  line(out, "note", v.note);
  line(out, "evidence", v.evidence);
  return out;
}

}  // namespace fabricast
