#include "models/nccl/settings.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "sim/error.hpp"

namespace fabricast {
namespace {

std::string quoted(std::string_view name, std::string_view value) {
  return std::string(name) + "=" + std::string(value);
}

/// Reads one environment with one version's rules, collecting warnings.
class Reader {
 public:
  Reader(const Environment& environment, NcclVersion version)
      : environment_(environment), version_(version) {}

  NcclSettings read() {
    if (const auto list = text("NCCL_ALGO")) {
      s_.algorithms = read_algorithm_choices(*list, version_, s_.warnings);
    }
    if (const auto list = text("NCCL_PROTO")) {
      s_.protocols = read_protocol_choices(*list, version_, s_.warnings);
    }
    channels();
    s_.threads = thread_count("NCCL_NTHREADS", 64, 512);
    s_.threads_ll128 = thread_count("NCCL_LL128_NTHREADS", 160, 640);
    // A step must hold one grain of data (partition.hpp), or NCCL walks chunks of nothing.
    buffer("NCCL_LL_BUFFSIZE", s_.buffers.ll, 8 * 32);
    buffer("NCCL_LL128_BUFFSIZE", s_.buffers.ll128, 8 * 2048);
    buffer("NCCL_BUFFSIZE", s_.buffers.simple, 8 * 512);
    if (const auto ns = integer("NCCL_NET_OVERHEAD"); ns && *ns != kUnset) {
      s_.net_overhead_us = static_cast<float>(static_cast<double>(*ns) * .001);
    }
    if (const auto value = environment_.get("NCCL_IB_HCA")) {
      s_.ib_hca = IbHcaFilter(*value);
      for (const std::string& w : s_.ib_hca.warnings()) s_.warnings.push_back(w);
    }
    return std::move(s_);
  }

 private:
  static constexpr std::int64_t kUnset = -2;  ///< NCCL's own "not set"

  void warn(std::string_view name, const std::string& what) {
    s_.warnings.push_back(quoted(name, *environment_.get(name)) + ": " + what);
  }

  /// An empty value counts as none.
  std::optional<std::string_view> text(std::string_view name) const {
    const auto value = environment_.get(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  /// src/misc/param.cc: strtoll with base 0 and nothing said about what follows the number.
  std::optional<std::int64_t> integer(std::string_view name) {
    const auto value = text(name);
    if (!value) return std::nullopt;
    const std::string digits(*value);
    char* end = nullptr;
    errno = 0;
    const std::int64_t number = std::strtoll(digits.c_str(), &end, 0);
    if (errno == ERANGE) {
      warn(name, "out of range; NCCL keeps its default");
      return std::nullopt;
    }
    if (*end != '\0') warn(name, "NCCL reads " + std::to_string(number) + " and ignores the rest");
    return number;
  }

  /// src/graph/connect.cc (NCHANNELS) and init.cc (CTAS).
  void channels() {
    const std::int64_t most = max_channels(version_);
    std::int64_t least = 0, top = most;
    if (const auto n = integer("NCCL_MIN_NCHANNELS"); n && *n != kUnset) {
      least = clamped("NCCL_MIN_NCHANNELS", *n, 0, most);
    }
    if (const auto n = integer("NCCL_MAX_NCHANNELS"); n && *n != kUnset) {
      top = clamped("NCCL_MAX_NCHANNELS", *n, 1, most);
    }
    std::int64_t ctas_min = 1, ctas_max = most;
    if (const auto n = ctas("NCCL_MIN_CTAS")) ctas_min = *n;
    if (const auto n = ctas("NCCL_MAX_CTAS")) ctas_max = *n;
    if (ctas_min > ctas_max) ctas_min = ctas_max;
    if (least > top) {
      s_.warnings.push_back("NCCL_MIN_NCHANNELS is above NCCL_MAX_NCHANNELS: NCCL keeps " +
                            std::to_string(top) + " channels and repeats them up to " +
                            std::to_string(least));
    }
    s_.channels_min = static_cast<int>(std::max(least, ctas_min));
    s_.channels_max = static_cast<int>(std::min(top, ctas_max));
  }

  std::int64_t clamped(std::string_view name, std::int64_t n, std::int64_t low, std::int64_t high) {
    const std::int64_t kept = std::clamp(n, low, high);
    if (kept != n) warn(name, "NCCL takes " + std::to_string(kept));
    return kept;
  }

  std::optional<std::int64_t> ctas(std::string_view name) {
    const auto n = integer(name);
    if (!n) return std::nullopt;
    if (*n <= 0) {
      warn(name, "below 1; NCCL ignores it");
      return std::nullopt;
    }
    return clamped(name, *n, 1, max_channels(version_));
  }

  /// src/graph/tuning.cc, getNthreads. What is not a multiple of a warp becomes the maximum.
  std::optional<int> thread_count(std::string_view name, int low, int high) {
    const auto n = integer(name);
    if (!n || *n <= 0) return std::nullopt;
    const std::int64_t kept = *n % 32 != 0 ? high : std::clamp<std::int64_t>(*n, low, high);
    if (kept != *n) {
      warn(name, "must be a multiple of 32 between " + std::to_string(low) + " and " +
                     std::to_string(high) + "; NCCL takes " + std::to_string(kept));
    }
    return static_cast<int>(kept);
  }

  void buffer(std::string_view name, Bytes& size, std::int64_t least) {
    const auto n = integer(name);
    if (!n || *n == kUnset) return;
    if (*n < least) {
      throw Error(
          quoted(name, *environment_.get(name)) + ": NCCL reads " + std::to_string(*n) +
              " bytes, too small for its 8 slots",
          "write bytes in digits, e.g. " + std::string(name) + "=" + std::to_string(size.count));
    }
    size = Bytes{*n};
  }

  const Environment& environment_;
  NcclVersion version_;
  NcclSettings s_;
};

}  // namespace

NcclSettings read_settings(const Environment& environment, NcclVersion version) {
  return Reader(environment, version).read();
}

}  // namespace fabricast
