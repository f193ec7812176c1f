#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/io/environments/env_launch.hpp"
#include "models/io/environments/env_readers.hpp"
#include "text/words.hpp"

namespace fabricast::env_readers {
namespace {

/// Calls after which NCCL or PyTorch has read its variables.
constexpr std::array<std::string_view, 7> kInitCalls = {
    "init_process_group(", "init_distributed(", "initialize_megatron(",       "Accelerator(",
    "init_device_mesh(",   "hvd.init(",         "jax.distributed.initialize("};

constexpr std::array<std::string_view, 4> kSetters = {"environ.setdefault(", "environ[",
                                                      "os.putenv(", "setenv("};

/// A Python string literal at the start of `text`; its end, or npos.
std::size_t literal_end(std::string_view text) {
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return std::string_view::npos;
  return text.find(text.front(), 1);
}

/// A value at the start of a text, and the text behind it.
struct Value {
  std::string_view text;  ///< of a string literal without its quotes
  bool is_string = false;
  std::string_view rest;

  /// Known, and no string: os.environ takes none of these.
  bool is_other() const {
    const bool is_number =
        !text.empty() && text.find_first_not_of("+-0123456789._") == std::string_view::npos;
    return !is_string && (is_number || is_one_of(text, {"True", "False", "None"}));
  }
};

/// To the comma or bracket that ends it, or a comment. A literal that something is done to is no
/// literal.
Value value_of(std::string_view text) {
  text = trimmed(text);
  const std::size_t quote = literal_end(text);
  if (quote != std::string_view::npos) {
    const std::string_view rest = trimmed(text.substr(quote + 1));
    if (rest.empty() || std::string_view(",)}];#").find(rest.front()) != std::string_view::npos)
      return {text.substr(1, quote - 1), true, rest};
  }
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    const bool opens = c == '(' || c == '[' || c == '{', closes = c == ')' || c == ']' || c == '}';
    if (depth == 0 && (closes || c == ',' || c == ';' || c == '#')) break;
    depth += opens ? 1 : closes ? -1 : 0;
    if (const std::size_t skip = literal_end(text.substr(end)); skip != std::string_view::npos)
      end += skip;
  }
  return {trimmed(text.substr(0, end)), false, text.substr(end)};
}

class PythonReader {
 public:
  PythonReader(const Context& context, EnvFile& out) : context_(context), out_(out) {}

  void read(const Line& line) {
    const std::string_view bare = trimmed(line.text);
    if (bare.starts_with('#')) return;
    if (bare.starts_with('%')) {
      magic(line, bare);
    } else if (bare.starts_with('!')) {
      subshell(line, bare.substr(1));
    } else {
      for (const std::string_view setter : kSetters) setting(line, setter);
      if (open_ != Open::none)
        arguments(line, bare);
      else if (!begins_update(line) && !begins_copy(line))
        pairs(line, bare, false);
    }
    dict_opens_ = bare.ends_with("dict(");
    const bool defines = bare.starts_with("def ") || bare.starts_with("import ");
    after_init_ = after_init_ || (!defines && std::ranges::any_of(kInitCalls, [&](auto call) {
                    return bare.find(call) != std::string_view::npos;
                  }));
  }

 private:
  enum class Open : std::uint8_t {
    none,
    update,  ///< of os.environ
    copy     ///< of os.environ and more, for a process that this one starts
  };

  /// %env NAME=value, %env NAME value
  void magic(const Line& line, std::string_view bare) {
    const std::size_t end = std::min(bare.find_first_of(" \t"), bare.size());
    const std::string_view word = bare.substr(0, end);
    if (word != "%env" && word != "%set_env") return;
    const std::string_view rest = trimmed(bare.substr(end));
    const std::size_t split = rest.find_first_of("= ");
    if (split == std::string_view::npos || !is_env_name(rest.substr(0, split))) return;
    set(line, rest.substr(0, split), {trimmed(rest.substr(split + 1)), true, {}}, true);
  }

  void subshell(const Line& line, std::string_view text) {
    Context inside = context_;
    inside.first_line = line.number;
    inside.first_columns = static_cast<int>(text.data() - line.text.data());
    inside.depth = context_.depth + 1;
    inside.traps = {EnvTrap::lost_after_run};
    read_text(text, EnvKind::shell, inside, out_);
  }

  /// os.environ["NAME"] = "value", and the calls with (NAME, value).
  void setting(const Line& line, std::string_view setter) {
    const std::size_t at = line.text.find(setter);
    if (at == std::string_view::npos) return;
    std::string_view rest = trimmed(line.text.substr(at + setter.size()));
    const std::size_t end = literal_end(rest);
    if (end == std::string_view::npos) return;
    const std::string_view name = rest.substr(1, end - 1);
    rest = trimmed(rest.substr(end + 1));
    if (rest.starts_with(']')) rest = trimmed(rest.substr(1));
    const bool sets = (rest.starts_with('=') && !rest.starts_with("==")) || rest.starts_with(',');
    if (!is_env_name(name) || !sets) return;
    set(line, name, value_of(rest.substr(1)), true);
  }

  /// os.environ.update(...), os.environ |= ...
  bool begins_update(const Line& line) {
    for (const std::string_view word : {"environ.update(", "environ |=", "environ|="}) {
      const std::size_t at = line.text.find(word);
      if (at == std::string_view::npos) continue;
      open_ = Open::update;
      arguments(line, trimmed(line.text.substr(at + word.size())));
      if (!word.ends_with('(') && !in_braces_) open_ = Open::none;
      return true;
    }
    return false;
  }

