#include <algorithm>

#include "models/io/environments/env_launch.hpp"
#include "models/io/environments/env_readers.hpp"
#include "text/words.hpp"

namespace fabricast::env_readers {
namespace {

/// The quoted strings of a line, in order; what stands in a comment does not count.
std::vector<std::string_view> strings_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#') break;
    if (line[i] != '"' && line[i] != '\'') continue;
    const std::size_t end = line.find(line[i], i + 1);
    if (end == std::string_view::npos) break;
    out.push_back(line.substr(i + 1, end - i - 1));
    i = end;
  }
  return out;
}

void add_text(std::string_view text, const Line& line, const Context& context, EnvFile& out) {
  EnvScope scope = EnvScope::exported;
  if (text.starts_with("-x ")) {
    text = trimmed(text.substr(3));
    scope = EnvScope::command;
  }
  const std::string_view name = assigned_name(text);
  if (name.empty()) return;
  const auto column = static_cast<int>(name.data() - line.text.data()) + 1;
  EnvAssignment& a = add(out, context, name, text.substr(name.size() + 1), line.number, column);
  a.scope = scope;
  a.computed = is_computed(a.value);
}

}  // namespace

/// Tables of NAME = "value", and arrays of "NAME=value".
void read_toml(std::string_view text, const Context& context, EnvFile& out) {
  Context here = context;
  bool in_array = false;
  for (const Line& line : lines_of(text, context.first_line)) {
    const std::string_view bare = trimmed(line.text);
    if (bare.empty() || bare.starts_with('#')) continue;
    const std::size_t equals = bare.find('=');
    const std::string_view key =
        equals == std::string_view::npos ? std::string_view{} : trimmed(bare.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? bare : trimmed(bare.substr(equals + 1));
    if (!in_array && bare.starts_with('[')) {
      here.group = line.number;
    } else if (!in_array && is_env_name(key) && !value.starts_with('[')) {
      const std::vector<std::string_view> texts = strings_of(value);
      const std::string_view plain = trimmed(value.substr(0, value.find('#')));
      const auto column = static_cast<int>(key.data() - line.text.data()) + 1;
      EnvAssignment& a =
          add(out, here, key, texts.empty() ? plain : texts.front(), line.number, column);
      a.computed = is_computed(a.value);
    } else {
      if (!in_array && value.starts_with('[')) {
        in_array = true;
        here.group = line.number;
      }
      for (const std::string_view entry : strings_of(in_array ? line.text : value))
        add_text(entry, line, here, out);
    }
    if (in_array && value.find(']') != std::string_view::npos) in_array = false;
  }
}

}  // namespace fabricast::env_readers
