#include "models/nccl/environment/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "models/nccl/environment/env_reader.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// More channels, peers, GPUs of a group or GB/s than anything has: so much and more is the same.
constexpr std::int64_t kMany = 1 << 20;

/// Reads one environment with one version's rules, collecting warnings.
class Reader {
 public:
  Reader(const Environment& environment, NcclVersion version)
      : env_(environment, version, s_.warnings) {}

  NcclSettings read() {
    if (const auto value = list("NCCL_ALGO"))
      s_.algorithms = placed(env_.place_of("NCCL_ALGO"), [&] {
        return read_algorithm_choices(*value, env_.version(), s_.warnings);
      });
    if (const auto value = list("NCCL_PROTO"))
      s_.protocols = placed(env_.place_of("NCCL_PROTO"), [&] {
        return read_protocol_choices(*value, env_.version(), s_.warnings);
      });
    channels();
    nvls();
    p2p();
    s_.collnet = collnet();
    read_int("NCCL_COLLNET_NODE_THRESHOLD", s_.collnet_nodes_min);
    read_int("NCCL_PAT_ENABLE", s_.pat);
    s_.ll128_over_c2c = env_.integer("NCCL_LL128_C2C").value_or(1) != 0;
    thread_thresholds();
    s_.threads = thread_count("NCCL_NTHREADS", 64, 512);
    s_.threads_ll128 = thread_count("NCCL_LL128_NTHREADS", 160, 640);
    // A step must hold one grain of data (partition.hpp), or NCCL walks chunks of nothing.
    buffer("NCCL_LL_BUFFSIZE", s_.buffers.ll, 8 * 32);
    buffer("NCCL_LL128_BUFFSIZE", s_.buffers.ll128, 8 * 2048);
    buffer("NCCL_BUFFSIZE", s_.buffers.simple, 8 * 512);
    if (const auto ns = env_.integer("NCCL_NET_OVERHEAD")) {
      s_.net_overhead_us = static_cast<float>(static_cast<double>(*ns) * .001);
    }
    if (const auto value = env_.text("NCCL_IB_HCA")) {
      s_.ib_hca = IbHcaFilter(*value);
      for (const std::string& w : s_.ib_hca.warnings()) s_.warnings.push_back(w);
    }
    return std::move(s_);
  }

 private:
  /// Up to 2.23 an empty value is a list, too: of nothing.
  std::optional<std::string_view> list(std::string_view name) {
    const auto value = env_.raw(name);
    if (!value || !value->empty()) return value;
    if (env_.version() >= kNccl2_24) return std::nullopt;
    env_.warn(name, "NCCL reads a list of nothing");
    return value;
  }

  void read_int(std::string_view name, int& value) {
    constexpr std::int64_t low = std::numeric_limits<int>::min();
    constexpr std::int64_t high = std::numeric_limits<int>::max();
    if (const auto n = env_.integer_within(name, low, high)) value = static_cast<int>(*n);
  }

  void read_bytes(std::string_view name, Bytes& value) {
    if (const auto n = env_.integer(name)) value = Bytes{*n};
  }

