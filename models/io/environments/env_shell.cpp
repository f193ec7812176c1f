#include <algorithm>
#include <map>
#include <set>

#include "models/io/environments/env_launch.hpp"
#include "models/io/environments/env_readers.hpp"
#include "models/io/environments/shell_words.hpp"
#include "text/words.hpp"

namespace fabricast::env_readers {
namespace {

/// Reads the commands of one script in order.
class ShellReader {
 public:
  ShellReader(const Context& context, EnvFile& out) : context_(context), out_(out) {
    branch_groups_.push_back(context.group);
  }

  void run(std::string_view text) {
    directives(text);
    const std::size_t first = out_.assignments.size();
    const ShellText script = shell_commands(text, context_.first_line);
    for (const ShellCommand& command : script.commands) read(command);
    if (script.unbalanced_line > 0)
      out_.remarks.push_back({script.unbalanced_line, EnvRemark::Kind::unbalanced_quote, {}});
    settle_exports(first);
  }

 private:
  /// Options of batch systems in comments: `#SBATCH --export=`, `#BSUB -env`, `#PBS -v`.
  void directives(std::string_view text) {
    for (const Line& line : lines_of(text, context_.first_line)) {
      if (line.text.starts_with("#SBATCH")) directive(line, 7, "--export", "sbatch");
      if (line.text.starts_with("#BSUB")) directive(line, 5, "-env", "bsub");
      if (line.text.starts_with("#PBS")) directive(line, 4, "-v", "qsub");
    }
  }

  void directive(const Line& line, std::size_t mark, std::string_view option, const char* program) {
    const std::string_view rest = trimmed(line.text.substr(mark));
    if (!rest.starts_with(option)) return;
    std::string_view list = trimmed(rest.substr(option.size()));
    if (list.starts_with('=')) list.remove_prefix(1);
    if (list.starts_with("NONE") || list.starts_with("NIL"))
      out_.remarks.push_back({line.number, EnvRemark::Kind::export_none, {}});
    list = list.starts_with('"') || list.starts_with('\'')
               ? list.substr(1, list.find(list.front(), 1) - 1)
               : list.substr(0, list.find_first_of(" \t"));
    // As if it were srun's: the list is read alike.
    constexpr std::string_view as = "--export=";
    const auto column = static_cast<int>(list.data() - line.text.data()) + 1;
    read_launch({ShellWord{program, line.number, 1, false, false},
                 ShellWord{std::string(as) + std::string(list), line.number,
                           column - static_cast<int>(as.size()), false, false}},
                0, context_, out_);
  }

  void read(const ShellCommand& command) {
    std::size_t at = 0;
    while (at < command.words.size() && keyword(command.words[at])) ++at;
    if (at >= command.words.size()) return;
    const std::size_t first = at;
    while (at < command.words.size() && !command.words[at].quoted_name &&
           !assigned_name(command.words[at].text).empty())
      ++at;
    const bool prefix = at < command.words.size() && !is_redirection(command.words[at]);
    Context here = context();
    if (prefix && at > first) here.group = new_group(out_);
    for (std::size_t i = first; i < at; ++i)
      add_assignment(command.words[i], prefix ? EnvScope::command : EnvScope::shell_only, here,
                     out_);
    if (at < command.words.size()) program(command, at);
    here_document(command);
  }

  static bool is_redirection(const ShellWord& word) {
    return word.quoted_name && (word.text.starts_with('>') || word.text.starts_with('<'));
  }

  Context context() const {
    Context out = context_;
    out.conditional = context_.conditional || depth_ > 0;
    out.group = branch_groups_.back();
    return out;
  }

  /// The context inside a text that is one word of the script.
  Context inside_word(const ShellWord& word) const {
    Context out = context();
    out.first_columns = word.column - 1 + (word.quoted_name ? 1 : 0);
    if (word.line == context_.first_line) out.first_columns += context_.first_columns;
    out.first_line = word.line;
    out.depth = context_.depth + 1;
    return out;
  }

  /// Words that open, continue or close a branch. Each branch is a group of its own.
  bool keyword(const ShellWord& word) {
    if (word.quoted_name) return false;
    const std::string& w = word.text;
    if (is_one_of(w, {"if", "while", "until", "for", "case", "select", "{"})) {
      open();
      return is_one_of(w, {"if", "while", "until", "{"});
    }
    if (is_one_of(w, {"else", "elif"})) {
      close();
      open();
      return true;
    }
    if (is_one_of(w, {"fi", "done", "esac", "}"})) {
      close();
      return true;
    }
    return is_one_of(w, {"then", "do", "!", "time", "function", "in", "sudo", "exec", "nohup"});
  }
  void open() {
    ++depth_;
    branch_groups_.push_back(new_group(out_));
  }
  void close() {
    if (depth_ == 0) return;
    --depth_;
    branch_groups_.pop_back();
  }

