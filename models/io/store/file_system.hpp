#pragma once
// On what kind of file system a store is: several hosts may see a file on a network's, and the
// locks that keep them apart do not work there.

#include <cstdint>
#include <string>
#include <string_view>

namespace fabricast {

/// The type of the file system that holds the file, or the folder that would, as statfs() has it.
/// 0 where it cannot be told.
std::int64_t file_system_of(const std::string& path);
/// "NFS", ... where `type` is of a network; "" = it is not known to be. FUSE's, which may be
/// either, is taken to be local.
std::string_view network_file_system(std::int64_t type);

}  // namespace fabricast
