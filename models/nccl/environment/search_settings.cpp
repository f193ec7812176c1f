#include "models/nccl/environment/search_settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "models/nccl/environment/env_reader.hpp"

namespace fabricast {
namespace {

class SearchSettingsReader {
 public:
  SearchSettingsReader(const Environment& environment, NcclVersion version,
                       std::vector<std::string>& warnings)
      : env_(environment, version, warnings) {}

  SearchSettings read() {
    SearchSettings s;
    s.cross_nic = static_cast<int>(env_.integer("NCCL_CROSS_NIC").value_or(s.cross_nic));
    s.p2p_disable = env_.integer("NCCL_P2P_DISABLE") == 1;
    s.p2p_level = level("NCCL_P2P_LEVEL");
    s.shm_disable = env_.integer("NCCL_SHM_DISABLE") == 1;
    s.net_gdr_level = level("NCCL_NET_GDR_LEVEL");
    if (const auto read = env_.integer("NCCL_NET_GDR_READ"); read && *read >= 0) {
      s.net_gdr_read = *read != 0;
    }
    s.net_gdr_c2c =
        env_.integer("NCCL_NET_GDR_C2C").value_or(env_.version() >= kNccl2_27 ? 1 : 0) != 0;
    s.pxn_disable = env_.integer("NCCL_PXN_DISABLE") == 1;
    if (const auto c2c = env_.integer("NCCL_PXN_C2C")) s.pxn_c2c = *c2c != 0;
    s.nvb_disable = env_.integer("NCCL_NVB_DISABLE").value_or(0) != 0;
    s.net_disable_intra = env_.integer("NCCL_NET_DISABLE_INTRA") == 1;
    s.nets_per_gpu = nets_per_gpu();
    return s;
  }

 private:
  /// src/graph/paths.cc, ncclGetLevel: a path type up to SYS, exactly spelt, or a number of old.
  std::optional<PathType> level(std::string_view name) {
    const auto value = env_.text(name);
    if (!value) return std::nullopt;
    const std::optional<PathType> type = kPathTypeWords.find(*value);
    // topoPathTypeStr (src/graph/topo.cc): C2C since 2.26.2, P2C since 2.27.
    const bool too_new = (type == PathType::c2c && env_.version() < kNccl2_26) ||
                         (type == PathType::p2c && env_.version() < kNccl2_27);
    if (type && *type <= PathType::sys && !too_new) return type;
    if ((*value)[0] >= '0' && (*value)[0] <= '9') {
      constexpr std::array<PathType, 6> old = {PathType::loc, PathType::pix, PathType::pxb,
                                               PathType::phb, PathType::sys, PathType::sys};
      const std::string digits(*value);
      const long number = std::min(std::strtol(digits.c_str(), nullptr, 0), 5L);
      return old[static_cast<std::size_t>(number)];
    }
    env_.warn(name, "no path type that NCCL knows; it keeps its default");
    return std::nullopt;
  }

  /// src/graph/topo.cc, NCCL_NETDEVS_POLICY; 2.28.3 is the first that reads it.
  int nets_per_gpu() {
    constexpr std::string_view name = "NCCL_NETDEVS_POLICY";
    const auto value = env_.text(name);
    if (!value || env_.version() < NcclVersion{28, 3}) return 0;
    std::string policy(*value);
    std::ranges::transform(policy, policy.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    if (policy == "AUTO") return 0;
    if (policy == "ALL") return -1;
    if (policy.starts_with("MAX:")) {
      if (const int count = std::atoi(policy.c_str() + 4); count > 0) return count;
    }
    env_.warn(name, "neither AUTO, ALL nor MAX:n; NCCL takes AUTO");
    return 0;
  }

  EnvReader env_;
};

}  // namespace

SearchSettings read_search_settings(const Environment& environment, NcclVersion version,
                                    std::vector<std::string>& warnings) {
  return SearchSettingsReader(environment, version, warnings).read();
}

}  // namespace fabricast
