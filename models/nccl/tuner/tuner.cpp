#include "models/nccl/tuner/tuner.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "models/nccl/tuner/eligibility.hpp"
#include "models/nccl/tuner/tuner_tables.hpp"

namespace fabricast {
namespace {

using namespace tuner_tables;

/// Blackwell on x86 needs for NVLSTree what Tree always needs.
int corrections_of(const TunerInput& in, Algorithm a) {
  if (a == Algorithm::tree) return kTreeCorrections;
  const bool is_x86 = in.cpu != HostCpu::arm && in.cpu != HostCpu::power;
  const bool nvls_tree = a == Algorithm::nvls_tree && in.version >= kNccl2_29 &&
                         in.compute_capability_min >= 100 && is_x86;
  return nvls_tree ? kNvlsTreeCorrections : 0;
}

/// How often a group of calls pays the latency: 2.22+ takes calls of one channel for a pipeline,
/// and Ring for the one that has none.
int latencies_of_calls(const TunerInput& in, Algorithm a, int calls) {
  constexpr int kBatch = 10;  // works of 96 bytes in a batch of 1024 (src/include/device.h)
  if (in.version < kNccl2_22) return 1;
  const int per_channel = (calls + in.channels.communicator - 1) / in.channels.communicator;
  return a == Algorithm::ring ? per_channel : (per_channel + kBatch - 1) / kBatch;
}

/// `size` of all calls.
Candidate at_size(const TuningModel& model, Collective c, Algorithm a, Protocol p, Bytes size,
                  int calls, bool is_last_resort) {
  const TunerInput& in = model.input;
  const TunedPair& pair = model.pair(c, a, p);
  Candidate out{a, p, pair.latency_us, pair.bandwidth_GBps, 0, pair.excluded};
  if (is_last_resort && pair.fallback_GBps > 0) {
    out.bandwidth_GBps = pair.fallback_GBps;
    out.excluded.clear();
  }
  if (!out.excluded.empty()) {
    out.bandwidth_GBps = 0;
    return out;
  }
  const auto units = static_cast<std::uint64_t>(size.count) >> 6;
  if (units > 0 || in.version < kNccl2_22) {
    const int log2 = units > 0 ? static_cast<int>(std::bit_width(units)) - 1 : 0;
    if (log2 < corrections_of(in, a)) {
      out.bandwidth_GBps *= kTreeCorrection[index_of(p)][static_cast<std::size_t>(log2)];
    }
  }
  // A ring's network hops cost more once every rank has 64 bytes per channel to send.
  const std::int64_t shares = std::int64_t{in.channels.communicator} * in.ranks;
  if (a == Algorithm::ring && p == Protocol::simple && in.nodes > 1 &&
      c == Collective::all_reduce && size.count / shares >= 64) {
    out.latency_us =
        static_cast<float>(out.latency_us * (in.compute_capability_min < 80 ? 1.9 : 1.4));
  }
  out.latency_us *= static_cast<float>(latencies_of_calls(in, a, calls));
  out.time_us = out.latency_us + static_cast<float>(size.count) / (1000 * out.bandwidth_GBps);
  return out;
}

/// Channels in use and threads of each.
struct Width {
  int channels = 0, threads = 0;
};

/// Fewer channels, then fewer threads, until each thread has enough to do.
void narrow(Width& w, Bytes size, std::int64_t least) {
  while (size.count < w.channels * w.threads * least) {
    if (w.channels >= 2) {
      --w.channels;
    } else if (w.threads % 128 == 0) {
      w.threads /= 2;
    } else {
      break;
    }
  }
}

/// CollNetDirect keeps its threads, and asks less of each as channels go.
void narrow_collnet_direct(Width& w, Bytes size, std::int64_t heads, std::int64_t least) {
  bool is_wide = true;
  for (int limit = 16; limit >= 1 && is_wide; limit /= 2) {
    while ((is_wide = size.count < w.channels * w.threads * heads * least) && w.channels > limit) {
      if (w.channels == limit + limit / 2) least /= 2;
      --w.channels;
    }
  }
}

Width width(const TuningModel& model, Algorithm a, Protocol p, Bytes size) {
  const TunerInput& in = model.input;
  const std::int64_t least = model.bytes_per_thread[index_of(a)][index_of(p)];
  Width w{in.channels.of_ring_and_tree(in.version), model.threads_max[index_of(a)][index_of(p)]};
  if (is_nvls(a)) {
    const bool as_collnet = a == Algorithm::nvls && in.nodes > 1 && in.version >= kNccl2_22;
    w.channels = as_collnet ? std::min(in.nvls_setup.channels, in.channels.communicator)
                            : in.nvls_setup.channels;
  } else if (a == Algorithm::collnet_direct) {
    narrow_collnet_direct(w, size, in.collnet_direct_heads, least);
  } else {
    narrow(w, size, least);
  }
  // Simple has a warp (Ring) or a group (Tree) beside the workers.
  if (p == Protocol::simple && a == Algorithm::ring) w.threads += 32;
  if (p == Protocol::simple && a == Algorithm::tree) w.threads += 128;
  w.threads = std::max(w.threads, 96);
  const bool always_all = a == Algorithm::tree || a == Algorithm::pat;
  if (always_all && in.version >= kNccl2_22) w.threads = 640;
  return w;
}

/// Lets the plugin replace what NCCL would take. Up to 2.21 threads stay as many as they may be.
void ask_plugin(const TuningModel& model, Collective collective, Bytes size, int calls,
                TunerDecision& d) {
  const TunerInput& in = model.input;
  const auto candidate_of = [&](Algorithm a, Protocol p) {
    const auto found = std::ranges::find_if(d.candidates, [&](const Candidate& one) {
      return one.algorithm == a && one.protocol == p && one.excluded.empty();
    });
    return found == d.candidates.end() ? nullptr : &*found;
  };
  const TunerAnswer answer =
      in.plugin->ask({collective, size.count * calls, in.nodes, in.ranks, calls, false},
                     [&](Algorithm a, Protocol p) { return candidate_of(a, p) != nullptr; });
  if (answer.pair) {
    if (const Candidate* one = candidate_of(answer.pair->algorithm, answer.pair->protocol))
      take(model, *one, in.version < kNccl2_22 ? size : Bytes{size.count * calls}, d);
  }
  if (!answer.pair && !answer.channels) return;
  d.plugin = answer.because;
  if (!answer.channels || !d.algorithm) return;
  const int most =
      is_nvls(*d.algorithm) ? in.nvls_setup.channels : in.channels.of_ring_and_tree(in.version);
  d.channels = std::clamp(*answer.channels, 1, most);
  d.plugin_counts = true;
}

}  // namespace

TunerDecision decide(const TuningModel& model, Collective collective, Bytes size, int element_bytes,
                     int calls) {
  assert(is_tuned(collective) && size.count > 0 && calls > 0);
  const Bytes all{size.count * calls};
  TunerDecision d;
  for (const bool is_last_resort : {false, true}) {
    d.candidates.clear();
    const Candidate* best = nullptr;
    d.candidates.reserve(kAlgorithms * kProtocols);
    for (const Algorithm a : kAllAlgorithms) {
      for (const Protocol p : kAllProtocols) {
        if (!speaks(a, p)) continue;
        d.candidates.push_back(at_size(model, collective, a, p, all, calls, is_last_resort));
        Candidate& c = d.candidates.back();
        const std::string why = why_not_the_type(model.input, collective, a, element_bytes);
        if (c.excluded.empty() && !why.empty()) c = {a, p, c.latency_us, 0, 0, why};
        // Of equal times 2.31 takes the last, which it looks at first.
        const bool is_best = best == nullptr || c.time_us < best->time_us ||
                             (model.input.version >= kNccl2_31 && c.time_us == best->time_us);
        if (c.excluded.empty() && is_best) best = &c;
      }
    }
    if (best != nullptr) {
      take(model, *best, model.input.version < kNccl2_22 ? size : all, d);
      break;
    }
  }
  if (model.input.plugin != nullptr && d.algorithm && model.input.ranks > 1)
    ask_plugin(model, collective, size, calls, d);
  return d;
}

void take(const TuningModel& model, const Candidate& candidate, Bytes size,
          TunerDecision& decision) {
  const Width w = width(model, candidate.algorithm, candidate.protocol, size);
  decision.algorithm = candidate.algorithm;
  decision.protocol = candidate.protocol;
  decision.time_us = candidate.time_us;
  decision.channels = w.channels;
  decision.threads = w.threads;
}

}  // namespace fabricast