  /// dict(os.environ, ...), {**os.environ, ...}, os.environ | {...}; the first bracket may stand on
  /// the line before.
  bool begins_copy(const Line& line) {
    for (const std::string_view word : {"**os.environ,", "os.environ | {", "dict(os.environ,"}) {
      const std::size_t at = line.text.find(word);
      if (at == std::string_view::npos) continue;
      in_braces_ = !word.starts_with("dict");
      return copies(line, line.text.substr(at + word.size()));
    }
    constexpr std::string_view kFirst = "os.environ,";
    const std::string_view bare = trimmed(line.text);
    return dict_opens_ && bare.starts_with(kFirst) && copies(line, bare.substr(kFirst.size()));
  }
  bool copies(const Line& line, std::string_view rest) {
    open_ = Open::copy;
    arguments(line, trimmed(rest));
    return true;
  }

  /// Of an update or a copy, on one line: a dictionary, dict(NAME=value), NAME=value; it ends with
  /// its last bracket.
  void arguments(const Line& line, std::string_view rest) {
    if (rest.starts_with("dict(")) rest = trimmed(rest.substr(5));
    if (rest.starts_with('{')) {
      in_braces_ = true;
      rest = trimmed(rest.substr(1));
    }
    if (in_braces_) rest = pairs(line, rest, true);
    while (!in_braces_ && !rest.empty() && rest.front() != ')' && rest.front() != '#') {
      const std::size_t split = rest.find('=');
      const std::string_view name = trimmed(rest.substr(0, split));
      const bool sets = split != std::string_view::npos && is_env_name(name);
      const Value value = value_of(sets ? rest.substr(split + 1) : rest);
      if (sets)
        set(line, name, value, true);
      else
        passed_over(line);
      rest = value.rest.starts_with(',') ? trimmed(value.rest.substr(1)) : value.rest;
      if (!rest.empty() && rest.front() != ')' && !value.rest.starts_with(',')) break;
    }
    if (rest.starts_with('}')) {
      in_braces_ = false;
      rest = trimmed(rest.substr(1));
      if (open_ == Open::copy || !rest.starts_with(',')) open_ = Open::none;
    }
    if (rest.starts_with(')')) open_ = Open::none;
  }

  /// "NAME": "value", ... of a dictionary, and what is behind them. Of one that may become an
  /// environment only names of NCCL are taken.
  std::string_view pairs(const Line& line, std::string_view rest, bool of_environ) {
    while (!rest.empty() && rest.front() != '}' && rest.front() != '#') {
      const std::size_t end = literal_end(rest);
      const std::string_view behind =
          end == std::string_view::npos ? rest : trimmed(rest.substr(end + 1));
      const bool is_pair = end != std::string_view::npos && behind.starts_with(':');
      if (!is_pair && !of_environ) return rest;
      const Value value = value_of(is_pair ? behind.substr(1) : rest);
      const std::string_view name = is_pair ? rest.substr(1, end - 1) : std::string_view();
      if (!is_pair)
        passed_over(line);
      else if (is_env_name(name) && (of_environ || name.find("NCCL") != std::string_view::npos))
        set(line, name, value, of_environ);
      rest = value.rest;
      if (!rest.starts_with(',')) return rest;
      rest = trimmed(rest.substr(1));
    }
    return rest;
  }

  void passed_over(const Line& line) {
    out_.remarks.push_back({line.number, EnvRemark::Kind::unread_update, {}});
  }

  void set(const Line& line, std::string_view name, const Value& value, bool must_be_text) {
    const auto column = static_cast<int>(name.data() - line.text.data()) + 1;
    EnvAssignment& a = add(out_, context_, name, value.text, line.number, column);
    const bool no_text = must_be_text && value.is_other();
    a.computed = !value.is_string && !no_text;
    if (no_text) a.traps.push_back(EnvTrap::python_value);
    a.conditional = a.conditional || line.text.starts_with(' ') || line.text.starts_with('\t');
    if (after_init_ && open_ != Open::copy) a.traps.push_back(EnvTrap::after_init);
  }

  Context context_;
  EnvFile& out_;
  bool after_init_ = false;
  Open open_ = Open::none;   ///< what goes on in the next line
  bool in_braces_ = false;   ///< of its dictionary
  bool dict_opens_ = false;  ///< at the end of the line before
};

/// The source of a notebook is JSON strings, one for each line, "os.environ[\"A\"] = \"1\"\n",
/// or one for all: "source": "import os\nos.environ...". Lines that hold none are left.
std::string without_json(std::string_view text) {
  std::string_view bare = trimmed(text);
  constexpr std::string_view kSource = "\"source\":";
  if (bare.starts_with(kSource)) bare = trimmed(bare.substr(kSource.size()));
  if (bare.ends_with(',')) bare.remove_suffix(1);
  const auto json = nlohmann::json::parse(bare, nullptr, false);
  return json.is_string() ? json.get<std::string>() : std::string(text);
}

}  // namespace

void read_python(std::string_view text, const Context& context, EnvFile& out) {
  const bool notebook = trimmed(text).starts_with('{');
  PythonReader reader(context, out);
  for (const Line& line : lines_of(text, context.first_line)) {
    if (!notebook) {
      reader.read(line);
      continue;
    }
    const std::string source = without_json(line.text);
    for (const Line& one : lines_of(source)) reader.read({one.text, line.number});
  }
}

}  // namespace fabricast::env_readers
