#include <algorithm>
#include <array>

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
      dictionary(line, bare);
    }
    const bool defines = bare.starts_with("def ") || bare.starts_with("import ");
    after_init_ = after_init_ || (!defines && std::ranges::any_of(kInitCalls, [&](auto call) {
                    return bare.find(call) != std::string_view::npos;
                  }));
  }

 private:
  /// %env NAME=value, %env NAME value
  void magic(const Line& line, std::string_view bare) {
    const std::size_t end = std::min(bare.find_first_of(" \t"), bare.size());
    const std::string_view word = bare.substr(0, end);
    if (word != "%env" && word != "%set_env") return;
    const std::string_view rest = trimmed(bare.substr(end));
    const std::size_t split = rest.find_first_of("= ");
    if (split == std::string_view::npos || !is_env_name(rest.substr(0, split))) return;
    set(line, rest.substr(0, split), trimmed(rest.substr(split + 1)), false);
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
    std::size_t end = literal_end(rest);
    if (end == std::string_view::npos) return;
    const std::string_view name = rest.substr(1, end - 1);
    rest = trimmed(rest.substr(end + 1));
    if (rest.starts_with(']')) rest = trimmed(rest.substr(1));
    const bool sets = (rest.starts_with('=') && !rest.starts_with("==")) || rest.starts_with(',');
    if (!is_env_name(name) || !sets) return;
    rest = trimmed(rest.substr(1));
    end = literal_end(rest);
    const bool known = end != std::string_view::npos;
    set(line, name, known ? rest.substr(1, end - 1) : rest, !known);
  }

  /// "NAME": "value" of a dictionary that becomes an environment; names of NCCL only.
  void dictionary(const Line& line, std::string_view bare) {
    const std::size_t end = literal_end(bare);
    if (end == std::string_view::npos) return;
    const std::string_view name = bare.substr(1, end - 1);
    std::string_view rest = trimmed(bare.substr(end + 1));
    if (!is_env_name(name) || name.find("NCCL") == std::string_view::npos || !rest.starts_with(':'))
      return;
    rest = trimmed(rest.substr(1));
    const std::size_t value_end = literal_end(rest);
    const bool known = value_end != std::string_view::npos;
    set(line, name, known ? rest.substr(1, value_end - 1) : rest, !known);
  }

  void set(const Line& line, std::string_view name, std::string_view value, bool computed) {
    const auto column = static_cast<int>(name.data() - line.text.data()) + 1;
    EnvAssignment& a = add(out_, context_, name, value, line.number, column);
    a.computed = computed;
    a.conditional = a.conditional || line.text.starts_with(' ') || line.text.starts_with('\t');
    if (after_init_) a.traps.push_back(EnvTrap::after_init);
  }

  Context context_;
  EnvFile& out_;
  bool after_init_ = false;
};

/// The source lines of a notebook are JSON strings: "os.environ[\"A\"] = \"1\"\n",
std::string without_json(std::string_view text) {
  std::string out;
  for (const Line& line : lines_of(text)) {
    std::string_view bare = trimmed(line.text);
    if (bare.ends_with(',')) bare.remove_suffix(1);
    const bool is_string = bare.size() >= 2 && bare.starts_with('"') && bare.ends_with('"');
    bare = is_string ? bare.substr(1, bare.size() - 2) : line.text;
    if (is_string && bare.ends_with("\\n")) bare.remove_suffix(2);
    for (std::size_t i = 0; i < bare.size(); ++i) {
      if (is_string && bare[i] == '\\' && i + 1 < bare.size()) ++i;
      out += bare[i];
    }
    out += '\n';
  }
  return out;
}

}  // namespace

void read_python(std::string_view text, const Context& context, EnvFile& out) {
  const bool notebook = trimmed(text).starts_with('{');
  const std::string source = notebook ? without_json(text) : std::string(text);
  PythonReader reader(context, out);
  for (const Line& line : lines_of(source, context.first_line)) reader.read(line);
}

}  // namespace fabricast::env_readers
