#include <algorithm>

#include "models/io/environments/env_launch.hpp"
#include "models/io/environments/env_readers.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast::env_readers {
namespace {

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// "key: value"; the key without quotes. Empty when the line is none.
struct Entry {
  std::string_view key, value;
};

Entry entry_of(std::string_view text) {
  if (text.starts_with('"') || text.starts_with('\'')) {
    const std::size_t end = text.find(text.front(), 1);
    if (end == std::string_view::npos || !text.substr(end + 1).starts_with(':')) return {};
    return {text.substr(1, end - 1), trimmed(text.substr(end + 2))};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const bool ends = colon + 1 == text.size() || text[colon + 1] == ' ' || text[colon + 1] == '\t';
  const std::string_view key = text.substr(0, colon);
  if (!ends || key.find_first_of(" \t={}") != std::string_view::npos) return {};
  return {key, trimmed(text.substr(colon + 1))};
}

/// Without a comment behind it.
std::string_view scalar_of(std::string_view value) {
  if (value.starts_with('"') || value.starts_with('\'')) {
    const std::size_t end = value.find(value.front(), 1);
    return end == std::string_view::npos ? value : value.substr(0, end + 1);
  }
  const std::size_t comment = std::min(value.find(" #"), value.find("\t#"));
  return trimmed(value.substr(0, comment));
}

bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("0x")) text.remove_prefix(2);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

bool is_bool(std::string_view text) {
  static constexpr std::string_view words[] = {"yes", "no", "true", "false", "on", "off"};
  return std::ranges::find(words, lower_case(text)) != std::end(words);
}

/// Line by line: templates, fragments and Markdown around it are no YAML, and a parser would stop.
class YamlReader {
 public:
  YamlReader(std::string_view text, const Context& context, EnvFile& out)
      : lines_(lines_of(text, context.first_line)), context_(context), out_(out) {
    bool is_map = false;
    for (std::size_t i = 0; i <= lines_.size(); ++i) {
      const bool ends = i == lines_.size() || lines_[i].text.starts_with("---");
      if (!ends) {
        is_map = is_map || scalar_of(trimmed(lines_[i].text)) == "kind: ConfigMap";
        continue;
      }
      in_config_map_.resize(i, is_map);
      is_map = false;
    }
  }

  void run() {
    while (at_ < lines_.size()) step();
  }

 private:
  const Line& line() const { return lines_[at_]; }

  void step() {
    std::string_view text = line().text;
    std::size_t indent = indent_of(text);
    text = trimmed(text);
    if (text.starts_with("{{")) template_action(text);
    if (text.empty() || text.starts_with('#') || text.starts_with("{{")) {
      ++at_;
      return;
    }
    while (text.starts_with("- ")) {
      if (block_or_shell(text.substr(2), indent)) return;
      const std::size_t before = text.size();
      text = trimmed(text.substr(2));
      indent += before - text.size();
    }
    if (block_or_shell(text, indent)) return;
    flow_pair(text);
    if (list_item(text)) {
      ++at_;
      return;
    }
    const Entry entry = entry_of(text);
    if (is_one_of(entry.key, {"command", "args", "entrypoint"}) && command(indent)) return;
    if (entry.key == "envFrom") env_from(indent);
    if (entry.key == "name") {
      named(entry.value, indent);
    } else if (is_env_name(entry.key)) {
      mapping(entry, indent);
      ++at_;
    } else {
      ++at_;
    }
  }

  /// {{ if }} ... {{ else }} ... {{ end }} of Helm: each branch is a group of its own.
  void template_action(std::string_view text) {
    std::string_view word = text.substr(std::min(text.find_first_not_of("{- "), text.size()));
    word = word.substr(0, word.find_first_of(" }"));
    if (word == "end" && templates_ > 0) --templates_;
    if (word == "if" || word == "range" || word == "with") ++templates_;
    template_group_ = templates_ > 0 ? line().number : 0;
  }

