#include "models/training/step/step_contention.hpp"

#include <algorithm>

#include "models/training/calls/rank_groups.hpp"
#include "models/training/layers/layer_parts.hpp"
#include "models/training/layers/replica_exchange.hpp"
#include "models/training/step/step_calls.hpp"

namespace fabricast {

namespace {

using Exchange = CollectiveTimes::Exchange;
using Slowdown = CollectiveTimes::Slowdown;

class Slowdowns {
 public:
  Slowdowns(StreamGraph& graph, const StepSetup& setup, std::span<const Chunk> chunks,
            CollectiveTimes& collectives)
      : graph_(graph), setup_(setup), chunks_(chunks), collectives_(collectives) {}

  void set(bool free_messages) {
    const ReplicaExchange replicas(setup_);
    const Exchange message = stage_message(setup_, collectives_);
    const bool sends = setup_.layout.pipeline > 1;
    if (replicas.happens()) {
      const Chunk& chunk = largest_chunk();
      const int pieces = replicas.pieces(chunk.parameters, chunk.layers);
      Exchange gather = replicas.gather(chunk.parameters, 1).front();
      Exchange reduce = replicas.reduce(chunk.parameters, 1).front();
      gather.bytes /= pieces;
      reduce.bytes /= pieces;
      for (const Load way : {kSend, kReceive}) {
        if (!sends) break;
        pair(kGather, gather, way, message);
        pair(kReduce, reduce, way, message);
      }
      beside_passes(kGather, gather);
      beside_passes(kReduce, reduce);
    }
    if (!sends || !free_messages) return;
    graph_.slow(kSend, kSend, collectives_.beside(message, message).first);
    beside_passes(kSend, message);
  }

 private:
  void pair(Load a, const Exchange& first, Load b, const Exchange& second) {
    const Slowdown slow = collectives_.beside(first, second);
    graph_.slow(a, b, slow.first);
    graph_.slow(b, a, slow.second);
  }

  /// Beside passes, whose collectives run now and then.
  void beside_passes(Load load, const Exchange& call) {
    for (const Load pass : {kForward, kBackward}) {
      PassTime all;
      for (const Chunk& chunk : chunks_) all += pass == kForward ? chunk.forward : chunk.backward;
      double of_call = 1, of_pass = 1;
      const auto add = [&](double exposed, double hidden, const Exchange& inside) {
        if (exposed + hidden <= 0) return;
        const Slowdown slow = collectives_.beside(call, inside);
        of_call += std::min(1.0, (exposed + hidden) / all.total()) * (slow.first - 1);
        of_pass += exposed / all.total() * (slow.second - 1);
      };
      const Layout& l = setup_.layout;
      const LayerCalls calls(setup_.model, l);
      const double bytes = calls.tensor(Collective::all_reduce).bytes;
      const double copies = setup_.model.experts ? setup_.model.experts->per_token : 0;
      add(all.tensor, all.tensor_hidden,
          l.sequence_is_sharded() ? calls.gathered() : calls.tensor(Collective::all_reduce));
      add(all.context, all.context_hidden, {Collective::sendrecv, context_pair(l), bytes});
      add(all.expert, all.expert_hidden,
          {Collective::alltoall, expert_group(l), bytes * copies / l.tensor});
      graph_.slow(load, pass, of_call);
      graph_.slow(pass, load, of_pass);
    }
  }

  const Chunk& largest_chunk() const {
    return *std::max_element(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) {
      return a.parameters.all() < b.parameters.all();
    });
  }

  StreamGraph& graph_;
  const StepSetup& setup_;
  std::span<const Chunk> chunks_;
  CollectiveTimes& collectives_;
};

}  // namespace

Exchange stage_message(const StepSetup& setup, const CollectiveTimes& collectives) {
  Exchange out = message_call(setup);
  if (setup.stages_in_rack) {  // at most a node apart
    out.group.stride = std::min(out.group.stride, collectives.gpus_per_node());
    out.group.job = 0;
  }
  return out;
}

void set_slowdowns(StreamGraph& graph, const StepSetup& setup, std::span<const Chunk> chunks,
                   bool free_messages, CollectiveTimes& collectives) {
  Slowdowns(graph, setup, chunks, collectives).set(free_messages);
}

}  // namespace fabricast
