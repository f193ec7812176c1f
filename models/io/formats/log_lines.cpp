#include "models/io/formats/log_lines.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "models/io/formats/text_file.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Without `ESC [ ... letter` and other escapes.
std::string without_escapes(std::string_view text, bool& found) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    found = true;
    if (i + 1 < text.size() && text[i + 1] == '[') {
      ++i;
      while (i + 1 < text.size() && !(text[i + 1] >= '@' && text[i + 1] <= '~')) ++i;
    }
    ++i;  // the letter that ends it
  }
  return out;
}

constexpr std::string_view kDockerBegin = "{\"log\":\"";

/// The line in `{"log":"...\n","stream":"stderr","time":"..."}`; others as they are.
std::string without_docker(std::string read, bool& found) {
  if (!is_docker_log(read)) return read;
  std::size_t end = kDockerBegin.size();
  while (end < read.size() && read[end] != '"') end += read[end] == '\\' ? 2 : 1;
  if (end >= read.size()) return read;  // it does not end: no such line
  const auto log =
      nlohmann::json::parse(read.begin() + kDockerBegin.size() - 1,
                            read.begin() + static_cast<std::ptrdiff_t>(end) + 1, nullptr, false);
  if (!log.is_string()) return read;
  found = true;
  std::string out = log.get<std::string>();
  while (out.ends_with('\n') || out.ends_with('\r')) out.pop_back();
  return out;
}

/// A number at `at`, blanks before it allowed; -1 = none.
int number_at(std::string_view text, std::size_t& at) {
  std::string_view rest = text.substr(std::min(text.find_first_not_of(' ', at), text.size()));
  const auto value = rest.starts_with('-') ? std::nullopt : take_number<int>(rest);
  if (!value) return -1;
  at = text.size() - rest.size();
  return *value;
}

/// The rank in front of a line and where the line itself begins; -1 = no such prefix.
struct Prefix {
  int rank = -1;
  std::size_t length = 0;
};

/// "12: text", " 2: text", "3:" alone.
Prefix srun_prefix(std::string_view line) {
  std::size_t at = 0;
  const int rank = number_at(line, at);
  if (rank < 0 || at >= line.size() || line[at] != ':') return {};
  if (at + 1 == line.size()) return {rank, at + 1};
  return line[at + 1] == ' ' ? Prefix{rank, at + 2} : Prefix{};
}

/// "[1,0]<stdout>:" and "[1,0]<stdout>: "
Prefix mpi_prefix(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos || line[begin] != '[') return {};
  std::size_t at = begin + 1;
  if (number_at(line, at) < 0 || at >= line.size() || line[at] != ',') return {};
  ++at;
  const int rank = number_at(line, at);
  if (rank < 0) return {};
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:", "]<stdout>", "]<stderr>"}) {
    if (line.substr(at).starts_with(stream)) return {rank, at + stream.size()};
  }
  return {};
}

/// "[rank0]:", "[default0]:"
Prefix torch_prefix(std::string_view line) {
  for (const std::string_view word : {"[rank", "[default"}) {
    if (!line.starts_with(word)) continue;
    std::size_t at = word.size();
    if (at >= line.size() || !is_digit(line[at])) continue;
    const int rank = number_at(line, at);
    if (rank < 0 || !line.substr(at).starts_with("]:")) continue;
    // "[rank0]:[E610 ..." is PyTorch's own and stays, as its rank is read from there.
    return word == "[default" ? Prefix{rank, at + 2} : Prefix{};
  }
  return {};
}

void take_off(std::string& text, Prefix (*prefix)(std::string_view), int& rank, int& taken) {
  const Prefix found = prefix(text);
  if (found.rank < 0) return;
  text.erase(0, found.length);
  rank = found.rank;
  ++taken;
}

}  // namespace

LineInput::LineInput(const std::string& path)
    : file_(std::make_unique<std::ifstream>(open_file(path))) {}

