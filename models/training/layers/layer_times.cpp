#include "models/training/layers/layer_times.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "models/experts/routing.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "models/training/layers/layer_parts.hpp"

namespace fabricast {

namespace {

// Kernels of a layer's forward that the host issues: PyTorch with Transformer Engine, counted
// roughly; with experts also router, permutation, dispatch and their synchronisation, which waits
// for the counts of tokens unless experts have a fixed capacity, and what one call issues for each
// local expert (9.5 ms a layer of Qwen3-30B-A3B whatever the layout, 4.7 ms where tokens are
// dropped: published steps of Megatron-Bridge, at 10 us a kernel). Backward has twice as many.
constexpr double kKernels = 25, kCastKernels = 12, kKernelsPerExpert = 2;
constexpr double kExpertKernels = 240, kDroppingKernels = 90;
// A ring copies what each round takes, and adds up what it gives, forward in fp32; the first round
// is of all rows, the others of half of them (Transformer Engine, context_parallel.py): bytes of an
// element, read and written.
constexpr double kRingForward = 14, kRingBackward = 18;

/// Communication of experts in a layer, in seconds.
struct ExpertPasses {
  double forward = 0, backward = 0;
  int sms = 0;  ///< that it takes from compute beside it
};

class LayerModel : LayerParts {
 public:
  using LayerParts::LayerParts;

  LayerTime layer(bool moe) {
    attention_block();
    if (moe) {
      expert_block();
    } else {
      mlp_block();
    }
    double kernels = kKernels + (casts() ? kCastKernels : 0);
    starts(kernels - timed_ - 1);
    if (moe)
      kernels += f_.drops_tokens
                     ? kDroppingKernels
                     : kExpertKernels + kKernelsPerExpert * m_.experts->count / l_.expert;
    host(kernels);
    recompute();
    return out_;
  }

  LayerTime embedding() {
    const double bytes = 2 * kHalf * m_.hidden * tokens_;
    elementwise(bytes, bytes);
    out_.forward.tensor += cost(calls_.embedding(true));
    out_.backward.tensor += cost(calls_.embedding(false));
    return out_;
  }

  LayerTime output() {
    elementwise(2 * kHalf * m_.hidden * shard_tokens_, 3 * kHalf * m_.hidden * shard_tokens_);
    const Linear logits{static_cast<double>(m_.vocabulary) / l_.tensor,
                        static_cast<double>(m_.hidden)};
    // Logits stay in 16 bit in every recipe.
    linear({logits}, Precision::bf16, tokens_);
    // Fused cross entropy: maximum and sum of the logits, then their gradients; partial sums in
    // fp32.
    const double bytes = 6.0 * logits.n * tokens_;
    elementwise(bytes, bytes);
    out_.forward.tensor += 3 * seconds(cost(calls_.loss()).time);
    if (l_.sequence_parallel) out_.forward.tensor += seconds(tensor(Collective::all_gather).time);
    out_.backward.tensor += cost(calls_.output(false));
    return out_;
  }

 private:
  void attention_block() {
    norm_and_residual();
    const double t = l_.tensor;
    const auto width = [&](int w) { return static_cast<double>(w); };
    std::vector<Linear> in;
    if (m_.latent) {
      const LatentAttention& a = *m_.latent;
      in = {{width(a.query_rank), width(m_.hidden)},
            {m_.query_width() / t, width(a.query_rank)},
            {width(a.kv_rank + a.rope_dim), width(m_.hidden)},
            {m_.heads * (a.nope_dim + a.value_dim) / t, width(a.kv_rank)}};
    } else {
      in = {{(m_.query_width() + m_.key_width() + m_.value_width()) / t, width(m_.hidden)}};
    }
    const LinearTime first = linear(in, l_.precision, tokens_, pieces_in());
    adapters(in);
    if (m_.rotary) {
      const double bytes = 2 * kHalf * (m_.query_width() + m_.key_width()) / t * tokens_;
      elementwise(bytes, bytes);
    }
    attention_core();
    const std::vector<Linear> out = {{width(m_.hidden), m_.attention_out_width() / t}};
    const LinearTime last = linear(out, l_.precision, tokens_, pieces_out());
    adapters(out);
    tensor_collectives(first, last);
  }

