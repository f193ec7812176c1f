#include <algorithm>
#include <set>

#include "models/io/environments/env_launch.hpp"
#include "models/io/environments/env_readers.hpp"
#include "models/io/environments/shell_words.hpp"
#include "text/words.hpp"

namespace fabricast::env_readers {
namespace {

bool same_word(std::string_view a, std::string_view upper) {
  const auto to_upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  return std::ranges::equal(a, upper, {}, to_upper);
}

/// One instruction with its continuation lines joined.
struct Instruction {
  std::string text;
  int line = 0;
};

std::vector<Instruction> instructions_of(std::string_view text, int first_line) {
  std::vector<Instruction> out;
  bool continues = false;
  for (const Line& line : lines_of(text, first_line)) {
    const std::string_view bare = trimmed(line.text);
    if (bare.starts_with('#') || (bare.empty() && continues)) {
      if (continues) out.back().text += '\n';
      continue;
    }
    if (!continues) out.push_back({{}, line.number});
    continues = bare.ends_with('\\');
    out.back().text += line.text;
    out.back().text += '\n';
  }
  return out;
}

class DockerReader {
 public:
  DockerReader(const Context& context, EnvFile& out) : context_(context), out_(out) {}

  void read(const Instruction& instruction) {
    std::string_view rest = instruction.text;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::size_t end = std::min(rest.find_first_of(" \t\n"), rest.size());
    const std::string_view verb = rest.substr(0, end);
    const std::string_view arguments = rest.substr(end);
    line_ = instruction.line;
    column_ = static_cast<int>(arguments.data() - instruction.text.data());
    if (same_word(verb, "ENV")) {
      env(arguments, instruction.line);
    } else if (same_word(verb, "ARG")) {
      arg(arguments, instruction.line);
    } else if (same_word(verb, "RUN")) {
      shell(arguments, instruction.line, {EnvTrap::lost_after_run});
    } else if (same_word(verb, "CMD") || same_word(verb, "ENTRYPOINT")) {
      if (!trimmed(arguments).starts_with('[')) shell(arguments, instruction.line, {});
    } else if (same_word(verb, "FROM")) {
      context_.group = new_group(out_);
      if (stages_++ > 0) known_.clear();
    }
  }

 private:
  /// `ENV A=B C=D`, or `ENV A the rest of the line`.
  void env(std::string_view arguments, int line) {
    const ShellText split = shell_commands(arguments, line);
    if (split.commands.empty()) return;
    const std::vector<ShellWord>& words = split.commands.front().words;
    const ShellWord& first = words.front();
    if (first.text.find('=') == std::string::npos) {
      std::string_view value = arguments.substr(arguments.find(first.text) + first.text.size());
      while (!value.empty() && (value.back() == '\n' || value.back() == ' '))
        value.remove_suffix(1);
      if (is_env_name(first.text)) set(first, first.text, std::string(trimmed(value)));
      return;
    }
    for (const ShellCommand& command : split.commands) {
      for (const ShellWord& word : command.words) {
        const std::string_view name = assigned_name(word.text);
        if (!name.empty()) set(word, name, word.text.substr(name.size() + 1));
      }
    }
  }

  void set(const ShellWord& word, std::string_view name, const std::string& value) {
    const int shift = word.line == line_ ? column_ : 0;
    EnvAssignment& a = add(out_, context_, name, value, word.line, word.column + shift);
    a.computed = is_computed(value);
    if (a.computed && refers_to_nothing(value)) {
      a.traps.push_back(EnvTrap::undefined_argument);
    }
    known_.insert(std::string(name));
  }

  /// The whole value is "${X}" or "$X", and no ARG or ENV before it defines X.
  bool refers_to_nothing(std::string_view value) const {
    if (!value.starts_with('$')) return false;
    value.remove_prefix(1);
    if (value.starts_with('{') && value.ends_with('}')) value = value.substr(1, value.size() - 2);
    return is_env_name(value) && !known_.contains(value);
  }

  void arg(std::string_view arguments, int line) {
    const ShellText split = shell_commands(arguments, line);
    for (const ShellCommand& command : split.commands) {
      for (const ShellWord& word : command.words) {
        const std::string_view name = assigned_name(word.text);
        known_.insert(name.empty() ? word.text : std::string(name));
        if (!add_assignment(word, EnvScope::shell_only, context_, out_)) continue;
        out_.assignments.back().column += column_;
        out_.assignments.back().traps.push_back(EnvTrap::build_argument);
      }
    }
  }

  void shell(std::string_view text, int line, std::vector<EnvTrap> traps) {
    Context inside = context_;
    inside.first_line = line;
    inside.first_columns = column_;
    inside.depth = context_.depth + 1;
    inside.traps = std::move(traps);
    read_text(text, EnvKind::shell, inside, out_);
  }

  Context context_;
  EnvFile& out_;
  int line_ = 0, column_ = 0;  ///< where the arguments of the instruction begin
  int stages_ = 0;
  std::set<std::string, std::less<>> known_;
};

}  // namespace

void read_dockerfile(std::string_view text, const Context& context, EnvFile& out) {
  DockerReader reader(context, out);
  for (const Instruction& instruction : instructions_of(text, context.first_line))
    reader.read(instruction);
}

}  // namespace fabricast::env_readers
