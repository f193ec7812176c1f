#include "models/io/store/file_system.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace fabricast {
namespace {

struct NetworkFileSystem {
  std::int64_t type;
  std::string_view name;
};
/// The numbers are those of statfs(2), of linux/magic.h, and of each one's own sources.
constexpr std::array<NetworkFileSystem, 12> kNetworkFileSystems = {{
    {0x6969, "NFS"},
    {0x517b, "SMB"},
    {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB"},
    {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x00c36400, "Ceph"},
    {0x19830326, "BeeGFS"},
    {0xaad7aaea, "PanFS"},
    {0x5346414f, "AFS"},
    {0x73757245, "Coda"},
    {0x7461636f, "OCFS2"},
}};

}  // namespace

std::int64_t file_system_of(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path at = path;
  if (!std::filesystem::exists(at, ignored)) at = at.parent_path();
  if (at.empty()) at = ".";
  struct statfs found {};
  if (statfs(at.c_str(), &found) != 0) return 0;
  // Some machines keep it in 32 bits with a sign.
  return static_cast<std::int64_t>(static_cast<std::uint32_t>(found.f_type));
}

std::string_view network_file_system(std::int64_t type) {
  const auto found = std::ranges::find(kNetworkFileSystems, type, &NetworkFileSystem::type);
  return found == kNetworkFileSystems.end() ? "" : found->name;
}

}  // namespace fabricast
