#include "models/lint/lint_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

std::string accepted(const Variable& v, NcclVersion version) {
  std::string out(to_text(v.type));
  const auto min = v.min_in(version), max = v.max_in(version);
  if (min && max) out += fmt::format(", {} to {}", *min, *max);
  if (min && !max) out += fmt::format(", at least {}", *min);
  if (!v.unit.empty()) out += ", " + v.unit;
  const std::vector<std::string>& words = v.words_in(version);
  for (std::size_t i = 0; i < words.size(); ++i) out += (i == 0 ? ": " : ", ") + words[i];
  return out;
}

/// "since 2.24.3", "before 2.24.3", "always": when the i-th reading holds.
std::string when(const Variable& v, std::size_t i) {
  const VariableReading& reading = v.readings[i];
  if (reading.since) return "since " + to_text(*reading.since);
  return i + 1 < v.readings.size() ? "before " + to_text(*v.readings[i + 1].since) : "always";
}

void readings(std::string& out, const Variable& v, NcclVersion version) {
  for (std::size_t i = 0; i < v.readings.size(); ++i) {
    const VariableReading& reading = v.readings[i];
    line(out, i == 0 ? "read as" : "",
         fmt::format("{}: {} ({})", when(v, i), reading.text, reading.source));
  }
  const VariableReading* here = v.reading_in(version);
  if (here == nullptr || v.readings.size() < 2) return;
  const auto index = static_cast<std::size_t>(here - v.readings.data());
  line(out, "here", nccl_release_text(version) + " reads it as " + when(v, index));
}

/// The oldest release from which on changes are told: the oldest whose decisions are known.
constexpr NcclVersion kChangesSince{18, 1};

struct Change {
  NcclVersion since;
  std::string text;
};

/// New defaults and readings, in the order of releases.
std::vector<Change> changes_of(const Variable& v) {
  std::vector<Change> out;
  for (std::size_t i = 1; i < v.defaults.size(); ++i)
    out.push_back({v.defaults[i].since, fmt::format("default {}; before: {}", v.defaults[i].value,
                                                    v.defaults[i - 1].value)});
  for (const VariableReading& reading : v.readings) {
    if (reading.since) out.push_back({*reading.since, reading.text});
  }
  std::erase_if(out, [](const Change& c) { return c.since <= kChangesSince; });
  std::ranges::stable_sort(out, {}, &Change::since);
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
  out += fmt::format(
      "\n## What changed since {}\n\n"
      "| name | since NCCL | another default, or how a value is read |\n|---|---|---|\n",
      to_text(kChangesSince));
  for (const Variable& v : catalogue.all()) {
    for (const Change& change : changes_of(v))
      out += fmt::format("| `{}` | {} | {} |\n", v.name, to_text(change.since), cell(change.text));
  }
  return out;
}

std::string explain_variable(const Variable& v, NcclVersion version) {
  std::string out = v.name + "\n";
  line(out, "effect", v.effect);
  line(out, "read by", v.reader_text());
  line(out, "releases", releases(v));
  if (v.reader != VariableReader::nobody) line(out, "takes", accepted(v, version));
  line(out, "default", v.default_text);
  std::string history;
  for (const ReleaseDefault& d : v.defaults)
    history += fmt::format("{}{} since {}", history.empty() ? "" : ", ", d.value, to_text(d.since));
  line(out, "history", history);
  readings(out, v, version);
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
