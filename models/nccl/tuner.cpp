#include "models/nccl/tuner.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "models/nccl/tuner_tables.hpp"

namespace fabricast {
namespace {

using namespace tuner_tables;

Candidate at_size(const TuningModel& model, Collective c, Algorithm a, Protocol p, Bytes size) {
  const TunerInput& in = model.input;
  const TunedPair& pair = model.pair(c, a, p);
  Candidate out{a, p, pair.latency_us, pair.bandwidth_GBps, 0, pair.excluded};
  if (!pair.excluded.empty()) return out;
  const auto units = static_cast<std::uint64_t>(size.count) >> 6;
  if (a == Algorithm::tree && (units > 0 || in.version < kNccl2_22)) {
    const int log2 = units > 0 ? static_cast<int>(std::bit_width(units)) - 1 : 0;
    if (log2 < kTreeCorrections) {
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
  out.time_us = out.latency_us + static_cast<float>(size.count) / (1000 * out.bandwidth_GBps);
  return out;
}

/// Fewer channels, then fewer threads, until each thread has enough to do.
void set_channels_and_threads(const TuningModel& model, Bytes size, TunerDecision& d) {
  const Algorithm a = *d.algorithm;
  const std::int64_t least = model.bytes_per_thread[index_of(a)][index_of(d.protocol)];
  d.channels = model.input.channels.of_ring_and_tree(model.input.version);
  d.threads = model.threads_max[index_of(a)][index_of(d.protocol)];
  while (size.count < d.channels * d.threads * least) {
    if (d.channels >= 2) {
      --d.channels;
    } else if (d.threads % 128 == 0) {
      d.threads /= 2;
    } else {
      break;
    }
  }
  // Simple has a warp (Ring) or a group (Tree) beside the workers.
  if (d.protocol == Protocol::simple) d.threads += a == Algorithm::ring ? 32 : 128;
  d.threads = std::max(d.threads, 96);
  if (a == Algorithm::tree && model.input.version >= kNccl2_24) d.threads = 640;
}

}  // namespace

TunerDecision decide(const TuningModel& model, Collective collective, Bytes size) {
  assert(is_tuned(collective) && size.count > 0);
  TunerDecision d;
  for (const Algorithm a : kModelled) {
    for (const Protocol p : kAllProtocols) {
      d.candidates.push_back(at_size(model, collective, a, p, size));
      const Candidate& last = d.candidates.back();
      if (last.excluded.empty() && (!d.algorithm || last.time_us < d.time_us)) {
        d.algorithm = a;
        d.protocol = p;
        d.time_us = last.time_us;
      }
    }
  }
  if (d.algorithm) set_channels_and_threads(model, size, d);
  return d;
}

}  // namespace fabricast
