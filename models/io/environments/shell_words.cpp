#include "models/io/environments/shell_words.hpp"

#include <algorithm>
#include <utility>

#include "models/io/environments/shell_arithmetic.hpp"

namespace fabricast {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_command(char c) { return c == ';' || c == '&' || c == '|' || c == '(' || c == ')'; }

class Lexer {
 public:
  Lexer(std::string_view text, int first_line) : text_(text), line_(first_line) {}

  ShellText run() {
    while (!done()) step();
    end_command();
    return std::move(out_);
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char take() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      line_start_ = at_;
    }
    return c;
  }
  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  void step() {
    const char c = peek();
    if (c == '\n') {
      take();
      end_command();
      if (!pending_.empty()) here_documents();
    } else if (is_blank(c) || is_continuation()) {
      skip_blank();
    } else if (c == '#') {
      while (!done() && peek() != '\n') take();
    } else if (ends_command(c)) {
      take();
      end_command();
    } else if (c == '>' || c == '<') {
      redirection();
    } else {
      word();
    }
  }

  /// A backslash at the end of a line, blanks behind it forgiven.
  bool is_continuation() const {
    if (peek() != '\\') return false;
    const std::size_t next = text_.find_first_not_of(" \t\r", at_ + 1);
    return next == std::string_view::npos || text_[next] == '\n';
  }
  void skip_blank() {
    if (peek() != '\\') {
      take();
      return;
    }
    while (!done() && take() != '\n') {
    }
  }

  void redirection() {
    ShellWord word{std::string(1, take()), line_, column(), false, true};
    if (word.text == "<" && peek() == '<' && peek(1) != '<') {
      here_redirection();
      return;
    }
    while (peek() == '>' || peek() == '<' || peek() == '&') word.text += take();
    command_.words.push_back(std::move(word));
  }

  void here_redirection() {
    take();
    Here here;
    if (peek() == '-') take();
    while (is_blank(peek())) take();
    while (!done() && !is_blank(peek()) && peek() != '\n' && !ends_command(peek()) &&
           peek() != '>') {
      const char c = take();
      if (c != '\'' && c != '"' && c != '\\') here.end += c;
    }
    here.command = out_.commands.size();
    if (!here.end.empty()) pending_.push_back(std::move(here));
  }

  /// The bodies of what the finished line announced.
  void here_documents() {
    for (const Here& here : std::exchange(pending_, {})) {
      std::string body;
      const int first = line_;
      while (!done()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        const std::string_view whole = text_.substr(at_, end - at_);
        std::string_view bare = whole;
        while (!bare.empty() && is_blank(bare.front())) bare.remove_prefix(1);
        while (at_ < end) take();
        if (!done()) take();
        if (bare == here.end) break;
        body += whole;
        body += '\n';
      }
      if (here.command < out_.commands.size()) {
        out_.commands[here.command].here_document = std::move(body);
        out_.commands[here.command].here_line = first;
      }
    }
  }

  void word() {
    ShellWord word{{}, line_, column(), false, peek() == '"' || peek() == '\''};
    while (!done()) {
      const char c = peek();
      if (c == '\n' || is_blank(c) || ends_command(c) || c == '>' || c == '<') break;
      if (is_continuation()) break;
      if (c == '\'') {
        single_quoted(word);
      } else if (c == '"') {
        double_quoted(word);
      } else if (c == '\\') {
        take();
        if (!done()) word.text += take();
      } else if (c == '$' || c == '`') {
        substitution(word);
      } else {
        word.text += take();
      }
    }
    command_.words.push_back(std::move(word));
  }

  void single_quoted(ShellWord& word) {
    const int begin = line_;
    take();
    while (!done() && peek() != '\'') word.text += take();
    close(begin);
  }

  void double_quoted(ShellWord& word) {
    const int begin = line_;
    take();
    while (!done() && peek() != '"') {
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        take();
        const char c = take();
        if (c == '\n') continue;
        if (c != '"' && c != '\\' && c != '$' && c != '`') word.text += '\\';
        word.text += c;
      } else if (peek() == '$' || peek() == '`') {
        substitution(word);
      } else {
        word.text += take();
      }
    }
    close(begin);
  }

  void close(int begin) {
    if (!done()) {
      take();
    } else if (out_.unbalanced_line == 0) {
      out_.unbalanced_line = begin;
    }
  }

  /// "$X", "${...}", "$(...)", "$((...))", "`...`": kept as written.
  void substitution(ShellWord& word) {
    const char first = take();
    word.text += first;
    if (first == '`') {
      word.computed = true;
      while (!done() && peek() != '`') word.text += take();
      if (!done()) word.text += take();
      return;
    }
    const char open = peek();
    if (open == '(' || open == '{') {
      const std::size_t begin = word.text.size() - 1;
      nested(word, open, open == '(' ? ')' : '}');
      if (!constant(word, begin)) word.computed = true;
    } else if (open == '_' || open == '@' || open == '*' || open == '#' || open == '?' ||
               (open >= 'A' && open <= 'Z') || (open >= 'a' && open <= 'z') ||
               (open >= '0' && open <= '9')) {
      word.computed = true;
    }
  }

  /// $((2*2)) becomes 4.
  static bool constant(ShellWord& word, std::size_t begin) {
    const std::string_view text = std::string_view(word.text).substr(begin);
    if (!text.starts_with("$((") || !text.ends_with("))")) return false;
    const auto value = shell_arithmetic(text.substr(3, text.size() - 5));
    if (value) word.text.replace(begin, std::string::npos, std::to_string(*value));
    return value.has_value();
  }

  void nested(ShellWord& word, char open, char close) {
    int depth = 0;
    while (!done()) {
      const char c = take();
      word.text += c;
      if (c == '\'' && open == '(') {
        while (!done() && peek() != '\'') word.text += take();
        if (!done()) word.text += take();
      } else if (c == open) {
        ++depth;
      } else if (c == close && --depth == 0) {
        return;
      }
    }
  }

  void end_command() {
    if (!command_.words.empty()) out_.commands.push_back(std::move(command_));
    command_ = {};
  }

  struct Here {
    std::string end;
    std::size_t command = 0;  ///< index it will have
  };
  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_;
  ShellCommand command_;
  std::vector<Here> pending_;
  ShellText out_;
};

}  // namespace

ShellText shell_commands(std::string_view text, int first_line) {
  return Lexer(text, first_line).run();
}

}  // namespace fabricast
