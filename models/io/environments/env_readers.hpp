#pragma once
// The readers behind parse_env_file, one for each kind of file. Each adds what it finds to `out`;
// `first_line` is where the text begins in the user's file, for texts inside other files.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/environments/env_file.hpp"

namespace fabricast::env_readers {

/// One physical line.
struct Line {
  std::string_view text;  ///< without its end
  int number = 0;
};
std::vector<Line> lines_of(std::string_view text, int first_line = 1);

/// Where a text stands, and what holds for all that is read from it.
struct Context {
  int first_line = 1;
  int columns = 0;        ///< cut off at the left of every line
  int first_columns = 0;  ///< and of the first line besides
  int group = 0;
  bool conditional = false;
  std::vector<EnvTrap> traps;  ///< of every exported setting
  int depth = 0;               ///< texts inside texts
};
inline constexpr int kDepthMax = 8;

void read_plain(std::string_view text, const Context& context, EnvFile& out);
void read_nccl_conf(std::string_view text, const Context& context, EnvFile& out);
void read_shell(std::string_view text, const Context& context, EnvFile& out);
void read_csh(std::string_view text, const Context& context, EnvFile& out);
void read_dockerfile(std::string_view text, const Context& context, EnvFile& out);
void read_yaml(std::string_view text, const Context& context, EnvFile& out);
void read_toml(std::string_view text, const Context& context, EnvFile& out);
void read_python(std::string_view text, const Context& context, EnvFile& out);
/// By kind.
void read_text(std::string_view text, EnvKind kind, const Context& context, EnvFile& out);

/// A group that no other setting of the file has.
int new_group(EnvFile& out);

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);
/// Does the text hold what a shell or a template would replace? "${X}", "$(...)", "`", "{{ }}".
bool is_computed(std::string_view text);
/// Quotes around it taken off, if it has the same at both ends.
std::string_view unquoted(std::string_view text);
/// Adds one setting; `text` is what follows `name`'s line and column.
EnvAssignment& add(EnvFile& out, const Context& context, std::string_view name,
                   std::string_view value, int line, int column);

}  // namespace fabricast::env_readers
