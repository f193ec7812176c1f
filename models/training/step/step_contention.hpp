#pragma once
// How much what runs at the same time on a stage's GPUs slows each other.

#include <span>

#include "models/training/step/step_chunks.hpp"
#include "models/training/step/stream_graph.hpp"

namespace fabricast {

/// What tasks do to the NICs and NVLinks of a stage: exchanges between replicas, messages between
/// stages, and passes with the collectives inside their layers.
enum Load : std::uint8_t { kNone, kGather, kReduce, kSend, kReceive, kForward, kBackward };

/// What a stage sends to the next one, or back.
CollectiveTimes::Exchange stage_message(const StepSetup& setup, const CollectiveTimes& collectives);

/// For each pair of loads, from both simulated together. Collectives inside layers count for the
/// share of the pass that they last; `free_messages`: beside compute, not instead of it.
void set_slowdowns(StreamGraph& graph, const StepSetup& setup, std::span<const Chunk> chunks,
                   bool free_messages, CollectiveTimes& collectives);

}  // namespace fabricast