  void attention_core() {
    PassTime forward, backward;
    if (f_.flash_attention) {
      AttentionShape shape = attention_shape();
      // Ranks of a context group have equal parts of the work; each round of a ring is as much as
      // the block on the diagonal, and a kernel of its own.
      const bool ring = l_.context_exchange == ContextExchange::ring;
      if (ring) shape.tokens /= l_.context;
      const double share = f_.attention * (f_.ampere_attention ? gpu_.attention_ampere : 1) *
                           (ring ? 1.0 / l_.context : l_.context);
      forward.attention = attention_time(gpu_, shape, false) / share;
      backward.attention = attention_time(gpu_, shape, true) / share;
    } else {
      unfused_attention(forward, backward);
    }
    if (l_.context > 1) context_exchange(forward, backward);
    out_.forward += forward;
    out_.backward += backward;
    core_ = forward;
  }

  AttentionShape attention_shape() const {
    AttentionShape out;
    out.tokens = l_.attended();
    out.sequences = l_.micro_batch * (l_.sequence / out.tokens);
    out.heads = m_.heads / static_cast<double>(l_.tensor);
    out.kv_heads = std::max(1.0, m_.kv_heads / static_cast<double>(l_.tensor));
    out.key_dim = static_cast<double>(m_.query_width()) / m_.heads;
    out.value_dim = static_cast<double>(m_.attention_out_width()) / m_.heads;
    out.latent = m_.latent.has_value();
    return out;
  }

  /// Two batched GEMMs over all scores, and passes of scale, mask, softmax and dropout.
  void unfused_attention(PassTime& forward, PassTime& backward) {
    const double s = l_.attended(), d = m_.head_dim;
    const double heads =
        l_.micro_batch * m_.heads / static_cast<double>(l_.tensor) * (l_.sequence / s);
    const double scores = gemm_time(gpu_, Precision::bf16, {s / l_.context, s, d, heads});
    const double sums = gemm_time(gpu_, Precision::bf16, {s / l_.context, d, s, heads});
    const double elements = tokens_ * m_.heads * s / l_.tensor;
    // Softmax reads and writes 2 bytes, dropout reads 2 and writes 2 and a mask; backward reads
    // the saved output as well.
    forward.attention = scores + sums + elementwise_time(gpu_, elements * 9);
    backward.attention = 2 * (scores + sums) + elementwise_time(gpu_, elements * 11);
  }

  void context_exchange(PassTime& forward, PassTime& backward) {
    if (l_.context_exchange != ContextExchange::ring) {
      const bool alike = l_.context_exchange == ContextExchange::all_to_all;
      const double there = cost(calls_.context(true));
      forward.context += there;
      backward.context += alike ? there : cost(calls_.context(false));
      return;
    }
    const double rows = tokens_ / l_.tensor * (l_.context + 1) / 2.0;
    elementwise(kRingForward * rows * m_.attention_out_width(),
                kRingBackward * rows * (m_.query_width() + m_.key_width() + m_.value_width()));
    // A ring: each block's exchange runs beside the attention of the block before it.
    const auto exchange = [&](PassTime& pass, CollectiveTimes::Exchange round) {
      round.group = context_pair(l_);
      const CollectiveTime hop = cost(round);
      const double block = pass.attention / l_.context, time = seconds(hop.time);
      const int hops = l_.context - 1;
      pass.context += hops * std::max(0.0, time - block);
      pass.context_hidden += hops * std::min(time, block);
      pass.contention += hops * std::min(time, block) * hop.channels / gpu_.multiprocessors;
    };
    exchange(forward, calls_.context(true).front());
    exchange(backward, calls_.context(false).front());
  }