  void program(const ShellCommand& command, std::size_t at) {
    const std::vector<ShellWord>& words = command.words;
    const std::string& name = words[at].text;
    if (is_one_of(name, {"export", "declare", "typeset", "local", "readonly"})) {
      exports(words, at, name == "export");
    } else if (name == "unset") {
      for (std::size_t i = at + 1; i < words.size(); ++i) unset(words[i]);
    } else if (name == "env") {
      for (std::size_t i = at + 1; i < words.size(); ++i)
        add_assignment(words[i], EnvScope::command, context(), out_);
      read_launch(words, at, context(), out_);
    } else if ((name == "source" || name == ".") && at + 1 < words.size()) {
      out_.remarks.push_back({words[at].line, EnvRemark::Kind::sourced_file, words[at + 1].text});
    } else if (name == "echo" || name == "printf") {
      written(words, at);
    } else if (is_one_of(name, {"bash", "sh", "/bin/bash", "/bin/sh", "eval"})) {
      script_in_words(words, at);
    } else if (name == "set") {
      for (std::size_t i = at + 1; i < words.size(); ++i)
        exports_all_ = exports_all_ || words[i].text == "-a" || words[i].text == "allexport";
    } else {
      read_launch(words, at, context(), out_);
      for (std::size_t i = at + 1; i + 1 < words.size(); ++i) {
        if (is_one_of(words[i].text, {"bash", "sh", "/bin/bash", "/bin/sh"}))
          script_in_words(words, i);
      }
    }
  }

  void exports(const std::vector<ShellWord>& words, std::size_t at, bool exported) {
    bool removes = false;
    for (std::size_t i = at + 1; i < words.size(); ++i) {
      const ShellWord& word = words[i];
      if (word.text.starts_with('-')) {
        exported = exported || word.text.find('x') != std::string::npos;
        removes = removes || word.text.find('n') != std::string::npos;
      } else if (add_assignment(word, exported ? EnvScope::exported : EnvScope::shell_only,
                                context(), out_)) {
        continue;
      } else if (exported && !removes && is_env_name(word.text)) {
        exported_.insert(word.text);
      }
    }
  }

  void unset(const ShellWord& word) {
    if (!is_env_name(word.text)) return;
    add(out_, context(), word.text, "", word.line, word.column).scope = EnvScope::unset;
  }

  /// echo "NAME=value" >> FILE
  void written(const std::vector<ShellWord>& words, std::size_t at) {
    std::string_view target;
    for (std::size_t i = at + 1; i + 1 < words.size(); ++i) {
      if (is_redirection(words[i])) target = words[i + 1].text;
    }
    const bool conf = target.ends_with("nccl.conf");
    const bool profile = target.find("profile") != std::string_view::npos ||
                         target.find("bashrc") != std::string_view::npos;
    if (!conf && !profile && target != "/etc/environment") return;
    for (std::size_t i = at + 1; i < words.size() && !is_redirection(words[i]); ++i) {
      Context inside = inside_word(words[i]);
      inside.traps.clear();
      if (profile) inside.traps = {EnvTrap::login_shells_only};
      read_text(words[i].text, profile ? EnvKind::shell : EnvKind::nccl_conf, inside, out_);
    }
  }

  /// bash -c "..."
  void script_in_words(const std::vector<ShellWord>& words, std::size_t at) {
    for (std::size_t i = at + 1; i < words.size(); ++i) {
      if (words[i].text.find_first_of(" \n") == std::string::npos) continue;
      const Context inside = inside_word(words[i]);
      read_text(words[i].text, EnvKind::shell, inside, out_);
    }
  }

  void here_document(const ShellCommand& command) {
    if (command.here_document.empty()) return;
    Context inside = context();
    inside.first_line = command.here_line;
    inside.depth = context_.depth + 1;
    std::string target;
    for (std::size_t i = 0; i + 1 < command.words.size(); ++i) {
      if (is_redirection(command.words[i])) target = command.words[i + 1].text;
    }
    inside.group = new_group(out_);
    read_text(command.here_document, detect_env_kind(target, command.here_document), inside, out_);
  }

  /// `export NAME` may stand behind the assignment, and counts for every one of that name.
  void settle_exports(std::size_t first) {
    for (const EnvAssignment& a : out_.assignments) {
      if (a.scope == EnvScope::exported) exported_.insert(a.name);
    }
    for (std::size_t i = first; i < out_.assignments.size(); ++i) {
      EnvAssignment& a = out_.assignments[i];
      if (a.scope == EnvScope::shell_only && (exports_all_ || exported_.contains(a.name)))
        a.scope = EnvScope::exported;
    }
  }

  Context context_;
  EnvFile& out_;
  int depth_ = 0;
  std::vector<int> branch_groups_;
  std::set<std::string, std::less<>> exported_;
  bool exports_all_ = false;
};

}  // namespace

void read_shell(std::string_view text, const Context& context, EnvFile& out) {
  ShellReader(context, out).run(text);
}

}  // namespace fabricast::env_readers
