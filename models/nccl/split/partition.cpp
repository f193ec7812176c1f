#include "models/nccl/split/partition.hpp"

#include <algorithm>
#include <cassert>

namespace fabricast {
namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) {
  return ceil_div(a, multiple) * multiple;
}

constexpr int kWarpThreads = 32;

/// The call as the scheduler sees it: all_gather and broadcast count bytes.
PartitionInput in_scheduler_units(PartitionInput input) {
  if (input.collective == Collective::all_gather || input.collective == Collective::broadcast) {
    input.count *= input.element_bytes;
    input.element_bytes = 1;
  }
  return input;
}

Bytes chunk_of(const PartitionInput& input, std::int64_t count, int channels) {
  return chunk_size({input.version, input.algorithm, input.collective, input.protocol,
                     message_size(input.collective, count, input.element_bytes, input.ranks),
                     channels, input.nodes, input.ranks, input.buffers, input.heads});
}

bool is_ring_all_reduce(const PartitionInput& input) {
  return input.algorithm == Algorithm::ring && input.collective == Collective::all_reduce;
}

// ---- up to 2.19

std::int64_t alignment_2_21(const PartitionInput& input);

/// All channels loop over the buffer together, each taking a chunk (a ring's all_reduce: one per
/// rank) in turn; in the last loop the chunks of rings shrink, so that all channels have their
/// share. Where the pieces of a channel lie costs no time: here they are put together, and of other
/// algorithms all channels have as much.
std::vector<ChannelPart> parts_2_19(const PartitionInput& input) {
  const std::int64_t chunk =
      chunk_of(input, input.count, input.channels).count / input.element_bytes;
  const bool is_ring = input.algorithm == Algorithm::ring;
  const std::int64_t chunks = is_ring_all_reduce(input) ? input.ranks : 1;
  const std::int64_t loop = chunk * chunks * input.channels;
  const std::int64_t loops = is_ring ? input.count / loop : 0;
  const std::int64_t rest = input.count - loops * loop;
  const std::int64_t least =
      round_up(ceil_div(rest, input.channels * chunks), alignment_2_21(input));
  const std::int64_t last = is_ring ? std::min(chunk, least) : least;
  std::vector<ChannelPart> parts;
  for (int call = 0; input.count > 0 && call < input.calls; ++call) {
    std::int64_t offset = 0;
    for (int c = 0; c < input.channels; ++c) {
      const std::int64_t of_rest =
          std::clamp(rest - c * chunks * last, std::int64_t{0}, chunks * last);
      const std::int64_t count = loops * chunk * chunks + of_rest;
      const bool shrinks = is_ring && of_rest > 0;
      if (count > 0) parts.push_back({c, offset, count, chunk, shrinks ? last : chunk, call});
      offset += count;
    }
  }
  return parts;
}

// ---- 2.20 and 2.21

/// Elements that parts and the last loop's chunks are rounded up to.
std::int64_t alignment_2_21(const PartitionInput& input) {
  switch (input.protocol) {
    case Protocol::ll:
      return 8 / input.element_bytes * input.threads;
    case Protocol::ll128:
      return 480 / input.element_bytes * (input.threads / kWarpThreads);
    case Protocol::simple:
      return 4096 / input.element_bytes;
  }
  return 1;
}

/// Channels that a group of calls shares.
int usable_channels(const PartitionInput& input) {
  if (input.calls == 1) return input.channels;
  return std::min(input.channels * input.calls, input.communicator_channels);
}

/// Every channel is filled up to an equal share of all calls' bytes; a call goes on where the one
/// before it ended.
class Filling {
 public:
  explicit Filling(const PartitionInput& input)
      : input_(input),
        bytes_(input.count * input.element_bytes),
        room_(round_up(ceil_div(input.calls * bytes_, usable_channels(input)), 16)),
        filled_(static_cast<std::size_t>(usable_channels(input))) {}

  std::vector<ChannelPart> parts() {
    std::vector<ChannelPart> out;
    for (int call = 0; call < input_.calls; ++call) add(call, out);
    return out;
  }

