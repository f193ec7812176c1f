#pragma once
// A file of the user as text.

#include <cstddef>
#include <fstream>
#include <istream>
#include <string>

namespace fabricast {

/// What people write: descriptions, settings, tables. A cluster is a few kB.
inline constexpr std::size_t kTextSizeMax = std::size_t{16} << 20;
/// What machines write: logs and traces.
inline constexpr std::size_t kLogSizeMax = std::size_t{1} << 30;

/// All of a regular file, or of what this program was given as /dev/stdin or /dev/fd/N (a pipe, a
/// process substitution). Throws Error with the path when it is something else (a directory, a
/// device, a named pipe, which may never end or never begin), cannot be read, or is larger than
/// `size_max` bytes; `hint` says what to give.
std::string read_text_file(const std::string& path, const std::string& hint = {},
                           std::size_t size_max = kTextSizeMax);
/// From now on no file outside of this folder is read: whoever asks is told that there is none. For
/// a server, which gets names from elsewhere. Before any thread reads.
void read_only_below(const std::string& folder);
/// Throws Error where the file or folder is not below that of read_only_below(). `hint` says what
/// to give.
void require_readable(const std::string& path, const std::string& hint = {});
/// The one way to open what a user names. Throws as require_readable() does; what cannot be opened
/// is a stream that has failed. A byte order mark of UTF-8 is skipped; that of UTF-16 is an Error.
std::ifstream open_file(const std::string& path);
/// By the name's end, .yaml or .yml.
bool is_yaml(const std::string& path);
/// What `file` names: a path is meant relative to its folder, a preset's name is not. Changes may
/// follow the name: "node.yaml:nics=4".
std::string resolved(const std::string& name, const std::string& file);
/// A regular file above kTextSizeMax, which is to be read piece by piece. Throws Error when it is
/// above kLogSizeMax.
bool is_large_file(const std::string& path);
/// Its first kTextSizeMax bytes.
std::string begin_of_file(const std::string& path);
/// The same of an open stream; `name` is for messages.
std::string read_text_stream(std::istream& in, const std::string& name,
                             std::size_t size_max = kTextSizeMax);

}  // namespace fabricast
