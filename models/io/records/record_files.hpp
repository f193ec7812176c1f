#pragma once
// Folders of what the ranks of a job wrote.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Files named, and all files below folders, in the order of their names; hidden ones are left out.
/// Throws Error where a folder cannot be read.
std::vector<std::string> record_files(const std::vector<std::string>& paths);
/// The first 4 KiB, by which a file's kind is known; "" of what is no regular file.
std::string head_of_file(const std::string& path);

/// Whether this begins as a JSON object in whose first 4 KiB one of the words stands.
bool begins_as_json_with(std::string_view text, std::initializer_list<std::string_view> words);
/// The last digits in the name of a file, "12" of "job7/nccl_trace_rank_12"; "" = none.
std::string_view last_digits(std::string_view name);

/// The most that one dump or answer is read of.
inline constexpr std::size_t kRecordSizeMax = std::size_t{256} << 20;

}  // namespace fabricast