 private:
  void add(int call, std::vector<ChannelPart>& parts) {
    const std::int64_t align = alignment_2_21(input_);
    const std::int64_t chunk =
        chunk_of(input_, input_.calls * input_.count, channels_of_call()).count /
        input_.element_bytes;
    std::int64_t offset = 0;
    for (std::size_t c = 0; c < filled_.size() && offset < input_.count; ++c) {
      if (filled_[c] >= room_) continue;
      const std::int64_t left = input_.count - offset;
      const std::int64_t share =
          ceil_div(std::min(room_ - filled_[c], left * input_.element_bytes), input_.element_bytes);
      ChannelPart part{
          static_cast<int>(c), offset, std::min(round_up(share, align), left), chunk, chunk, call};
      if (is_ring_all_reduce(input_)) {
        const std::int64_t rest = part.count_elements % (input_.ranks * chunk);
        part.last_loop_chunk_elements = round_up(ceil_div(rest, input_.ranks), align);
      }
      parts.push_back(part);
      offset += part.count_elements;
      filled_[c] += part.count_elements * input_.element_bytes;
    }
  }

  /// That the chunk's size is asked for: those the next call spreads over (getCBDCollnChannel).
  int channels_of_call() const {
    if (input_.version < kNccl2_21) return channels_of_call_2_20();
    if (input_.calls == 1) return input_.channels;
    const auto open = std::ranges::find_if(filled_, [&](std::int64_t f) { return f < room_; });
    if (open == filled_.end()) return 1;
    const std::int64_t left = bytes_ - std::min(room_ - *open, bytes_);
    return 1 + static_cast<int>(ceil_div(left, room_));
  }

  /// 2.20 divides the message of all ranks by a rank's share of a channel.
  int channels_of_call_2_20() const {
    const std::int64_t message =
        message_size(input_.collective, input_.count, input_.element_bytes, input_.ranks).count;
    return static_cast<int>(ceil_div(message * usable_channels(input_), bytes_));
  }

  const PartitionInput& input_;
  std::int64_t bytes_;                ///< of a call
  std::int64_t room_;                 ///< of a channel
  std::vector<std::int64_t> filled_;  ///< by channel, bytes
};

// ---- 2.22 and later

/// What changed between releases in the scheduler by cells.
struct CellRules {
  std::int64_t traffic_min;     ///< bytes of traffic below which a channel is not worth opening
  int ll_weight;                ///< LL moves flags with the data and waits more: counts as so much
  std::int64_t share_multiple;  ///< a channel's share of the traffic is rounded up to this
  bool is_2_22;                 ///< cells of 16 bytes, and as many on the first channel as fit
};
constexpr CellRules cell_rules(NcclVersion version, Protocol protocol) {
  if (version < kNccl2_23) return {512, 1, 1, true};
  return {version >= kNccl2_29 ? 32 << 10 : 16 << 10,
          version >= kNccl2_26 && protocol == Protocol::ll ? 4 : 1, version >= kNccl2_29 ? 16 : 1,
          false};
}

/// How often a byte of the call passes a rank's port, as the scheduler weighs it.
std::int64_t traffic_per_byte(Collective collective, int ranks) {
  switch (collective) {
    case Collective::all_reduce:
      return 2;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return ranks;
    default:
      return 1;
  }
}

/// Where the cells of the next call of a group go on.
struct CellPlace {
  int channel = 0;
  std::int64_t traffic = 0;  ///< that the channel has
};

/// The call in cells: `lo` on `channel`, then `mid` channels of `per_channel`, `hi` on the last; 0
/// = no such channel.
struct CellSplit {
  int channel = 0;
  std::int64_t cell_bytes = 0;
  std::int64_t cells = 0, lo = 0, per_channel = 0, mid_channels = 0, hi = 0;
};

