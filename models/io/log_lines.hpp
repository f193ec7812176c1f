#pragma once
// Lines of what a tool printed, without what the way from there to the file put around them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

struct LogLine {
  int number = 0;  ///< 1-based, in the file
  std::string text;
  int rank = -1;  ///< of the process that wrote it, where a launcher says so
};

struct LogText {
  std::vector<LogLine> lines;
  /// What was taken off, one word or two each: "colours", "carriage returns", "rank prefixes",
  /// "quote marks", "byte order mark".
  std::vector<std::string> removed;
  bool cut = false;  ///< the last line has no end

  /// The lines of one rank, or of no known one.
  std::vector<LogLine> of_rank(int rank) const;
};

/// Escape sequences, carriage returns (a lone one ends a line: progress bars), a byte order mark,
/// marks of quoted mail, and the prefixes of launchers: `[1,0]<stdout>:` (Open MPI), `0: ` (srun
/// -l), `[rank0]:`, `[default0]:` (torchrun). A prefix of srun counts where at least three lines
/// have one.
LogText read_log(std::string_view text);

/// Words between blanks and tabs.
std::vector<std::string_view> split_words(std::string_view text);
/// A whole number, or a number, that is all of `text`; false if it is none.
bool parse_whole(std::string_view text, std::int64_t& out);
bool parse_number(std::string_view text, double& out);

}  // namespace fabricast
