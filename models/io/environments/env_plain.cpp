#include <algorithm>

#include "models/io/environments/env_readers.hpp"
#include "text/words.hpp"

namespace fabricast::env_readers {
namespace {

/// " # text" behind a value; npos when there is none.
std::size_t comment_at(std::string_view value) {
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == '#' && (value[i - 1] == ' ' || value[i - 1] == '\t')) return i;
  }
  return std::string_view::npos;
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
         text.back() == text.front();
}

/// What stands in the value besides the value, where nothing is taken off.
void note_literal_traps(EnvAssignment& a) {
  if (a.value.ends_with('\r')) a.traps.push_back(EnvTrap::carriage_return);
  if (comment_at(a.value) != std::string::npos) {
    a.traps.push_back(EnvTrap::comment_in_value);
  } else if (is_quoted(trimmed(a.value))) {
    a.traps.push_back(EnvTrap::quotes_in_value);
  } else if (a.value.ends_with(' ') || a.value.ends_with('\t')) {
    a.traps.push_back(EnvTrap::blank_at_end);
  }
}

/// What the author meant by a value that is taken to the letter.
std::string intended(std::string_view value) {
  if (value.ends_with('\r')) value.remove_suffix(1);
  return std::string(unquoted(trimmed(value.substr(0, comment_at(value)))));
}

}  // namespace

std::vector<Line> lines_of(std::string_view text, int first_line) {
  std::vector<Line> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out.push_back({text.substr(0, end), first_line + static_cast<int>(out.size())});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

int new_group(EnvFile& out) {
  constexpr int first = 1 << 26;  // line numbers, which are groups too, stay below
  return first + ++out.groups;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_computed(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const char next = text[i + 1];
    if (text[i] == '{' && next == '{') return true;
    if (text[i] == '$' && (is_env_name({&next, 1}) || next == '{' || next == '(')) return true;
  }
  return text.find('`') != std::string_view::npos;
}

std::string_view unquoted(std::string_view text) {
  return is_quoted(text) ? text.substr(1, text.size() - 2) : text;
}

EnvAssignment& add(EnvFile& out, const Context& context, std::string_view name,
                   std::string_view value, int line, int column) {
  EnvAssignment a;
  a.name = name;
  a.value = value;
  a.line = line;
  a.column = column + context.columns;
  if (line == context.first_line) a.column += context.first_columns;
  a.conditional = context.conditional;
  a.group = context.group;
  a.traps = context.traps;
  out.assignments.push_back(std::move(a));
  return out.assignments.back();
}

/// docker --env-file (moby, opts/file.go): everything behind '=' is the value; so it is in what env
/// prints. Other programs take quotes and comments off, so the intended value is kept and the trap
/// is noted.
void read_plain(std::string_view text, const Context& context, EnvFile& out) {
  for (const Line& line : lines_of(text, context.first_line)) {
    std::string_view rest = line.text;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (rest.starts_with('#')) continue;
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || !is_env_name(rest.substr(0, equals))) continue;
    const auto column = static_cast<int>(line.text.size() - rest.size()) + 1;
    EnvAssignment& a =
        add(out, context, rest.substr(0, equals), rest.substr(equals + 1), line.number, column);
    note_literal_traps(a);
    a.value = intended(a.value);
    a.computed = is_computed(a.value);
  }
}

/// src/misc/param.cc, setEnvFile: the name is what stands before the first '=', the value all that
/// follows; nothing is trimmed, and what is set already stays.
void read_nccl_conf(std::string_view text, const Context& context, EnvFile& out) {
  for (const Line& line : lines_of(text, context.first_line)) {
    const std::size_t equals = line.text.find('=');
    if (equals == std::string_view::npos || line.text.starts_with('#')) continue;
    std::string_view name = line.text.substr(0, equals);
    std::vector<EnvTrap> traps;
    const std::string_view raw = name;
    if (name.starts_with(';')) {
      traps.push_back(EnvTrap::commented_name);
      name.remove_prefix(1);
    }
    name = trimmed(name);
    if (name.starts_with("export ")) name = trimmed(name.substr(7));
    if (traps.empty() && name.size() != raw.size()) traps.push_back(EnvTrap::blank_in_name);
    if (!is_env_name(name)) continue;
    const auto column = static_cast<int>(name.data() - line.text.data()) + 1;
    EnvAssignment& a = add(out, context, name, line.text.substr(equals + 1), line.number, column);
    a.traps.insert(a.traps.end(), traps.begin(), traps.end());
    note_literal_traps(a);
  }
}

void read_csh(std::string_view text, const Context& context, EnvFile& out) {
  for (const Line& line : lines_of(text, context.first_line)) {
    std::string_view rest = trimmed(line.text);
    const bool sets = rest.starts_with("setenv ") || rest.starts_with("setenv\t");
    const bool removes = rest.starts_with("unsetenv ") || rest.starts_with("unsetenv\t");
    if (!sets && !removes) continue;
    rest = trimmed(rest.substr(rest.find_first_of(" \t")));
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view name = rest.substr(0, end);
    if (!is_env_name(name)) continue;
    std::string_view value = trimmed(rest.substr(end));
    if (!is_quoted(value)) value = trimmed(value.substr(0, comment_at(value)));
    const auto column = static_cast<int>(name.data() - line.text.data()) + 1;
    EnvAssignment& a = add(out, context, name, unquoted(value), line.number, column);
    a.scope = removes ? EnvScope::unset : EnvScope::exported;
    a.computed = is_computed(value) && !value.starts_with('\'');
  }
}

void read_text(std::string_view text, EnvKind kind, const Context& context, EnvFile& out) {
  if (context.depth > kDepthMax) return;
  switch (kind) {
    case EnvKind::plain:
    case EnvKind::option:
      return read_plain(text, context, out);
    case EnvKind::nccl_conf:
      return read_nccl_conf(text, context, out);
    case EnvKind::shell:
      return read_shell(text, context, out);
    case EnvKind::csh:
      return read_csh(text, context, out);
    case EnvKind::dockerfile:
      return read_dockerfile(text, context, out);
    case EnvKind::yaml:
      return read_yaml(text, context, out);
    case EnvKind::toml:
      return read_toml(text, context, out);
    case EnvKind::python:
      return read_python(text, context, out);
  }
}

}  // namespace fabricast::env_readers
