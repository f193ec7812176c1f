#pragma once
// Folders of what the ranks of a job wrote.

#include <string>
#include <vector>

namespace fabricast {

/// Files named, and all files below folders, in the order of their names; hidden ones are left out.
/// Throws Error where a folder cannot be read.
std::vector<std::string> record_files(const std::vector<std::string>& paths);
/// The first 4 KiB, by which a file's kind is known; "" of what is no regular file.
std::string head_of_file(const std::string& path);

/// The most that one dump or answer is read of.
inline constexpr std::size_t kRecordSizeMax = std::size_t{256} << 20;

}  // namespace fabricast
