#include "models/training/layers/layer_calls.hpp"

#include <algorithm>

#include "models/training/model/gpu_compute.hpp"

namespace fabricast {

namespace {

constexpr double kSingle = 4;  // bytes of an element in fp32, as cross entropy is

void add(std::vector<GroupCall>& out, const GroupCall& call) {
  if (call.happens()) out.push_back(call);
}

void add(std::vector<GroupCall>& out, const std::vector<GroupCall>& calls) {
  for (const GroupCall& call : calls) add(out, call);
}

}  // namespace

bool nccl_brings_tokens(const Framework& framework, const std::optional<ExpertWish>& wish) {
  return wish ? !has_own_kernels(wish->mode) : !framework.direct_dispatch;
}

GroupCall LayerCalls::in_16_bits(Among among, Collective collective, double bytes) const {
  return group_call(l_, among, collective, bytes, static_cast<std::int64_t>(bytes / kHalf));
}

GroupCall LayerCalls::tensor(Collective collective) const {
  return in_16_bits(Among::tensor, collective, tokens() * m_.hidden * kHalf);
}

GroupCall LayerCalls::gathered() const {
  const Precision p = l_.precision;
  const double bytes = p == Precision::fp8_rows ? kHalf : element_bytes(p);
  const double elements = tokens() * m_.hidden;
  return group_call(l_, Among::tensor, Collective::all_gather, elements * bytes,
                    static_cast<std::int64_t>(elements));
}

GroupCall LayerCalls::loss() const {
  return group_call(l_, Among::tensor, Collective::all_reduce, kSingle * tokens(),
                    static_cast<std::int64_t>(tokens()));
}

std::vector<GroupCall> LayerCalls::context(bool forward) const {
  const auto over_context = [&](Collective collective, double bytes) {
    return in_16_bits(Among::context, collective, bytes);
  };
  const double keys = kHalf * tokens() * (m_.key_width() + m_.value_width()) / l_.tensor;
  const double queries = kHalf * tokens() * m_.query_width() / l_.tensor;
  switch (l_.context_exchange) {
    case ContextExchange::all_gather: {
      // Only a rank's own keys and values are kept: backward gathers them again (Transformer
      // Engine, context_parallel.py, AttnFuncWithCPAndKVAllGather).
      std::vector<GroupCall> out = {over_context(Collective::all_gather, keys * l_.context)};
      if (!forward) out.push_back(over_context(Collective::reduce_scatter, keys * l_.context));
      return out;
    }
    case ContextExchange::all_to_all: {
      // Whole sequences of some heads in, and what attention makes of them out again.
      const double outputs = kHalf * tokens() * m_.attention_out_width() / l_.tensor;
      std::vector<GroupCall> out = {over_context(Collective::alltoall, keys + queries),
                                    over_context(Collective::alltoall, outputs)};
      if (!forward) std::ranges::reverse(out);
      return out;
    }
    case ContextExchange::ring:
      // In backward the gradients of keys and values travel with them.
      return {over_context(Collective::sendrecv, forward ? keys : 2 * keys)};
  }
  return {};
}

GroupCall LayerCalls::dispatch() const {
  const double own = tokens() / l_.tensor;  // tokens this rank routes
  const int copies = m_.experts ? m_.experts->per_token : 0;
  return in_16_bits(Among::expert, Collective::alltoall, kHalf * own * copies * m_.hidden);
}

GroupCall LayerCalls::expert_tensor(Collective collective) const {
  return in_16_bits(Among::expert_tensor, collective, dispatch().bytes * l_.expert_tensor);
}

void LayerCalls::block(Calls& out, bool forward, const Calls& inside) const {
  if (!l_.sequence_parallel) {
    add(out, inside);
    add(out, tensor(Collective::all_reduce));
    return;
  }
  add(out, gathered());
  add(out, inside);
  if (!forward) add(out, gathered());  // the saved input, for its weights
  add(out, tensor(Collective::reduce_scatter));
}

void LayerCalls::experts(Calls& out) const {
  add(out, dispatch());
  add(out, expert_tensor(Collective::all_gather));
  add(out, expert_tensor(Collective::reduce_scatter));
  add(out, dispatch());
}

void LayerCalls::feed_forward(Calls& out, bool moe, bool forward) const {
  if (!moe) {
    block(out, forward, {});
    return;
  }
  // The shared expert is an MLP of its own before the routed ones (Megatron, moe_layer.py and
  // shared_experts.py).
  const bool shares = m_.experts->shared_ffn > 0;
  if (shares && forward) block(out, forward, {});
  experts(out);
  if (shares && !forward) block(out, forward, {});
}

std::vector<GroupCall> LayerCalls::forward(bool moe) const {
  Calls out;
  block(out, true, context(true));
  feed_forward(out, moe, true);
  return out;
}

std::vector<GroupCall> LayerCalls::backward(bool moe, Recompute again) const {
  Calls out;
  if (again == Recompute::full) out = forward(moe);
  feed_forward(out, moe, false);
  Calls core;
  if (again == Recompute::selective) add(core, context(true));
  add(core, context(false));
  block(out, false, core);
  return out;
}

std::vector<GroupCall> LayerCalls::embedding(bool forward) const {
  Calls out;
  if (forward) {
    add(out, tensor(l_.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce));
  } else if (l_.sequence_parallel) {
    add(out, tensor(Collective::all_gather));
  }
  return out;
}

std::vector<GroupCall> LayerCalls::output(bool forward) const {
  Calls out;
  if (forward) {
    if (l_.sequence_parallel) add(out, tensor(Collective::all_gather));
    for (int i = 0; i < 3; ++i) add(out, loss());
  } else {
    add(out, tensor(l_.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce));
  }
  return out;
}

}  // namespace fabricast