  /// `key: |` or `- |` with deeper lines below, or a run of lines that end in a backslash.
  bool block_or_shell(std::string_view text, std::size_t indent) {
    const Entry entry = entry_of(trimmed(text));
    const std::string_view value = entry.key.empty() ? trimmed(text) : entry.value;
    if ((value.starts_with('|') || value.starts_with('>')) && value.size() <= 3) {
      block(entry.key, indent);
      return true;
    }
    if (trimmed(line().text).ends_with('\\')) {
      continued();
      return true;
    }
    return false;
  }

  void block(std::string_view key, std::size_t indent) {
    ++at_;
    std::string text;
    const std::size_t begin = at_;
    while (at_ < lines_.size()) {
      const std::string_view bare = trimmed(line().text);
      if (!bare.empty() && indent_of(line().text) <= indent) break;
      ++at_;
    }
    std::size_t margin = std::string::npos;
    for (std::size_t i = begin; i < at_; ++i) {
      if (!trimmed(lines_[i].text).empty()) margin = std::min(margin, indent_of(lines_[i].text));
    }
    for (std::size_t i = begin; i < at_; ++i) {
      text += lines_[i].text.substr(std::min(margin, lines_[i].text.size()));
      text += '\n';
    }
    if (begin == lines_.size()) return;
    EnvKind kind = detect_env_kind(key, text);
    const bool has_entries = text.find("- name: ") != std::string::npos;
    if (kind == EnvKind::plain || kind == EnvKind::yaml) kind = EnvKind::shell;
    nested(text, has_entries ? EnvKind::yaml : kind, lines_[begin].number,
           static_cast<int>(std::min(margin, lines_[begin].text.size())));
  }

  void continued() {
    const int first = line().number;
    std::string text;
    while (at_ < lines_.size()) {
      std::string part(line().text);
      ++at_;
      for (std::size_t i = 0; text.empty() && i < part.size(); ++i) {
        if (part[i] != ' ' && part[i] != '-' && part[i] != '"') break;
        part[i] = ' ';
      }
      text += part;
      text += '\n';
      if (!trimmed(part).ends_with('\\')) break;
    }
    nested(text, EnvKind::shell, first, 0);
  }

  /// What a container runs, and `args:` behind it, as a line of a shell in which every word stands
  /// where it stands in the file. False, and nothing is read, where that sets nothing.
  bool command(std::size_t indent) {
    const std::size_t begin = at_, known = out_.assignments.size();
    std::string text;
    bool is_read = command_words(indent, text);
    if (is_read && at_ < lines_.size() && indent_of(line().text) == indent &&
        entry_of(trimmed(line().text)).key == "args") {
      text += " \\\n";
      is_read = command_words(indent, text);
    }
    // A launcher of one container hands on nothing of another one's script.
    const std::size_t launches = out_.launches.size();
    if (is_read) nested(text, EnvKind::shell, lines_[begin].number, 0);
    out_.launches.resize(launches);
    if (out_.assignments.size() > known) return true;
    at_ = begin;
    return false;
  }

  bool command_words(std::size_t indent, std::string& text) {
    const std::string_view all = line().text;
    const std::string_view value =
        entry_of(trimmed(all.substr(std::min(indent, all.size())))).value;
    const std::size_t column =
        value.empty() ? 0 : static_cast<std::size_t>(value.data() - all.data());
    if (value.starts_with('[')) return flow_words(column, text);
    if (value.empty() || value.starts_with('#')) return block_words(indent, text);
    if (value.starts_with('|') || value.starts_with('>') || value.starts_with('{')) return false;
    const std::string_view bare = unquoted(scalar_of(value));
    text += std::string(static_cast<std::size_t>(bare.data() - all.data()), ' ');
    text += bare;
    ++at_;
    return true;
  }

  /// ["mpirun", "-x", NAME=value], on one line or several.
  bool flow_words(std::size_t column, std::string& text) {
    text += std::string(column, ' ');
    char quote = 0;
    for (bool ends = false; !ends; ++at_, column = 0) {
      if (at_ == lines_.size()) return false;
      const std::string_view all = line().text;
      for (std::size_t i = column; i < all.size() && !ends; ++i) {
        const char c = all[i];
        if (quote == 0 && (c == '"' || c == '\'')) {
          quote = c;
        } else if (c == quote) {
          quote = 0;
        }
        ends = quote == 0 && c == ']';
        const bool mark = quote == 0 && (c == '[' || c == ',' || c == ']');
        text += mark ? ' ' : c;
      }
      if (!ends) text += " \\\n";
    }
    return true;
  }