  double activation_bytes(double ffn, bool backward) const {
    const double passes = m_.mlp == Mlp::swiglu ? (backward ? 5 : 3) : (backward ? 3 : 2);
    return passes * kHalf * ffn;
  }

  void mlp_block() {
    norm_and_residual();
    mlp(m_.ffn);
  }

  /// Cut by TP, as a whole `whole_ffn` wide.
  void mlp(int whole_ffn) {
    const double ffn = whole_ffn / static_cast<double>(l_.tensor), h = m_.hidden;
    const std::vector<Linear> up = {{(matrices(m_.mlp) - 1) * ffn, h}}, down = {{h, ffn}};
    const LinearTime in = linear(up, l_.precision, tokens_, pieces_in());
    elementwise(activation_bytes(ffn, false) * tokens_, activation_bytes(ffn, true) * tokens_);
    const LinearTime out = linear(down, l_.precision, tokens_, pieces_out());
    if (l_.trained != Trained::attention_adapters) {
      adapters(up);
      adapters(down);
    }
    tensor_collectives(in, out);
  }

  void expert_block() {
    norm_and_residual();
    const Experts& e = *m_.experts;
    const double h = m_.hidden, etp = l_.expert_tensor;
    linear({{static_cast<double>(e.count), h}}, Precision::bf16, shard_tokens_);
    const double own = tokens_ / l_.tensor;         // tokens this rank routes
    const double routed = own * e.per_token * etp;  // rows its experts get, balanced
    const double moved = calls_.dispatch().bytes;
    // Sorted by rank, then by local expert, and back: read and written each time.
    elementwise(8 * moved, 8 * moved);
    expert_collectives();
    // One GEMM for each local expert.
    const double local = static_cast<double>(e.count) / l_.expert;
    const double rows = routed * busiest_ / local, ffn = e.ffn / etp;
    LinearTime sum;
    const auto grouped = [&](double n, double k) {
      sum.forward += gemm_time(gpu_, l_.precision, {rows, n, k, local}) / gpu_.experts;
      sum.dgrad += gemm_time(gpu_, l_.precision, {rows, k, n, local}) / gpu_.experts;
      if (l_.trains_weights()) {
        sum.wgrad += gemm_time(gpu_, l_.precision, {n, k, rows, local, 2.0 * f_.gradient_bytes}) /
                     gpu_.experts;
      }
      if (casts()) cast(routed * k, routed * n);
    };
    grouped((matrices(m_.mlp) - 1) * ffn, h);
    grouped(h, ffn);
    add_gemm(sum);
    elementwise(activation_bytes(ffn, false) * routed, activation_bytes(ffn, true) * routed);
    if (e.shared_ffn > 0) mlp(e.shared_ffn);
  }

  /// Each token's way to its experts, or back: k copies of each. Kernels that store directly fill
  /// NVLink, and send a token once to each node that has some of its experts.
  double dispatch() {
    GroupCall call = calls_.dispatch();
    const int nodes = collectives_.nodes_of(call.group);
    if (nccl_brings_tokens(f_, collectives_.expert_wish())) return seconds(cost(call).time);
    if (nodes == 1)
      return f_.communication * seconds(collectives_.store_time(call.group, call.bytes));
    const Experts& e = *m_.experts;
    call.bytes *= shares_reached(nodes, e.count, e.per_token) / e.per_token;
    return seconds(cost(call).time);
  }

