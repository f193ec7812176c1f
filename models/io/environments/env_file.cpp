#include "models/io/environments/env_file.hpp"

#include <algorithm>
#include <array>
#include <iostream>

#include "models/io/environments/env_readers.hpp"
#include "models/io/formats/text_file.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

using env_readers::Line;

constexpr std::array<std::string_view, 9> kKindWords = {
    "plain", "nccl_conf", "shell", "csh", "dockerfile", "yaml", "toml", "python", "option"};

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return text.ends_with(end); });
}

std::optional<EnvKind> kind_of_name(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (ends_with_any(name, {"nccl.conf"})) return EnvKind::nccl_conf;
  if (name.starts_with("Dockerfile") || ends_with_any(name, {".Dockerfile", ".dockerfile"}))
    return EnvKind::dockerfile;
  if (ends_with_any(name, {".sh", ".bash", ".sbatch", ".slurm", ".zsh"})) return EnvKind::shell;
  if (ends_with_any(name, {".csh", ".tcsh"})) return EnvKind::csh;
  if (ends_with_any(name, {".yaml", ".yml"})) return EnvKind::yaml;
  if (ends_with_any(name, {".toml"})) return EnvKind::toml;
  if (ends_with_any(name, {".py", ".ipynb"})) return EnvKind::python;
  return std::nullopt;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view s) { return text.starts_with(s); });
}

/// The first line that only one kind of file can have decides.
std::optional<EnvKind> kind_of_line(std::string_view line) {
  if (line.starts_with("#!")) {
    if (line.find("csh") != std::string_view::npos) return EnvKind::csh;
    return line.find("python") != std::string_view::npos ? EnvKind::python : EnvKind::shell;
  }
  if (starts_with_any(line, {"#SBATCH", "export ", "export\t", "source ", "mpirun ", "srun "}))
    return EnvKind::shell;
  if (starts_with_any(line, {"setenv ", "unsetenv "})) return EnvKind::csh;
  if (starts_with_any(line, {"FROM ", "ENV "})) return EnvKind::dockerfile;
  if (starts_with_any(line, {"- name:", "- {name:", "apiVersion:", "services:", "env:"}))
    return EnvKind::yaml;
  if (starts_with_any(line, {"import ", "os.environ", "%env ", "%set_env ", "from "}))
    return EnvKind::python;
  const std::size_t end = line.find_first_of(" \t=:[");
  const std::string_view word = line.substr(0, end);
  if (line.starts_with('[') && line.ends_with(']') && line.find(' ') == std::string_view::npos)
    return EnvKind::toml;
  if (end == std::string_view::npos || !is_env_name(word)) return std::nullopt;
  if (line[end] == ':') return EnvKind::yaml;
  if (line.substr(end).starts_with(" = ")) return EnvKind::toml;
  return std::nullopt;
}

/// With bare newlines, which every reader expects; nccl.conf keeps its CRs, as NCCL does.
std::string without_carriage_returns(std::string_view text, EnvFile& out) {
  std::string clean;
  clean.reserve(text.size());
  int line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      if (out.remarks.empty()) out.remarks.push_back({line, EnvRemark::Kind::crlf, {}});
      continue;
    }
    line += text[i] == '\n' ? 1 : 0;
    clean += text[i];
  }
  return clean;
}

}  // namespace

std::string_view to_text(EnvKind kind) { return kKindWords[static_cast<std::size_t>(kind)]; }

std::span<const std::string_view> env_kind_words() {
  return std::span(kKindWords).first(kKindWords.size() - 1);
}

EnvKind env_kind_from_text(std::string_view text) {
  const auto words = env_kind_words();
  const auto at = std::ranges::find(words, text);
  if (at == words.end()) {
    throw Error("unknown kind \"" + std::string(text) + "\"",
                hint_nearest(text, {words.begin(), words.end()}));
  }
  return static_cast<EnvKind>(at - words.begin());
}

bool EnvAssignment::has(EnvTrap trap) const {
  return std::ranges::find(traps, trap) != traps.end();
}

bool is_env_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || digit(c); });
}

bool is_binary(std::string_view text) {
  std::size_t odd = 0;
  for (const char c : text) {
    if (c == '\0') return true;
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\x1b') ++odd;
  }
  return odd * 20 > text.size();
}

EnvKind detect_env_kind(std::string_view path, std::string_view text) {
  if (const auto kind = kind_of_name(path)) return *kind;
  for (const Line& line : env_readers::lines_of(text)) {
    if (const auto kind = kind_of_line(trimmed(line.text))) return *kind;
  }
  return EnvKind::plain;
}

EnvFile parse_env_file(std::string_view text, const std::string& path,
                       std::optional<EnvKind> kind) {
  if (is_binary(text))
    throw Error(Place{path, 0, {}}, "is not text",
                "scripts, job files, container specs, K=V lines");
  EnvFile out;
  out.path = path;
  out.kind = kind ? *kind : detect_env_kind(path, text);
  const env_readers::Context context;
  if (out.kind == EnvKind::nccl_conf) {
    env_readers::read_text(text, out.kind, context, out);
    return out;
  }
  const std::string clean = without_carriage_returns(text, out);
  env_readers::read_text(clean, out.kind, context, out);
  return out;
}

EnvFile read_env_file(const std::string& path, std::optional<EnvKind> kind) {
  const std::string hint = "a script, a job file, a container spec or NAME=value lines";
  if (path == "-") {
    const std::string name = "<stdin>";
    return parse_env_file(read_text_stream(std::cin, name), name, kind);
  }
  return parse_env_file(read_text_file(path, hint), path, kind);
}

EnvFile env_option(std::string_view assignment, int number) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  if (equals == std::string_view::npos || !is_env_name(name))
    throw Error("\"" + std::string(assignment) + "\" is not an assignment",
                "write NAME=value, e.g. NCCL_ALGO=Ring");
  EnvFile out;
  out.path = number == 0 ? "--env" : "--env #" + std::to_string(number);
  out.kind = EnvKind::option;
  EnvAssignment a;
  a.name = name;
  a.value = assignment.substr(equals + 1);
  out.assignments.push_back(std::move(a));
  return out;
}

}  // namespace fabricast
