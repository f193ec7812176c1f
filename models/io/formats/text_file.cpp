#include "models/io/formats/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// Opened by whoever started this program, so that it has a writer that will end it.
bool is_handed_over(std::string_view path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

/// What the path is where its text is not to be had; "" = it can be read.
std::string_view what_it_is(const std::string& path) {
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  using enum std::filesystem::file_type;
  switch (status.type()) {
    case directory:
      return "is a directory";
    case fifo:
      return is_handed_over(path) ? "" : "is a named pipe, not a file";
    case character:
      return is_handed_over(path) || path == "/dev/null" ? "" : "is a device, not a file";
    case block:
      return "is a device, not a file";
    case socket:
      return "is a socket, not a file";
    default:
      return "";
  }
}

/// Where files may be read; empty = everywhere.
std::filesystem::path& readable() {
  static std::filesystem::path folder;
  return folder;
}

bool may_read(const std::string& path) {
  if (readable().empty()) return true;
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::canonical(path, problem);
  if (problem) return false;
  const auto [end, differs] = std::ranges::mismatch(readable(), real);
  return end == readable().end();
}

[[noreturn]] void refuse_size(const std::string& name, std::size_t size_max) {
  const std::string limit = size_max % (1u << 30) == 0 ? fmt::format("{} GiB", size_max >> 30)
                                                       : fmt::format("{} MiB", size_max >> 20);
  throw Error(Place{name, 0, {}}, "larger than " + limit);
}

/// Skips a byte order mark of UTF-8 at the beginning. Throws Error where it is one of UTF-16.
void take_off_mark(std::istream& in, const std::string& name) {
  if (!in) return;
  const int first = in.peek();
  const std::string_view mark = first == 0xef   ? "\xef\xbb\xbf"
                                : first == 0xfe ? "\xfe\xff"
                                : first == 0xff ? "\xff\xfe"
                                                : "";
  std::size_t read = 0;
  while (read < mark.size() && in.peek() == static_cast<unsigned char>(mark[read])) {
    in.get();
    ++read;
  }
  const bool is_whole = read == mark.size();
  if (is_whole && read == 2) throw Error(Place{name, 0, {}}, "this is UTF-16", "save it as UTF-8");
  for (; !is_whole && read > 0; --read) in.unget();
  in.clear();  // a peek at the end of the file
}

}  // namespace

void read_only_below(const std::string& folder) { readable() = std::filesystem::canonical(folder); }

void require_readable(const std::string& path, const std::string& hint) {
  if (!may_read(path)) throw Error(Place{path, 0, {}}, "no file of that name was given", hint);
}

std::ifstream open_file(const std::string& path) {
  require_readable(path);
  std::ifstream in(path, std::ios::binary);
  take_off_mark(in, path);
  return in;
}

bool is_yaml(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

std::string resolved(const std::string& name, const std::string& file) {
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / name;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(beside, ignored)) return beside.string();
  const std::string unchanged = beside.string().substr(0, beside.string().find(':'));
  return std::filesystem::is_regular_file(unchanged, ignored) ? beside.string() : name;
}

bool is_large_file(const std::string& path) {
  std::error_code problem;
  if (!may_read(path) || !std::filesystem::is_regular_file(path, problem)) return false;
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  if (problem || size <= kTextSizeMax) return false;
  if (size > kLogSizeMax) refuse_size(path, kLogSizeMax);
  return true;
}

std::string begin_of_file(const std::string& path) {
  std::ifstream in = open_file(path);
  std::string text(kTextSizeMax, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

std::string read_text_stream(std::istream& in, const std::string& name, std::size_t size_max) {
  take_off_mark(in, name);
  std::string text;
  std::array<char, 1 << 16> block;
  while (in && text.size() <= size_max) {
    in.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (text.size() > size_max) refuse_size(name, size_max);
  return text;
}

std::string read_text_file(const std::string& path, const std::string& hint, std::size_t size_max) {
  require_readable(path, hint);
  if (const std::string_view what = what_it_is(path); !what.empty())
    throw Error(Place{path, 0, {}}, std::string(what), hint);
  std::ifstream in = open_file(path);
  if (!in) throw Error(Place{path, 0, {}}, "cannot be read", hint);
  return read_text_stream(in, path, size_max);
}

}  // namespace fabricast