  /// src/transport/nvls.cc. NVLS needs the cuMem allocator.
  void nvls() {
    for (const std::string_view name : {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE"}) {
      if (env_.integer(name) != 0) continue;
      s_.nvls.enabled = false;
      s_.nvls.why_off = env_.quoted(name) + " turns NVLS off";
    }
    if (const auto n = env_.integer("NCCL_NVLS_NCHANNELS"); n && *n > 0) {
      s_.nvls.channels = static_cast<int>(env_.bent(
          "NCCL_NVLS_NCHANNELS", *n, std::min<std::int64_t>(*n, max_channels(env_.version()))));
    }
    s_.nvls.chunk = nvls_chunk("NCCL_NVLS_CHUNKSIZE");
    s_.nvls.tree_chunk_max = nvls_chunk("NCCL_NVLSTREE_MAX_CHUNKSIZE");
  }

  /// NCCL rounds these chunks down to whole grains of 512 bytes since 2.22, to elements before
  /// (partition.hpp), and divides by what is left.
  std::optional<Bytes> nvls_chunk(std::string_view name) {
    const std::int64_t least = env_.version() >= kNccl2_22 ? 512 : 8;
    return at_least(name, least, "and cannot work with less than " + std::to_string(least),
                    Bytes{128 << 10});
  }

  /// What must be one or more for NCCL to work.
  std::optional<int> positive(std::string_view name) {
    const auto n = env_.integer(name);
    if (!n) return std::nullopt;
    if (*n < 1) env_.refuse(name, "NCCL cannot work with less than 1", {});
    return static_cast<int>(std::min(*n, kMany));
  }

  /// Zero and less leave NCCL's own.
  std::optional<int> above_zero(std::string_view name) {
    const auto n = env_.integer(name);
    if (!n || *n < 1) return std::nullopt;
    return static_cast<int>(std::min(*n, kMany));
  }

  /// src/graph/paths.cc and src/init.cc.
  void p2p() {
    P2pSettings& p = s_.p2p;
    const int most = p.channels_max = max_channels(env_.version());
    read_int("NCCL_MAX_P2P_NCHANNELS", p.channels_max);
    if (const auto n = env_.integer_within("NCCL_MIN_P2P_NCHANNELS", 1, most))
      p.channels_min = static_cast<int>(*n);
    p.channels_per_remote = above_zero("NCCL_NCHANNELS_PER_NET_PEER");
    if (const auto n = positive("NCCL_P2P_PER_CHANNEL_NET_BW")) p.net_bw_per_channel = *n;
    p.peers_max = above_zero("NCCL_P2P_MAX_PEERS");
    read_bytes("NCCL_P2P_NET_CHUNKSIZE", p.net_chunk);
    read_bytes("NCCL_P2P_NVL_CHUNKSIZE", p.nvlink_chunk);
    read_bytes("NCCL_P2P_PCI_CHUNKSIZE", p.pcie_chunk);
    if (const auto n = env_.integer("NCCL_P2P_LL_THRESHOLD")) p.ll_threshold = Bytes{*n};
    p.ll_over_net = env_.integer("NCCL_ALLOC_P2P_NET_LL_BUFFERS").value_or(0) == 1;
    p.shared_buffers = env_.integer("NCCL_NET_SHARED_BUFFERS").value_or(1) != 0;
    read_int("NCCL_P2P_PXN_LEVEL", p.pxn_level);
    if (const auto n = positive("NCCL_P2P_SCHEDULE_GROUP_SIZE")) p.group_size = *n;
  }

  /// Up to six numbers with blanks between: Tree, then Ring. What is no number ends the list.
  void thread_thresholds() {
    constexpr std::string_view name = "NCCL_THREAD_THRESHOLDS";
    const auto value = env_.text(name);
    if (!value) return;
    const std::string list(*value);
    const char* at = list.c_str();
    int numbers = 0;
    for (auto& of_algorithm : s_.bytes_per_thread) {
      for (std::optional<std::int64_t>& threshold : of_algorithm) {
        char* end = nullptr;
        const std::int64_t n = std::strtoll(at, &end, 10);
        if (end == at) break;
        if (n >= 0) threshold = n;
        at = end;
        ++numbers;
      }
    }
    if (numbers < 6) {
      env_.warn(name, "NCCL reads " + std::to_string(numbers) +
                          " numbers; it wants six with blanks between, not commas");
    }
  }

  /// Up to 2.26 the text is compared with "1" (2.26.2 src/init.cc); later an integer, which is
  /// taken for 0 unless it is 1 (2.27.3 src/init.cc, envConfigOverride).
  bool collnet() {
    constexpr std::string_view name = "NCCL_COLLNET_ENABLE";
    if (env_.version() >= kNccl2_27) return env_.integer(name).value_or(0) == 1;
    const auto value = env_.text(name);
    if (value && *value != "1" && *value != "0")
      env_.warn(name, "only the text 1 turns CollNet on");
    return value == "1";
  }

  /// src/graph/connect.cc (NCHANNELS) and init.cc (CTAS).
  void channels() {
    const std::int64_t most = max_channels(env_.version());
    const std::int64_t least = renamed("NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", 0).value_or(0);
    const std::int64_t top = renamed("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", 1).value_or(most);
    std::int64_t ctas_min = ctas("NCCL_MIN_CTAS").value_or(1);
    const std::int64_t ctas_max = ctas("NCCL_MAX_CTAS").value_or(most);
    if (ctas_min > ctas_max) ctas_min = ctas_max;
    if (least > top) {
      s_.warnings.push_back("NCCL_MIN_NCHANNELS is above NCCL_MAX_NCHANNELS: NCCL keeps " +
                            std::to_string(top) + " channels and repeats them up to " +
                            std::to_string(least));
    }
    s_.channels_min = static_cast<int>(std::max(least, ctas_min));
    s_.channels_max = static_cast<int>(std::min(top, ctas_max));
    s_.ctas_min = static_cast<int>(ctas_min);
    s_.ctas_max = static_cast<int>(ctas_max);
  }

  /// A number of channels, by its name or by that of old.
  std::optional<std::int64_t> renamed(std::string_view name, std::string_view old_name,
                                      std::int64_t low) {
    const std::int64_t most = max_channels(env_.version());
    const auto by_old = env_.integer_within(old_name, low, most);
    const auto by_name = env_.integer_within(name, low, most);
    return by_name ? by_name : by_old;
  }

  std::optional<std::int64_t> ctas(std::string_view name) {
    const auto n = env_.integer(name);
    if (!n) return std::nullopt;
    if (*n <= 0) {
      env_.warn(name, "below 1; NCCL ignores it");
      return std::nullopt;
    }
    return env_.bent(name, *n, std::min<std::int64_t>(*n, max_channels(env_.version())));
  }

  /// src/graph/tuning.cc, getNthreads. What is not a multiple of a warp becomes the maximum.
  std::optional<int> thread_count(std::string_view name, int low, int high) {
    const auto n = env_.integer(name);
    if (!n || *n <= 0) return std::nullopt;
    const std::int64_t kept = *n % 32 != 0 ? high : std::clamp<std::int64_t>(*n, low, high);
    if (kept != *n) {
      env_.warn(name, "must be a multiple of 32 between " + std::to_string(low) + " and " +
                          std::to_string(high) + "; NCCL takes " + std::to_string(kept));
    }
    return static_cast<int>(kept);
  }

  void buffer(std::string_view name, Bytes& size, std::int64_t least) {
    size = at_least(name, least, "too small for its 8 slots", size).value_or(size);
  }

  /// Bytes; fewer are refused: most likely a unit was written, which NCCL does not read.
  std::optional<Bytes> at_least(std::string_view name, std::int64_t least, const std::string& why,
                                Bytes usual) {
    const auto n = env_.integer(name);
    if (!n) return std::nullopt;
    if (*n < least) {
      env_.refuse(
          name, "NCCL reads " + std::to_string(*n) + " bytes, " + why,
          "write bytes in digits, e.g. " + std::string(name) + "=" + std::to_string(usual.count));
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (*n > kMost)
      env_.refuse(name, "NCCL keeps these bytes in an int", "at most " + std::to_string(kMost));
    return Bytes{*n};
  }

  NcclSettings s_;
  EnvReader env_;
};

}  // namespace

NcclSettings read_settings(const Environment& environment, NcclVersion version) {
  return Reader(environment, version).read();
}

bool joins_nvlink_domain(const Environment& environment, NcclVersion version) {
  std::vector<std::string> warnings;  // given where the rest of the environment is read
  EnvReader reader(environment, version, warnings);
  // Since 2.20, which called the variable otherwise.
  const bool is_2_20 = version < kNccl2_21;
  return version >= kNccl2_20 &&
         reader.integer(is_2_20 ? "NCCL_MNNVL" : "NCCL_MNNVL_ENABLE").value_or(1) != 0 &&
         reader.integer("NCCL_CUMEM_ENABLE").value_or(1) != 0;
}

}  // namespace fabricast
