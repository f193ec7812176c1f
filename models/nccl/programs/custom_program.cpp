#include "models/nccl/programs/custom_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricast {

namespace {

/// MSCCL_MAX_COUNT - 1 (src/include/msccl.h): chunks of a step that may go as one message.
constexpr std::int64_t kChunksMax = 71;
constexpr std::uint32_t kConnectionsMax = 32;

}  // namespace

CustomProgram::CustomProgram(const CollectiveRun& run, const Partition& partition)
    : element_bytes_(partition.element_bytes),
      protocol_(run.protocol),
      step_(step_size(run.protocol, run.buffers)),
      shape_(partition.shape) {
  const ChannelPart& part = partition.parts.front();
  chunk_ = part.chunk_elements;
  loops_ = static_cast<std::uint32_t>((part.count_elements + chunk_ - 1) / chunk_);
  last_chunk_ = part.count_elements - (loops_ - 1) * chunk_;
  const std::int64_t room =
      step_payload(run.protocol, run.buffers).count * shape_.per_chunk / element_bytes_;
  const auto most =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(room / chunk_, 1, kChunksMax));
  find_signals(*run.custom);
  ops_.resize(run.custom->blocks.size());
  for (std::uint32_t block = 0; block < ops_.size(); ++block) add_ops(*run.custom, block, most);
}

/// Of what a step waits for only what no earlier one has waited for: signals then come in order.
void CustomProgram::find_signals(const CustomAlgorithm& algorithm) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> known;
  for (std::uint32_t to = 0; to < algorithm.blocks.size(); ++to) {
    for (const CustomStep& step : algorithm.blocks[to].steps) {
      std::map<std::uint32_t, std::uint32_t> last;  // step that it waits for, by block
      for (const CustomStep::Wait& wait : step.waits)
        if (wait.block != to) last[wait.block] = std::max(last[wait.block], wait.step);
      for (const auto& [block, at] : last) {
        const auto [signal, is_new] = known.try_emplace({block, to}, signals_.size());
        if (is_new) signals_.push_back({block, to, {}});
        std::vector<std::uint32_t>& steps = signals_[signal->second].steps;
        if (steps.empty() || steps.back() < at) steps.push_back(at);
      }
    }
  }
}

void CustomProgram::add_ops(const CustomAlgorithm& algorithm, std::uint32_t index,
                            std::uint32_t most_chunks) {
  const CustomBlock& block = algorithm.blocks[index];
  const bool in = std::ranges::any_of(block.steps, [](const auto& s) { return receives(s.kind); });
  const bool out = std::ranges::any_of(block.steps, [](const auto& s) { return sends(s.kind); });
  struct End {
    const Signal* signal;
    std::uint32_t bit;
    std::size_t next = 0;
  };
  std::vector<End> from, to;
  for (const Signal& signal : signals_) {
    if (signal.to == index)
      from.push_back({&signal, static_cast<std::uint32_t>(from.size()) + (in ? 1 : 0)});
    if (signal.from == index)
      to.push_back({&signal, static_cast<std::uint32_t>(to.size()) + (out ? 1 : 0)});
  }
  if (std::max(from.size(), to.size()) >= kConnectionsMax)
    throw Error(Place{algorithm.file, block.line,
                      fmt::format("rank {}, threadblock {}", block.rank, block.id)},
                fmt::format("waits for, or is waited for by, {} threadblocks: at most {} are "
                            "simulated",
                            std::max(from.size(), to.size()), kConnectionsMax - 1));
  std::vector<Op>& ops = ops_[index];
  for (std::uint32_t at = 0; at < block.steps.size(); ++at) {
    const CustomStep& step = block.steps[at];
    std::uint32_t waits = 0, tells = 0;
    for (End& end : from) {
      const bool waits_now = std::ranges::any_of(step.waits, [&](const CustomStep::Wait& wait) {
        return wait.block == end.signal->from && end.next < end.signal->steps.size() &&
               wait.step >= end.signal->steps[end.next];
      });
      if (!waits_now) continue;
      waits |= 1u << end.bit;
      ++end.next;
    }
    for (End& end : to) {
      if (end.next == end.signal->steps.size() || end.signal->steps[end.next] != at) continue;
      tells |= 1u << end.bit;
      ++end.next;
    }
    if (waits != 0) ops.push_back({waits, 0, 0, at, CustomKind::nop});
    for (auto left = static_cast<std::uint32_t>(step.count);
         left > 0 && step.kind != CustomKind::nop;) {
      const std::uint32_t chunks = std::min(left, most_chunks);
      ops.push_back(
          {receives(step.kind) ? 1u : 0u, sends(step.kind) ? 1u : 0u, chunks, at, step.kind});
      left -= chunks;
    }
    if (tells != 0) ops.push_back({0, tells, 0, at, CustomKind::nop});
  }
}

bool CustomProgram::next(Role role, Cursor& cursor, Primitive& primitive) const {
  const std::vector<Op>& ops = ops_[role.position];
  if (cursor.major == loops_ || ops.empty()) return false;
  const Op& op = ops[cursor.minor];
  primitive = {};
  primitive.in = op.in;
  primitive.out = op.out;
  if (op.chunks > 0) {
    const std::int64_t elements = op.chunks * (cursor.major + 1 == loops_ ? last_chunk_ : chunk_);
    primitive.chunk = primitive.slice = {elements * element_bytes_};
    if (op.in != 0 || op.out != 0) {
      primitive.slices = static_cast<std::uint32_t>(shape_.slices_per_chunk());
      if (protocol_ == Protocol::simple)
        primitive.slice = {slices_of_chunk(elements, element_bytes_, shape_, step_).slice_elements *
                           element_bytes_};
    }
  }
  advance(cursor, static_cast<std::uint32_t>(ops.size()));
  return true;
}

PrimitiveLabel CustomProgram::label(Role role, Cursor cursor) const {
  const Op& op = ops_[role.position][cursor.minor];
  return {to_text(op.kind), cursor.major, op.step};
}

std::uint64_t CustomProgram::slices_sent(std::uint32_t block) const {
  const auto sent = std::ranges::count_if(ops_[block], [](const Op& op) { return sends(op.kind); });
  return static_cast<std::uint64_t>(sent) * loops_ *
         static_cast<std::uint64_t>(shape_.slices_per_chunk());
}

std::uint64_t CustomProgram::slices(std::uint32_t block) const {
  std::uint64_t out = 0;
  for (const Op& op : ops_[block])
    out += (op.in | op.out) != 0 && op.chunks > 0
               ? static_cast<std::uint64_t>(shape_.slices_per_chunk())
               : 1;
  return out * loops_;
}

}  // namespace fabricast
