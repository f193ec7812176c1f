// Facts: src/tuner/nccl_ofi_regions.cpp and nccl_ofi_tuner.cpp of aws/aws-ofi-nccl, the former at
// the commit in aws-ofi.yaml. Not modelled: OFI_NCCL_TUNER_TYPE=Model, which is no default, and the
// sizes of chunks that the plugin gives NCCL 2.30.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "models/io/tuners/aws_ofi.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// The oldest interface that the plugin offers, v2, is of this release.
constexpr NcclVersion kOldest{21, 0};
constexpr std::int64_t kMiB = 1 << 20;

/// The chunk of Tree LL128 as the plugin estimates it, in bytes of data: LL128 has 120 words of 8 B
/// per thread, 640 threads, and 15 words of data in 16.
std::int64_t tree_chunk(std::int64_t bytes, int channels, int log2_nodes) {
  constexpr int ranks_per_node = 8;
  const double steps = 1 + log2_nodes + 0.1 * ranks_per_node;
  std::int64_t chunk = 120 * 640 * 8 / 16 * 15;
  const auto chunks = [&] { return static_cast<double>(bytes / (channels * chunk)); };
  while (chunks() < steps * 64 / ranks_per_node && chunk > 131072) chunk /= 2;
  while (chunks() < steps * 16 / ranks_per_node && chunk > 32768) chunk /= 2;
  constexpr std::int64_t grain = 32 * 8 / 16 * 15 * 8;  // what a warp holds
  return chunk / grain * grain;
}

/// The number that has the largest chunk, the largest of equal ones.
int tree_channels(const TunerCall& call) {
  // Assumed: rounded down, where nodes are no power of two.
  const int log2_nodes = static_cast<int>(std::bit_width(static_cast<unsigned>(call.nodes))) - 1;
  std::int64_t most = 0;
  int out = 0;
  for (const int channels : {16, 24, 32}) {
    const std::int64_t chunk = tree_chunk(call.bytes, channels, log2_nodes);
    if (chunk < most) continue;
    most = chunk;
    out = channels;
  }
  return out;
}

/// Few for few bytes; more: NCCL's own number.
std::optional<int> pat_channels(const TunerCall& call) {
  const std::int64_t one = std::int64_t{call.nodes} * 65536;
  if (call.bytes <= one) return 1;
  if (call.bytes <= 2 * one) return 2;
  return std::nullopt;
}

class AwsOfiPlugin final : public TunerPlugin {
 public:
  AwsOfiPlugin(const AwsOfiTuner& tuner, AwsOfiPlatform platform, std::string instance,
               const TunerSite& site)
      : end_(tuner.end),
        nodes_min_(tuner.nodes_min),
        platform_(std::move(platform)),
        instance_(std::move(instance)),
        name_(fmt::format("aws-ofi-nccl for {}", instance_)),
        is_v2_(site.release < kNccl2_22),
        is_off_(is_v2_ && site.choice_is_set) {}

  std::string_view name() const override { return name_; }

  TunerAnswer ask(const TunerCall& call, const TunerOffers& is_there) const override {
    if (is_off_) return silent("NCCL_ALGO or NCCL_PROTO is set: NCCL up to 2.21 is left alone");
    if (call.nodes < nodes_min_)
      return silent(fmt::format("{} are left to NCCL", counted(call.nodes, "node")));
    const auto calls = std::ranges::find_if(platform_.calls, [&](const AwsOfiCalls& one) {
      return one.collective == call.collective && one.ranks_per_node * call.nodes == call.ranks;
    });
    if (calls == platform_.calls.end()) {
      return silent(fmt::format("no regions for {} with {} on {}", nccl_name(call.collective),
                                counted(call.ranks, "rank"), counted(call.nodes, "node")));
    }
    const PlanePoint at{static_cast<double>(call.bytes), static_cast<double>(call.ranks)};
    for (const TunerRegion& region : calls->regions) {
      const auto [algorithm, protocol] = region.pair;
      // v2 knows no PAT.
      if ((is_v2_ && algorithm == Algorithm::pat) || !is_there(algorithm, protocol)) continue;
      if (!covers(region.corners, at, end_)) continue;
      const auto number = &region - calls->regions.data() + 1;
      return {region.pair, channels(call, region.pair),
              fmt::format("region {} ({} {}) of {} on {} with {} per node, aws-ofi-nccl", number,
                          to_text(algorithm), to_text(protocol), nccl_name(call.collective),
                          instance_, counted(calls->ranks_per_node, "rank"))};
    }
    return silent("in none of its regions");
  }

  std::vector<std::string> notes() const override {
    if (!is_off_) return {};
    return {"aws-ofi-nccl's tuner leaves NCCL 2.21 alone where NCCL_ALGO or NCCL_PROTO is set"};
  }

 private:
  TunerAnswer silent(const std::string& why) const {
    return {{}, {}, fmt::format("{}: {}", name_, why)};
  }

  std::optional<int> channels(const TunerCall& call, TunerPair pair) const {
    if (is_v2_) return std::nullopt;
    const bool tree = pair == TunerPair{Algorithm::tree, Protocol::ll128};
    if (platform_.tree_channels && tree && call.ranks == 8 * call.nodes && call.bytes >= 4 * kMiB &&
        call.bytes <= 32 * kMiB) {
      return tree_channels(call);
    }
    if (platform_.pat_channels && pair.algorithm == Algorithm::pat && call.ranks == call.nodes &&
        call.bytes <= 32 * kMiB) {
      return pat_channels(call);
    }
    return std::nullopt;
  }

  PlanePoint end_;
  int nodes_min_;
  AwsOfiPlatform platform_;
  std::string instance_, name_;
  bool is_v2_, is_off_;
};

struct Instance {
  std::string name, node;
  const AwsOfiPlatform* platform;
};

std::vector<Instance> instances_of(const AwsOfiTuner& tuner) {
  std::vector<Instance> out;
  for (const AwsOfiPlatform& platform : tuner.platforms) {
    for (std::size_t i = 0; i < platform.instances.size(); ++i)
      out.push_back({platform.instances[i], platform.nodes[i], &platform});
  }
  return out;
}

Instance chosen(const std::vector<Instance>& known, const std::string& name,
                const TunerSite& site) {
  const std::string node = site.gpu + " " + site.nic;
  for (const Instance& one : known) {
    if (name.empty() ? one.node == node : one.name == name) return one;
  }
  std::vector<std::string> names;
  for (const Instance& one : known) names.push_back(one.name);
  if (!name.empty()) fail_unknown("instance of aws-ofi-nccl's tuner", name, names);
  throw Error(fmt::format("aws-ofi-nccl's tuner is silent on nodes of {} with {}: NCCL chooses",
                          site.gpu.empty() ? "unknown GPUs" : site.gpu,
                          site.nic.empty() ? "unknown NICs" : site.nic),
              fmt::format("leave it out, or say as which instance it is asked: aws-ofi:{} ({})",
                          names.front(), fmt::join(names, ", ")));
}

}  // namespace

std::unique_ptr<const TunerPlugin> aws_ofi_plugin(AwsOfiTuner tuner, const std::string& instance,
                                                  const TunerSite& site) {
  if (site.release < kOldest) {
    throw Error(
        fmt::format("aws-ofi-nccl's tuner does not speak to NCCL {}", to_text(site.release)),
        "2.21 and later ask it");
  }
  const Instance one = chosen(instances_of(tuner), instance, site);
  return std::make_unique<AwsOfiPlugin>(tuner, *one.platform, one.name, site);
}

}  // namespace fabricast