/// Moves `place` behind the call.
CellSplit split_into_cells(const PartitionInput& input, CellPlace& place) {
  const CellRules rules = cell_rules(input.version, input.protocol);
  const std::int64_t weight = traffic_per_byte(input.collective, input.ranks) * rules.ll_weight;
  const std::int64_t bytes = input.count * input.element_bytes;
  const int channels = std::min(input.channels * input.calls, input.communicator_channels);
  const int last_channel = input.communicator_channels - 1;
  CellSplit s;
  s.channel = place.channel;
  s.cell_bytes = rules.is_2_22 ? 16 : round_up(ceil_div(rules.traffic_min, weight), 16);
  s.cells = ceil_div(bytes, s.cell_bytes);
  const std::int64_t cell_traffic = s.cell_bytes * weight;
  const std::int64_t least = rules.is_2_22 ? 0 : rules.traffic_min;
  const std::int64_t share = input.calls * std::max(least, bytes * weight) / channels;
  const std::int64_t traffic = std::max(rules.traffic_min, round_up(share, rules.share_multiple));
  s.per_channel = std::min(s.cells, ceil_div(traffic, cell_traffic));
  s.lo = place.channel == last_channel
             ? s.cells
             : std::min(s.cells, rules.is_2_22 ? (traffic - place.traffic) / cell_traffic
                                               : ceil_div(traffic - place.traffic, cell_traffic));
  const std::int64_t rest = s.cells - s.lo;
  if (rest > 0) {
    s.mid_channels = rest / s.per_channel;
    s.hi = rest % s.per_channel;
    if (place.channel + s.mid_channels + (s.hi != 0 ? 1 : 0) > last_channel) {
      s.mid_channels = last_channel - place.channel - 1;
      s.per_channel = rest / (s.mid_channels + 1);
      s.hi = s.per_channel + rest % (s.mid_channels + 1);
    }
    if (s.lo == 0) {  // the next channel is the first
      s.channel = ++place.channel;
      s.lo = s.mid_channels == 0 ? s.hi : s.per_channel;
      if (s.mid_channels == 0) {
        s.hi = 0;
      } else {
        s.mid_channels -= 1;
      }
    }
    if (s.hi == 0 && s.mid_channels != 0) {
      s.hi = s.per_channel;
      s.mid_channels -= 1;
    }
    if (s.hi == 0) {
      place.traffic = s.lo * cell_traffic;
    } else {
      place.channel += static_cast<int>(s.mid_channels) + 1;
      place.traffic = s.hi * cell_traffic;
    }
  } else {
    place.traffic += s.lo * cell_traffic;
  }
  if (place.traffic >= traffic && place.channel != last_channel) place = {place.channel + 1, 0};
  return s;
}

ChannelPart part_2_22(const PartitionInput& input, int channel, ElementRange range) {
  const std::int64_t grain = chunk_grain(input.protocol).count;
  const std::int64_t chunk =
      chunk_of(input, range.count, 1).count / grain * grain / input.element_bytes;
  ChannelPart part{channel, range.offset, range.count, chunk, chunk};
  if (is_ring_all_reduce(input)) {
    const std::int64_t rest = range.count % (input.ranks * chunk);
    if (rest != 0) {
      part.last_loop_chunk_elements =
          round_up(ceil_div(rest, input.ranks), std::max(1, 16 / input.element_bytes));
    }
  }
  return part;
}

std::vector<ChannelPart> parts_2_22(const PartitionInput& input) {
  std::vector<ChannelPart> parts;
  CellPlace place;
  for (int call = 0; input.count > 0 && call < input.calls; ++call) {
    const CellSplit s = split_into_cells(input, place);
    const std::int64_t per_cell = s.cell_bytes / input.element_bytes;
    const std::int64_t short_tail = s.cells * per_cell - input.count;
    int channel = s.channel;
    ElementRange range;
    auto add = [&](std::int64_t elements) {
      range.count = elements;
      parts.push_back(part_2_22(input, channel++, range));
      parts.back().call = call;
      range.offset += elements;
    };
    add(s.lo * per_cell - (s.hi == 0 ? short_tail : 0));
    for (std::int64_t m = 0; m < s.mid_channels; ++m) add(s.per_channel * per_cell);
    if (s.hi != 0) add(s.hi * per_cell - short_tail);
  }
  return parts;
}

/// Every channel walks the whole buffer.
std::vector<ChannelPart> strided_parts(const PartitionInput& input) {
  std::int64_t chunk = chunk_of(input, input.count, input.channels).count;
  if (input.version >= kNccl2_22) {
    const std::int64_t grain = chunk_grain(input.protocol).count;
    chunk = chunk / grain * grain;
  }
  chunk /= input.element_bytes;
  std::vector<ChannelPart> parts;
  for (int call = 0; input.count > 0 && call < input.calls; ++call) {
    for (int c = 0; c < input.channels; ++c)
      parts.push_back({c, 0, input.count, chunk, chunk, call});
  }
  return parts;
}

bool is_strided(const PartitionInput& input) {
  return input.algorithm == Algorithm::collnet_direct ||
         input.algorithm == Algorithm::collnet_chain ||
         (input.algorithm == Algorithm::nvls && input.nodes > 1);
}

}  // namespace

Partition partition(const PartitionInput& call) {
  assert(is_tuned(call.collective) && call.channels >= 1 && call.count >= 0 && call.calls >= 1);
  const PartitionInput input = in_scheduler_units(call);
  const bool strided = is_strided(input);
  return {input.element_bytes, step_shape(input.algorithm, input.collective, input.protocol),
          strided                     ? strided_parts(input)
          : input.version < kNccl2_20 ? parts_2_19(input)
          : input.version < kNccl2_22 ? Filling(input).parts()
                                      : parts_2_22(input),
          strided};
}

}  // namespace fabricast
