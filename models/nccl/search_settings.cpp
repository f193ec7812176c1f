#include "models/nccl/search_settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace fabricast {
namespace {

class SearchSettingsReader {
 public:
  SearchSettingsReader(const Environment& environment, NcclVersion version,
                       std::vector<std::string>& warnings)
      : environment_(environment), version_(version), warnings_(warnings) {}

  SearchSettings read() {
    SearchSettings s;
    s.cross_nic = static_cast<int>(integer("NCCL_CROSS_NIC").value_or(s.cross_nic));
    s.p2p_disable = integer("NCCL_P2P_DISABLE") == 1;
    s.p2p_level = level("NCCL_P2P_LEVEL");
    s.shm_disable = integer("NCCL_SHM_DISABLE") == 1;
    s.net_gdr_level = level("NCCL_NET_GDR_LEVEL");
    if (const auto read = integer("NCCL_NET_GDR_READ"); read && *read >= 0) {
      s.net_gdr_read = *read != 0;
    }
    s.net_gdr_c2c = integer("NCCL_NET_GDR_C2C").value_or(1) != 0;
    s.pxn_disable = integer("NCCL_PXN_DISABLE") == 1;
    if (const auto c2c = integer("NCCL_PXN_C2C")) s.pxn_c2c = *c2c != 0;
    s.nvb_disable = integer("NCCL_NVB_DISABLE").value_or(0) != 0;
    s.net_disable_intra = integer("NCCL_NET_DISABLE_INTRA") == 1;
    s.nets_per_gpu = nets_per_gpu();
    return s;
  }

 private:
  void warn(std::string_view name, std::string_view what) {
    warnings_.push_back(std::string(name) + "=" + std::string(*environment_.get(name)) + ": " +
                        std::string(what));
  }

  /// src/misc/param.cc: whatever stands before the first character that is no digit.
  std::optional<long long> integer(std::string_view name) {
    const auto value = environment_.get(name);
    if (!value || value->empty()) return std::nullopt;
    const std::string text(*value);
    char* end = nullptr;
    const long long number = std::strtoll(text.c_str(), &end, 0);
    if (*end != '\0') {
      warn(name, "NCCL reads " + std::to_string(number) + " and ignores the rest");
    }
    return number;
  }

  /// src/graph/paths.cc, ncclGetLevel: a path type up to SYS, exactly spelt, or a number of old.
  std::optional<PathType> level(std::string_view name) {
    const auto value = environment_.get(name);
    if (!value) return std::nullopt;
    const std::optional<PathType> type = path_type_from_text(*value);
    const bool is_new = type == PathType::c2c || type == PathType::p2c;
    if (type && *type <= PathType::sys && (!is_new || version_ >= kNccl2_27)) return type;
    if (!value->empty() && (*value)[0] >= '0' && (*value)[0] <= '9') {
      constexpr std::array<PathType, 6> old = {PathType::loc, PathType::pix, PathType::pxb,
                                               PathType::phb, PathType::sys, PathType::sys};
      const std::string digits(*value);
      const long number = std::min(std::strtol(digits.c_str(), nullptr, 0), 5L);
      return old[static_cast<std::size_t>(number)];
    }
    warn(name, "no path type that NCCL knows; it keeps its default");
    return std::nullopt;
  }

  /// src/graph/topo.cc, NCCL_NETDEVS_POLICY.
  int nets_per_gpu() {
    constexpr std::string_view name = "NCCL_NETDEVS_POLICY";
    const auto value = environment_.get(name);
    if (!value || version_ < kNccl2_30) return 0;
    std::string policy(*value);
    std::ranges::transform(policy, policy.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    if (policy == "AUTO") return 0;
    if (policy == "ALL") return -1;
    if (policy.starts_with("MAX:")) {
      if (const int count = std::atoi(policy.c_str() + 4); count > 0) return count;
    }
    warn(name, "neither AUTO, ALL nor MAX:n; NCCL takes AUTO");
    return 0;
  }

  const Environment& environment_;
  NcclVersion version_;
  std::vector<std::string>& warnings_;
};

}  // namespace

SearchSettings read_search_settings(const Environment& environment, NcclVersion version,
                                    std::vector<std::string>& warnings) {
  return SearchSettingsReader(environment, version, warnings).read();
}

}  // namespace fabricast
