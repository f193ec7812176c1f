#include <algorithm>
#include <cassert>
#include <limits>

#include "models/nccl/tuner/eligibility.hpp"
#include "models/nccl/tuner/tuner.hpp"
#include "models/nccl/tuner/tuning_formulas.hpp"

namespace fabricast {
namespace {

TunedPair tuned_pair(const TunerInput& in, Collective c, Algorithm a, Protocol p) {
  TunedPair pair;
  pair.excluded = why_not_in_model(in, c, a, p);
  if (!exists(a, c, in.version)) return pair;
  pair.latency_us = tuned_latency_us(in, c, a, p);
  if (!pair.excluded.empty()) return pair;
  pair.bandwidth_GBps = tuned_bandwidth_GBps(in, c, a, p);
  pair.excluded = pair.bandwidth_GBps == 0 ? "the model gives it no bandwidth on this machine"
                                           : why_passed_over(in, c, a);
  return pair;
}

/// 2.19 to 2.23: a collective for which nothing is left runs on rings with every protocol, whatever
/// the lists say; later versions refuse the call.
void give_ring_back(TuningModel& model, Collective c) {
  auto& of_collective = model.pairs[index_of(c)];
  const bool is_left = std::ranges::any_of(of_collective, [](const auto& of_algorithm) {
    return std::ranges::any_of(of_algorithm,
                               [](const TunedPair& p) { return p.bandwidth_GBps != 0; });
  });
  for (const Protocol p : kAllProtocols) {
    TunedPair& pair = of_collective[index_of(Algorithm::ring)][index_of(p)];
    if (pair.bandwidth_GBps != 0) continue;
    if (model.input.version >= kNccl2_22 &&
        !why_no_protocol(model.input, c, Algorithm::ring, p).empty())
      continue;
    pair.fallback_GBps = tuned_bandwidth_GBps(model.input, c, Algorithm::ring, p);
    if (is_left) continue;
    pair.excluded.clear();
    pair.bandwidth_GBps = pair.fallback_GBps;
  }
}

constexpr int kThreadsMax = 640;

void set_thread_limits(TuningModel& model) {
  const TunerInput& in = model.input;
  constexpr float kPciBandwidth = 12;  // GB/s: what x16 of PCIe gen 3 carries (src/graph/topo.h)
  const bool slow = in.ring.bw_intra * static_cast<float>(in.ring.channel_count()) <= kPciBandwidth;
  for (const Algorithm a : kAllAlgorithms) {
    const auto set = [&](Protocol p, int threads, std::int64_t least) {
      model.threads_max[index_of(a)][index_of(p)] = threads;
      model.bytes_per_thread[index_of(a)][index_of(p)] = least;
    };
    const bool is_ring = a == Algorithm::ring;
    if (!is_ring && a != Algorithm::tree) {
      const bool is_collnet = a == Algorithm::collnet_direct || a == Algorithm::collnet_chain;
      // PAT has none in NCCL's tables: its channels are never fewer for that.
      set(Protocol::simple, a == Algorithm::pat ? 0 : kThreadsMax, is_collnet ? 512 : 64);
      continue;
    }
    const auto& said = in.settings.bytes_per_thread[is_ring ? 1 : 0];
    set(Protocol::ll, in.settings.threads.value_or(512),
        said[0].value_or(is_ring ? std::int64_t{8} * in.ranks : 8));
    set(Protocol::ll128, in.settings.threads_ll128.value_or(kThreadsMax), said[1].value_or(8));
    set(Protocol::simple,
        in.settings.threads.value_or(is_ring && slow && in.version < kNccl2_31 ? 256 : 512),
        said[2].value_or(64));
  }
}

/// One rank copies on its GPU: Ring Simple in no time is what NCCL calls that.
void only_copy(TuningModel& model) {
  for (auto& of_collective : model.pairs) {
    for (auto& of_algorithm : of_collective) {
      for (TunedPair& pair : of_algorithm) pair.excluded = "one rank has nobody to talk to";
    }
    TunedPair& copy = of_collective[index_of(Algorithm::ring)][index_of(Protocol::simple)];
    copy.excluded.clear();
    copy.bandwidth_GBps = std::numeric_limits<float>::infinity();
  }
}

}  // namespace

HostCpu host_cpu(std::string_view arch, std::string_view vendor) {
  if (arch == "arm64") return HostCpu::arm;
  if (arch == "ppc64") return HostCpu::power;
  if (vendor == "AuthenticAMD") return HostCpu::amd;
  if (vendor == "CentaurHauls" || vendor == "  Shanghai  ") return HostCpu::zhaoxin;
  return HostCpu::intel;
}

HostCpu host_cpu(CpuArch arch, CpuVendor vendor) {
  if (arch == CpuArch::arm) return HostCpu::arm;
  if (arch == CpuArch::power) return HostCpu::power;
  if (vendor == CpuVendor::amd) return HostCpu::amd;
  return vendor == CpuVendor::zhaoxin ? HostCpu::zhaoxin : HostCpu::intel;
}

TuningModel tuning_model(const TunerInput& input) {
  assert(input.nodes >= 1 && input.ranks >= input.nodes);
  assert(input.ring.channel_count() > 0 && input.tree.channel_count() > 0);
  TuningModel model;
  model.input = input;
  set_thread_limits(model);
  if (input.ranks == 1) {
    only_copy(model);
    return model;
  }
  for (const Collective c : kAllCollectives) {
    if (!is_tuned(c)) continue;
    for (const Algorithm a : kAllAlgorithms) {
      for (const Protocol p : kAllProtocols) {
        if (!speaks(a, p)) continue;
        model.pairs[index_of(c)][index_of(a)][index_of(p)] = tuned_pair(model.input, c, a, p);
      }
    }
    if (input.version >= kNccl2_19 && input.version < kNccl2_24) give_ring_back(model, c);
  }
  return model;
}

}  // namespace fabricast
