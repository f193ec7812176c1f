// How a file writes its settings: what stays in a value or a name that should not be there.

#include <fmt/format.h>

#include <algorithm>

#include "models/lint/rules.hpp"

namespace fabricast::lint_rules_detail {

namespace {

constexpr std::string_view kConf = "NCCL 2.21.5 src/misc/param.cc, setEnvFile";
constexpr std::string_view kDocker = "docker run, --env-file";

bool is_conf(const Setting& s) { return s.file->kind != EnvKind::plain; }
Severity severity_of(const Setting& s) { return is_conf(s) ? Severity::error : Severity::warning; }

void check_value(Sheet& sheet, const Setting& s) {
  const std::string_view who = is_conf(s) ? "nccl.conf" : "docker --env-file";
  const auto add = [&](std::string_view rule, std::string message, std::string suggestion) {
    Finding& f = sheet.add(rule, severity_of(s), s, std::move(message));
    f.source = is_conf(s) ? kConf : kDocker;
    f.suggestion = std::move(suggestion);
  };
  if (s.at->has(EnvTrap::comment_in_value))
    add("FL080", fmt::format("{}: {} takes the comment for a part of the value", s.name(), who),
        "put the comment on a line of its own");
  if (s.at->has(EnvTrap::quotes_in_value))
    add("FL081", fmt::format("{}: {} keeps the quotes", s.name(), who), "leave the quotes out");
  if (s.at->has(EnvTrap::blank_at_end))
    add("FL081", fmt::format("{}: {} keeps the blank at the end of the value", s.name(), who),
        "remove the blank");
}

void check_name(Sheet& sheet, const Setting& s) {
  if (s.at->has(EnvTrap::blank_in_name)) {
    Finding& f = sheet.add("FL082", Severity::error, s,
                           fmt::format("{} is not set: what stands before '=' is the name, with "
                                       "\"export\" and blanks",
                                       s.name()));
    f.source = kConf;
    f.suggestion = "NAME=value, nothing else";
  }
  if (s.at->has(EnvTrap::commented_name)) {
    Finding& f = sheet.add("FL082", Severity::note, s,
                           fmt::format("{} is not set: ';' starts no comment but belongs to the "
                                       "name",
                                       s.name()));
    f.source = kConf;
    f.suggestion = "comments are lines that begin with '#'";
  }
}

/// Numbers and the like that are no text yet.
void check_type(Sheet& sheet, const Setting& s) {
  const bool number = s.at->has(EnvTrap::yaml_number), boolean = s.at->has(EnvTrap::yaml_bool);
  if (s.at->has(EnvTrap::python_value)) {
    Finding& f = sheet.add(
        "FL084", Severity::error, s,
        fmt::format("{}: {} without quotes is no text, and text is required", s.name(), s.value()));
    f.reason = "Python raises a TypeError here";
    f.source = "Python os.environ";
    f.suggestion = fmt::format("write \"{}\", with the quotes", s.value());
  }
  if (!number && !boolean) return;
  Finding& f = sheet.add("FL084", Severity::error, s,
                         fmt::format("{}: {} without quotes is a YAML {}, and text is required",
                                     s.name(), s.value(), number ? "number" : "boolean"));
  f.reason = "the API server refuses it, and other readers rewrite it (no becomes false)";
  f.source = "YAML 1.1; Kubernetes EnvVar.value";
  f.suggestion = fmt::format("write \"{}\", with the quotes", s.value());
}

void check_bytes(Sheet& sheet, const EnvFile& file) {
  for (const EnvRemark& remark : file.remarks) {
    if (remark.kind == EnvRemark::Kind::crlf) {
      const bool script = file.kind == EnvKind::shell || file.kind == EnvKind::csh;
      Finding& f = sheet.add("FL083", script ? Severity::error : Severity::warning, file,
                             remark.line, "lines end with CR LF");
      f.reason = "a shell and nccl.conf keep the CR in the value: \"eth0\\r\" matches no interface";
      f.suggestion = "dos2unix";
    } else if (remark.kind == EnvRemark::Kind::unbalanced_quote) {
      sheet.add("FL085", Severity::note, file, remark.line,
                "a quote begins here and never ends: what follows was read as its text");
    }
  }
}

}  // namespace

void check_writing(Sheet& sheet) {
  const EnvFile* cr_told = nullptr;
  for (const Setting& s : sheet.settings) {
    check_value(sheet, s);
    check_name(sheet, s);
    check_type(sheet, s);
    if (!s.at->has(EnvTrap::carriage_return) || cr_told == s.file) continue;
    cr_told = s.file;
    Finding& f = sheet.add("FL083", Severity::error, s,
                           "lines end with CR LF, and the CR stays in each value");
    f.source = kConf;
    f.suggestion = "dos2unix";
  }
  for (const EnvFile& file : sheet.input.files) check_bytes(sheet, file);
}

}  // namespace fabricast::lint_rules_detail
