#pragma once
// Lines of what a tool printed, without what the way from there to the file put around them.

#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricast {

inline constexpr std::size_t kLogLineMax = std::size_t{1} << 20;

struct LogLine {
  int number = 0;  ///< 1-based, in the file
  std::string text;
  int rank = -1;  ///< of the process that wrote it, where a launcher says so
};

/// Raw lines, one after the other, of a text or a file. What a line has above kLogLineMax is left
/// out, so that a file without line breaks takes no memory either.
class LineInput {
 public:
  explicit LineInput(std::string_view text) : rest_(text) {}
  explicit LineInput(const std::string& path);

  /// False at the end. `ended`: by a line break.
  bool next(std::string& line, bool& ended);

 private:
  bool fill();

  std::string_view rest_;  ///< not read yet, of the text or of the block
  std::unique_ptr<std::ifstream> file_;
  std::string block_;
};

/// The lines of a text or a file, made anew on each way through: a log of 1 GiB is never held.
class LogLines {
 public:
  class Iterator;

  explicit LogLines(std::string_view text) : text_(text) {}
  explicit LogLines(std::string path) : path_(std::move(path)), is_file_(true) {}

  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }

  bool mail = false;      ///< marks of quoted mail are taken off
  bool srun = false;      ///< so are prefixes of srun
  bool prefixes = false;  ///< and those of others

 private:
  std::string_view text_;
  std::string path_;
  bool is_file_ = false;
};

class LogLines::Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = LogLine;

  const LogLine& operator*() const { return line_; }
  Iterator& operator++();
  bool operator==(std::default_sentinel_t) const { return at_end_; }

  // Of the lines so far.
  bool colours = false, returns = false;
  bool docker = false;    ///< one at least was wrapped by Docker's json-file driver
  bool has_zero = false;  ///< a byte of 0: no text
  bool ended = true;      ///< the last line by a line break
  int taken_off = 0;      ///< prefixes

 private:
  friend class LogLines;
  Iterator(const LogLines& lines, LineInput input);
  void next_piece();

  const LogLines& lines_;
  LineInput input_;
  std::string raw_;
  std::size_t piece_ = std::string::npos;  ///< where the next one of raw_ begins; npos = none
  LogLine line_;
  bool at_end_ = false;
};

struct LogText {
  LogLines lines;
  /// What was taken off, one word or two each: "Docker's JSON", "colours", "carriage returns",
  /// "rank prefixes", "quote marks".
  std::vector<std::string> removed;
  bool cut = false;       ///< the last line has no end
  int last_line = 0;      ///< its number
  bool is_text = true;    ///< no byte of 0 is in it
  bool has_info = false;  ///< of NCCL ("NCCL INFO")
};

/// It begins as what Docker's json-file driver keeps: lines of JSON, no document.
bool is_docker_log(std::string_view text);

/// Docker's JSON around each line (`{"log":"...\n","stream":...}`), escape sequences, carriage
/// returns (a lone one ends a line: progress bars), marks of quoted mail, and the prefixes of
/// launchers: `[1,0]<stdout>:` (Open MPI), `0: ` (srun -l), `[rank0]:`,
/// `[default0]:` (torchrun). A prefix of srun counts where at least three lines have one. A view:
/// the text must outlive it.
LogText read_log(std::string_view text);
/// The same of a file, which is read on each way through its lines.
LogText read_log_file(const std::string& path);

/// Words between blanks and tabs.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace fabricast