  /// Tokens to their experts and back, by kernels of their own: in backward gradients, in 16 bits.
  ExpertPasses round_trips(const ExpertWish& wish) {
    const Experts& e = *m_.experts;
    ExpertCall call = wish.call(e.count, e.per_token, m_.hidden, EpDatatype::bf16);
    call.tokens = static_cast<int>(std::lround(tokens_ / l_.tensor));
    const auto lasts = [&](bool has_handle) {
      const EpRoundTrip both = collectives_.round_trip(expert_group(l_), call);
      return seconds(both.dispatch + both.combine +
                     collectives_.round_trip_launch(call.tokens, has_handle));
    };
    ExpertPasses out;
    out.forward = lasts(false);
    // The GPU whose experts get most is waited for.
    if (!wish.weights.empty()) busiest_ = collectives_.round_trip(expert_group(l_), call).busiest;
    call.dispatched = EpDatatype::bf16;
    out.backward = lasts(true);
    out.sms = sms_beside_compute(wish.mode, wish.sms, gpu_.multiprocessors);
    return out;
  }

  bool hides_experts() const {
    return l_.overlap.expert || (l_.overlap.expert_between_nodes && l_.virtual_stages > 1 &&
                                 collectives_.nodes_of(expert_group(l_)) > 1);
  }

  /// Dispatch and combine, and what experts cut by TP need around them.
  void expert_collectives() {
    const std::optional<ExpertWish>& wish = collectives_.expert_wish();
    if (l_.expert > 1) {
      if (wish && has_own_kernels(wish->mode))
        experts_ = round_trips(*wish);
      else
        experts_.forward = experts_.backward = 2 * dispatch();
    }
    const double cut = cost({calls_.expert_tensor(Collective::all_gather),
                             calls_.expert_tensor(Collective::reduce_scatter)});
    experts_.forward += cut;
    experts_.backward += cut;
    if (hides_experts()) return;  // host()
    out_.forward.expert += experts_.forward;
    out_.backward.expert += experts_.backward;
    experts_ = {};
  }

  /// Kernels of a layer that have no time of their own: each starts and ends. In a graph of all
  /// that can be fused there are none.
  void starts(double kernels) {
    if (f_.host_issue.ps == 0) return;
    const double all = std::max(0.0, kernels) * seconds(gpu_.kernel_floor);
    out_.forward.elementwise += all;
    out_.backward.elementwise += 2 * all;
  }

  /// The GPU waits where the host cannot issue kernels fast enough. Also what all-to-alls beside
  /// another micro-batch leave exposed, now that the compute of the layer is known.
  void host(double kernels) {
    double times = 1;
    for (PassTime* pass : {&out_.forward, &out_.backward}) {
      const double all = pass == &out_.forward ? experts_.forward : experts_.backward;
      const double hidden = std::min(all, pass->compute());
      pass->expert += all - hidden;
      pass->expert_hidden += hidden;
      pass->contention += hidden * experts_.sms / gpu_.multiprocessors;
      const double issued = times * kernels * seconds(f_.host_issue);
      pass->host += std::max(0.0, issued - pass->total());
      times = 2;
    }
  }

  void recompute() {
    const PassTime whole = out_.forward;
    PassTime again;
    again.elementwise = whole.elementwise;
    switch (l_.recompute) {
      case Recompute::automatic:
      case Recompute::none:
        return;
      case Recompute::full:
        out_.backward += whole;
        return;
      case Recompute::selective:
        out_.backward += core_;
        return;
      case Recompute::operators:
        again.gemm = whole.gemm / 2;
        out_.backward += again;
        return;
      case Recompute::lean:
        out_.backward += l_.full_share * whole;
        out_.backward += (1 - l_.full_share) * again;
        return;
    }
  }

  double busiest_ = 1;    ///< tokens of the GPU whose experts get most, over the average
  ExpertPasses experts_;  ///< beside the compute of another micro-batch
  PassTime core_;
};

}  // namespace

LayerTime layer_time(const StepSetup& setup, bool moe, CollectiveTimes& collectives) {
  return LayerModel(setup, collectives).layer(moe);
}
LayerTime embedding_time(const StepSetup& setup, CollectiveTimes& collectives) {
  return LayerModel(setup, collectives).embedding();
}
LayerTime output_time(const StepSetup& setup, CollectiveTimes& collectives) {
  return LayerModel(setup, collectives).output();
}

}  // namespace fabricast