  /// "- mpirun", one word a line.
  bool block_words(std::size_t indent, std::string& text) {
    ++at_;
    const std::size_t begin = at_;
    for (; at_ < lines_.size(); ++at_) {
      const std::string_view all = line().text, item = trimmed(all);
      text += at_ == begin ? "\\\n" : " \\\n";
      if (item.empty() || item.starts_with('#')) continue;
      if (indent_of(all) < indent || !item.starts_with("- ")) break;
      const std::string_view word = scalar_of(trimmed(item.substr(2)));
      if (word.empty() || word.starts_with('|') || word.starts_with('>') || word.starts_with('{'))
        return false;
      const std::size_t column = static_cast<std::size_t>(word.data() - all.data());
      if (word.front() == '"' || word.front() == '\'') {
        text += std::string(column, ' ') + std::string(word);
      } else if (const std::string quoted = shell_word(word); quoted == word) {
        text += std::string(column, ' ') + quoted;
      } else {
        text += std::string(column - 1, ' ') + quoted;
      }
    }
    if (text.ends_with(" \\\n")) text.resize(text.size() - 3);
    return at_ > begin;
  }

  /// `- configMapRef: {name: X}` below, the name perhaps on the next line.
  void env_from(std::size_t indent) {
    if (std::ranges::find(in_config_map_, true) != in_config_map_.end()) return;  // it may be here
    for (std::size_t i = at_ + 1; i < lines_.size(); ++i) {
      const std::string_view all = lines_[i].text, text = trimmed(all);
      if (!text.empty() &&
          (indent_of(all) < indent || (indent_of(all) == indent && text[0] != '-')))
        return;
      const std::size_t at = text.find("configMapRef:");
      if (at == std::string_view::npos) continue;
      const bool here = text.find("name:", at) != std::string_view::npos;
      const std::string_view from = here                    ? text.substr(text.find("name:", at))
                                    : i + 1 < lines_.size() ? trimmed(lines_[i + 1].text)
                                                            : std::string_view{};
      if (!from.starts_with("name:")) continue;
      const std::string_view name = trimmed(from.substr(5));
      out_.remarks.push_back({lines_[i].number, EnvRemark::Kind::env_from,
                              std::string(unquoted(name.substr(0, name.find_first_of(",}"))))});
    }
  }

  void nested(std::string_view text, EnvKind kind, int first_line, int columns) {
    Context inside = context_;
    inside.first_line = first_line;
    inside.columns = context_.columns + columns;
    inside.depth = context_.depth + 1;
    inside.group = new_group(out_);
    read_text(text, kind, inside, out_);
  }

  /// {name: X, value: Y} on one line.
  void flow_pair(std::string_view text) {
    if (!text.starts_with('{')) return;
    const auto field = [&](std::string_view key) -> std::string_view {
      const std::size_t at = text.find(key);
      if (at == std::string_view::npos) return {};
      const std::string_view rest = trimmed(text.substr(at + key.size()));
      return scalar_of(trimmed(rest.substr(0, rest.find_first_of(",}"))));
    };
    const std::string_view name = unquoted(field("name:"));
    if (!is_env_name(name) || text.find("value:") == std::string_view::npos) return;
    set(name, field("value:"), column_of(name), true);
  }

  /// - NAME=value
  bool list_item(std::string_view text) {
    if (line().text.find("- ") == std::string_view::npos) return false;
    const std::string_view bare = unquoted(scalar_of(text));
    const std::string_view name = assigned_name(bare);
    if (name.empty()) return false;
    group_of(indent_of(line().text));
    EnvAssignment& a =
        add(out_, in_group(), name, bare.substr(name.size() + 1), line().number, column_of(name));
    a.computed = is_computed(a.value);
    return true;
  }