bool LineInput::fill() {
  if (!file_) return false;
  block_.resize(std::size_t{1} << 16);
  file_->read(block_.data(), static_cast<std::streamsize>(block_.size()));
  block_.resize(static_cast<std::size_t>(file_->gcount()));
  rest_ = block_;
  return !rest_.empty();
}

bool LineInput::next(std::string& line, bool& ended) {
  line.clear();
  ended = false;
  if (rest_.empty() && !fill()) return false;
  do {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line.append(rest_.substr(0, std::min(end, kLogLineMax - line.size())));
    ended = end < rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
  } while (!ended && fill());
  return true;
}

LogLines::Iterator LogLines::begin() const {
  return Iterator(*this, is_file_ ? LineInput(path_) : LineInput(text_));
}

LogLines::Iterator::Iterator(const LogLines& lines, LineInput input)
    : lines_(lines), input_(std::move(input)) {
  ++*this;
}

LogLines::Iterator& LogLines::Iterator::operator++() {
  if (piece_ != std::string::npos) {
    next_piece();
    return *this;
  }
  std::string read;
  if (!input_.next(read, ended)) {
    ended = true;
    at_end_ = true;
    return *this;
  }
  has_zero = has_zero || read.find('\0') != std::string::npos;
  ++line_.number;
  raw_ = without_escapes(without_docker(std::move(read), docker), colours);
  while (raw_.ends_with('\r')) {
    raw_.pop_back();
    returns = true;
  }
  piece_ = 0;
  next_piece();
  return *this;
}

void LogLines::Iterator::next_piece() {
  const std::size_t end = raw_.find('\r', piece_);
  std::string& text = line_.text;
  text = raw_.substr(piece_, end - piece_);
  piece_ = end == std::string::npos ? end : end + 1;
  returns = returns || end != std::string::npos;
  line_.rank = -1;
  while (lines_.mail && (text.starts_with("> ") || text == ">"))
    text.erase(0, std::min<std::size_t>(2, text.size()));
  if (!lines_.prefixes) return;
  take_off(text, mpi_prefix, line_.rank, taken_off);
  if (lines_.srun) take_off(text, srun_prefix, line_.rank, taken_off);
  take_off(text, torch_prefix, line_.rank, taken_off);
}

namespace {

LogText log_of(LogLines lines) {
  LogText out{std::move(lines), {}, false, 0, true, false};
  const auto note = [&](bool found, const char* what) {
    if (found) out.removed.emplace_back(what);
  };
  long long all = 0, quoted = 0, srun_lines = 0;
  bool docker = false, colours = false, returns = false;
  for (auto at = out.lines.begin(); at != out.lines.end();) {
    ++all;
    quoted += (*at).text.starts_with("> ") ? 1 : 0;
    srun_lines += srun_prefix((*at).text).rank >= 0 ? 1 : 0;
    out.has_info = out.has_info || (*at).text.find("NCCL INFO") != std::string::npos;
    out.last_line = (*at).number;
    out.cut = !at.ended;
    ++at;
    docker = at.docker;
    colours = at.colours;
    returns = at.returns;
    out.is_text = !at.has_zero;
  }
  out.lines.mail = quoted > 0 && 2 * quoted > all;
  out.lines.srun = srun_lines >= 3;
  out.lines.prefixes = true;
  int prefixes = 0;
  for (auto at = out.lines.begin(); at != out.lines.end() && prefixes == 0; ++at)
    prefixes = at.taken_off;
  note(docker, "Docker's JSON");
  note(colours, "colours");
  note(returns, "carriage returns");
  note(out.lines.mail, "quote marks");
  note(prefixes > 0, "rank prefixes");
  return out;
}

}  // namespace

bool is_docker_log(std::string_view text) { return text.starts_with(kDockerBegin); }

LogText read_log(std::string_view text) { return log_of(LogLines(text)); }

LogText read_log_file(const std::string& path) { return log_of(LogLines(path)); }

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

}  // namespace fabricast
