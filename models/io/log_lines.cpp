#include "models/io/log_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

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

/// A number at `at`, blanks before it allowed; -1 = none.
int number_at(std::string_view text, std::size_t& at) {
  std::size_t from = at;
  while (from < text.size() && text[from] == ' ') ++from;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data() + from, text.data() + text.size(), value);
  if (error != std::errc{} || value < 0 || !is_digit(text[from])) return -1;
  at = static_cast<std::size_t>(end - text.data());
  return value;
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

std::vector<LogLine> LogText::of_rank(int rank) const {
  std::vector<LogLine> out;
  std::ranges::copy_if(lines, std::back_inserter(out),
                       [&](const LogLine& line) { return line.rank == rank; });
  return out;
}

LogText read_log(std::string_view text) {
  LogText out;
  const auto note = [&](bool found, const char* what) {
    if (found) out.removed.emplace_back(what);
  };
  const bool marked = text.starts_with("\xef\xbb\xbf");
  if (marked) text.remove_prefix(3);
  out.cut = !text.empty() && text.back() != '\n';
  bool colours = false, returns = false;
  int number = 0, srun_lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = without_escapes(text.substr(0, end), colours);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    while (!line.empty() && line.back() == '\r') {
      line.pop_back();
      returns = true;
    }
    for (std::string_view rest = line;;) {
      const std::size_t at = rest.find('\r');
      out.lines.push_back({number, std::string(rest.substr(0, at))});
      if (at == std::string_view::npos) break;
      returns = true;
      rest.remove_prefix(at + 1);
    }
  }
  int quoted = 0;
  for (const LogLine& line : out.lines) {
    quoted += line.text.starts_with("> ") ? 1 : 0;
    srun_lines += srun_prefix(line.text).rank >= 0 ? 1 : 0;
  }
  const bool mail = quoted > 0 && 2 * quoted > static_cast<int>(out.lines.size());
  int prefixes = 0;
  for (LogLine& line : out.lines) {
    while (mail && (line.text.starts_with("> ") || line.text == ">"))
      line.text.erase(0, std::min<std::size_t>(2, line.text.size()));
    take_off(line.text, mpi_prefix, line.rank, prefixes);
    if (srun_lines >= 3) take_off(line.text, srun_prefix, line.rank, prefixes);
    take_off(line.text, torch_prefix, line.rank, prefixes);
  }
  note(marked, "byte order mark");
  note(colours, "colours");
  note(returns, "carriage returns");
  note(mail, "quote marks");
  note(prefixes > 0, "rank prefixes");
  return out;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

bool parse_whole(std::string_view text, std::int64_t& out) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && at == end;
}

bool parse_number(std::string_view text, double& out) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && at == end && std::isfinite(out);
}

}  // namespace fabricast