  /// `name: X`, then `value: Y` or `valueFrom:` on the next line that is no comment.
  void named(std::string_view value, std::size_t indent) {
    const std::string_view name = unquoted(scalar_of(value));
    const int number = line().number, column = column_of(name);
    const std::size_t dash = indent_of(line().text);
    ++at_;
    if (!is_env_name(name)) return;
    while (at_ < lines_.size()) {
      const std::string_view text = trimmed(line().text);
      if (!text.empty() && !text.starts_with('#')) break;
      ++at_;
    }
    if (at_ == lines_.size() || indent_of(line().text) != indent) return;
    const Entry entry = entry_of(trimmed(line().text));
    if (entry.key != "value" && entry.key != "valueFrom") return;
    group_of(dash);
    const std::size_t before = out_.assignments.size();
    if (entry.key == "value") {
      set(name, scalar_of(entry.value), column, true);
    } else {
      EnvAssignment& a = add(out_, in_group(), name, "", number, column);
      a.computed = true;
      a.traps.push_back(EnvTrap::value_elsewhere);
      while (at_ + 1 < lines_.size() && indent_of(lines_[at_ + 1].text) > indent) ++at_;
    }
    if (out_.assignments.size() > before) out_.assignments.back().line = number;
    ++at_;
  }

  /// NAME: value
  void mapping(const Entry& entry, std::size_t indent) {
    if (entry.value.empty() || entry.value.starts_with('{') || entry.value.starts_with('[')) return;
    group_of(indent);
    set(entry.key, scalar_of(entry.value), column_of(entry.key), is_config_map_data());
  }

  /// Where the API server takes text alone: `data:` of a ConfigMap.
  bool is_config_map_data() const {
    const std::size_t parent = static_cast<std::size_t>(group_ - context_.first_line);
    return in_config_map_[at_] && group_ >= context_.first_line && parent < at_ &&
           scalar_of(trimmed(lines_[parent].text)) == "data:";
  }

  void set(std::string_view name, std::string_view raw, int column, bool must_be_text) {
    const std::string_view value = unquoted(raw);
    EnvAssignment& a = add(out_, in_group(), name, value, line().number, column);
    a.computed = is_computed(value);
    if (a.computed || value.size() != raw.size()) return;
    if (is_bool(raw)) a.traps.push_back(EnvTrap::yaml_bool);
    if (is_number(raw) && must_be_text) a.traps.push_back(EnvTrap::yaml_number);
  }

  /// Settings below the same parent line belong together.
  void group_of(std::size_t indent) {
    constexpr std::size_t lines_max = 2000;  // bounds what a list without a parent costs
    const std::size_t last = at_ > lines_max ? at_ - lines_max : 0;
    for (std::size_t i = at_ + 1; i-- > last;) {
      const std::string_view text = trimmed(lines_[i].text);
      if (text.empty() || text.starts_with('#') || text.starts_with('-')) continue;
      const std::size_t there = indent_of(lines_[i].text);
      if (there > indent || (there == indent && !text.ends_with(':'))) continue;
      if (!scalar_of(text).ends_with(':')) continue;
      group_ = lines_[i].number;
      return;
    }
    group_ = context_.group;
  }
  Context in_group() const {
    Context out = context_;
    out.group = templates_ > 0 ? template_group_ : group_;
    out.conditional = out.conditional || templates_ > 0;
    return out;
  }
  int column_of(std::string_view part) const {
    const std::string_view text = line().text;
    if (part.data() < text.data() || part.data() > text.data() + text.size()) return 1;
    return static_cast<int>(part.data() - text.data()) + 1;
  }

  std::vector<Line> lines_;
  std::vector<bool> in_config_map_;  ///< by line
  Context context_;
  EnvFile& out_;
  std::size_t at_ = 0;
  int group_ = 0;
  int templates_ = 0, template_group_ = 0;  ///< open template branches, and the line of the last
};

}  // namespace

void read_yaml(std::string_view text, const Context& context, EnvFile& out) {
  YamlReader(text, context, out).run();
}

}  // namespace fabricast::env_readers
