#include "models/studies/hang/hang_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "models/io/formats/log_lines.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "models/training/model/memory.hpp"
#include "models/training/step/pipeline.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kCallsMax = 2'000'000;

using Kind = PipelineOp::Kind;

/// Ranks of the group that `rank` is in, ascending.
std::vector<int> members(const RankGroup& group, int rank) {
  const int i = rank / group.stride % group.size;
  const int j = group.outer > 1 ? rank / group.outer_stride % group.outer : 0;
  const int first = rank - i * group.stride - j * (group.outer > 1 ? group.outer_stride : 0);
  std::vector<int> out;
  for (int b = 0; b < group.outer; ++b)
    for (int a = 0; a < group.size; ++a)
      out.push_back(first + a * group.stride + b * group.outer_stride);
  std::ranges::sort(out);
  return out;
}

/// The calls of one rank.
class RankCalls {
 public:
  RankCalls(const StepResult& result, int rank)
      : model_(result.config.model),
        l_(result.config.layout),
        rank_(rank),
        stage_(rank / l_.stride(Axis::pipeline) % l_.pipeline),
        layers_(layers_of_chunks(model_, l_)),
        parameters_(chunk_parameters(model_, l_)),
        end_s_(static_cast<double>(result.step.time.ps) / 1e12) {
    for (const StepSpan& span : result.spans) {
      if (span.stage != stage_ || span.exchange) continue;
      const double start = static_cast<double>(span.start.ps) / 1e12;
      const double end = static_cast<double>(span.end.ps) / 1e12;
      const auto [at, is_new] = times_.try_emplace({span.what, span.micro, span.chunk}, start, end);
      at->second = {std::min(at->second.first, start), std::max(at->second.second, end)};
    }
  }

  std::vector<RankCall> make() {
    const auto orders =
        pipeline_orders(l_.schedule, l_.pipeline, l_.virtual_stages, l_.micro_batches());
    for (const PipelineOp& op : orders[static_cast<std::size_t>(stage_)]) add(op);
    const std::size_t first = out_.size();
    call("all_reduce", "world", {l_.gpus, 1}, 1);  // the norm of all gradients
    if (gathers_once() && !l_.overlap.parameters) gather_weights();
    spread(first, {end_s_, end_s_});
    return std::move(out_);
  }

 private:
  bool shares() const { return l_.train_weights && l_.dense_replicas() > 1; }
  bool gathers_once() const {
    return shares() && (l_.sharding == Sharding::zero1 || l_.sharding == Sharding::zero2);
  }
  /// Tokens of a micro-batch that the rank's layers see.
  long long tokens() const {
    return static_cast<long long>(l_.micro_batch) * l_.sequence / l_.context;
  }
  RankGroup shard_group() const {
    RankGroup group = dense_data_group(l_);
    if (l_.sharding == Sharding::hsdp) group.size = l_.shards(group.size);
    return group;
  }

  void call(const std::string& op, const char* what, const RankGroup& group, long long elements) {
    if (group.ranks() < 2) return;
    RankCall one;
    one.rank = rank_;
    one.op = op;
    const std::vector<int> all = members(group, rank_);
    one.group = group.ranks() == l_.gpus ? what : fmt::format("{} of {}", what, all.front());
    one.elements = elements;
    if (!named_[one.group]) one.members = all;
    named_[one.group] = true;
    out_.push_back(std::move(one));
  }

  void message(const char* op, int chunk) {
    RankCall one;
    one.rank = rank_;
    one.op = op;
    one.peer = rank_ + (chunk % l_.pipeline - stage_) * l_.stride(Axis::pipeline);
    one.elements = tokens() * model_.hidden / (l_.sequence_is_sharded() ? l_.tensor : 1);
    out_.push_back(std::move(one));
  }

  /// Evenly over the time of what they belong to.
  void spread(std::size_t first, std::pair<double, double> from_to) {
    const auto count = static_cast<double>(out_.size() - first);
    for (std::size_t i = first; i < out_.size(); ++i)
      out_[i].at_s = from_to.first + (from_to.second - from_to.first) *
                                         static_cast<double>(i - first) / std::max(count, 1.0);
  }

  void add(const PipelineOp& op) {
    if (op.kind == Kind::weight) return;
    const std::size_t first = out_.size();
    const int number = op.chunk * l_.pipeline + stage_;
    const int chunks = static_cast<int>(layers_.size());
    const bool forward = op.kind == Kind::forward;
    // Sends are posted and go on; Megatron and torch post them in batches.
    if (l_.pipeline > 1 && forward && number > 0) message("recv", number - 1);
    if (l_.pipeline > 1 && !forward && number + 1 < chunks) message("recv", number + 1);
    if (forward && op.micro == 0 && gathers_once() && l_.overlap.parameters) gather(number, 1);
    pass(number, forward);
    const bool last = op.micro == l_.micro_batches() - 1;
    if (!forward && last && shares() && !l_.shards_weights()) reduce(number, 1);
    if (l_.pipeline > 1 && forward && number + 1 < chunks) message("isend", number + 1);
    if (l_.pipeline > 1 && !forward && number > 0) message("isend", number - 1);
    const auto found = times_.find(
        {forward ? StepSpan::What::forward : StepSpan::What::backward, op.micro, op.chunk});
    if (found != times_.end()) spread(first, found->second);
  }

  /// Layers of a chunk, last to first in backward. Cut weights are gathered a layer ahead.
  void pass(int number, bool forward) {
    const int layers = layers_[static_cast<std::size_t>(number)];
    int before = 0;  // layers of the chunks before
    for (int i = 0; i < number; ++i) before += layers_[static_cast<std::size_t>(i)];
    const bool units = shares() && l_.shards_weights();
    if (units) gather(number, layers);
    for (int i = 0; i < layers; ++i) {
      const int layer = before + (forward ? i : layers - 1 - i);
      if (!forward && l_.recompute == Recompute::full) inside(layer, true);
      inside(layer, forward);
      if (units && i + 1 < layers) gather(number, layers);
      if (units && !forward) reduce(number, layers);
    }
  }

  /// What a layer needs of others: tensor, context and expert parallelism.
  void inside(int layer, bool forward) {
    const long long whole = tokens() * model_.hidden;
    const bool experts = model_.experts && layer >= model_.experts->dense_layers;
    const auto block = [&] {
      if (!l_.sequence_parallel) return call("all_reduce", "tp", tensor_group(l_), whole);
      call("all_gather", "tp", tensor_group(l_), whole / l_.tensor);
      call("reduce_scatter", "tp", tensor_group(l_), whole);
    };
    const auto context = [&] {
      const long long keys = tokens() * (model_.key_width() + model_.value_width()) / l_.tensor;
      const char* const op = l_.context_exchange == ContextExchange::all_to_all ? "alltoall"
                             : l_.context_exchange == ContextExchange::ring ? "batch_isend_irecv"
                             : forward                                      ? "all_gather"
                                                                            : "reduce_scatter";
      call(op, "cp", context_group(l_), keys);
    };
    const auto feed_forward = [&] {
      if (!experts) return block();
      for (int i = 0; i < 2; ++i)
        call("alltoall", "ep", expert_group(l_),
             tokens() / l_.tensor * model_.experts->per_token * model_.hidden);
    };
    if (!forward) feed_forward();
    context();
    block();
    if (forward) feed_forward();
  }

  /// Weights, of one of `pieces` of the chunk.
  void gather(int number, int pieces) {
    const RankGroup group = shard_group();
    call("all_gather", name(), group, of_chunk(number, pieces) / std::max(group.ranks(), 1));
  }

  void gather_weights() {
    for (int number = stage_; number < static_cast<int>(layers_.size()); number += l_.pipeline)
      gather(number, 1);
  }

  void reduce(int number, int pieces) {
    if (l_.sharding == Sharding::none)
      return call("all_reduce", name(), dense_data_group(l_), of_chunk(number, pieces));
    call("reduce_scatter", name(), shard_group(), of_chunk(number, pieces));
    if (l_.sharding != Sharding::hsdp) return;
    const int shards = l_.shards(l_.dense_replicas());
    call("all_reduce", "copies", {l_.dense_replicas() / shards, l_.tensor * shards},
         of_chunk(number, pieces) / shards);
  }

  const char* name() const { return l_.shards_weights() ? "fsdp" : "dp"; }
  long long of_chunk(int number, int pieces) const {
    return parameters_[static_cast<std::size_t>(number)].all() / std::max(pieces, 1);
  }

  const Transformer& model_;
  const Layout& l_;
  int rank_, stage_;
  std::vector<int> layers_;
  std::vector<LocalParameters> parameters_;
  double end_s_;
  std::map<std::tuple<StepSpan::What, int, int>, std::pair<double, double>> times_;
  std::map<std::string, bool> named_;
  std::vector<RankCall> out_;
};

void number_lines(std::vector<RankCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].line = static_cast<int>(i) + 1;
}

/// A gather of one unit beside a scatter of another, on one group.
bool is_unit_pair(const RankCall& a, const RankCall& b) {
  return a.group.starts_with("fsdp") && a.group == b.group && a.op != b.op;
}

/// On two groups that both join the rank with somebody else.
bool shares_peer(const std::map<std::string, std::vector<int>>& groups, const RankCall& a,
                 const RankCall& b) {
  if (a.peer >= 0 || b.peer >= 0 || a.group == b.group) return false;
  const std::vector<int>&one = groups.at(a.group), &other = groups.at(b.group);
  return std::ranges::any_of(
      one, [&](int rank) { return rank != a.rank && std::ranges::binary_search(other, rank); });
}

}  // namespace

HangFault parse_hang_fault(std::string_view text) {
  HangFault out;
  out.text = text;
  const auto words = split_words(text);
  const auto whole = [](std::string_view word, int& value) {
    value = to_number<int>(word).value_or(-1);
    return value >= 0;
  };
  const bool at = words.size() == 6 && words[3] == "at";
  const std::string_view kind = words.size() > 2 ? words[2] : "";
  bool ok = words.size() >= 5 && words[0] == "rank" && whole(words[1], out.rank) &&
            words[words.size() - 2] == "call" && whole(words.back(), out.call) && out.call > 0;
  if (kind == "skips") {
    out.kind = HangFault::Kind::skips;
    ok = ok && words.size() == 5;
  } else {
    ok = ok && at && (kind == "dead" || kind == "interleaves" || kind == "reorders");
    out.kind = kind == "dead"       ? HangFault::Kind::dead
               : kind == "reorders" ? HangFault::Kind::reorders
                                    : HangFault::Kind::interleaves;
  }
  if (!ok)
    throw Error(fmt::format("\"{}\" is no fault of a rank", text),
                "\"rank 5 dead at call 12\", \"rank 5 skips call 12\", \"rank 5 interleaves at "
                "call 12\" (FSDP units), \"rank 5 reorders at call 12\" (communicators)");
  return out;
}

std::vector<RankCall> calls_of(const StepResult& result) {
  std::vector<RankCall> out;
  for (int rank = 0; rank < result.config.layout.gpus; ++rank) {
    std::vector<RankCall> calls = RankCalls(result, rank).make();
    if (out.size() + calls.size() > kCallsMax)
      throw Error(fmt::format("a step of {} GPUs makes more than {} calls in all",
                              result.config.layout.gpus, kCallsMax),
                  "fewer nodes, or a smaller global_batch, hang alike");
    std::ranges::move(calls, std::back_inserter(out));
  }
  number_lines(out);
  return out;
}

void inject(const HangFault& fault, std::vector<RankCall>& calls) {
  std::map<std::string, std::vector<int>> groups;
  for (const RankCall& call : calls)
    if (!call.members.empty()) groups[call.group] = call.members;
  const auto mine = [&](const RankCall& call) { return call.rank == fault.rank; };
  const auto first = std::ranges::find_if(calls, mine);
  const auto last = std::find_if_not(first, calls.end(), mine);
  if (last - first < fault.call)
    throw Error(
        first == calls.end()
            ? fmt::format("\"{}\": there is no rank {}", fault.text, fault.rank)
            : fmt::format("\"{}\": rank {} makes {} calls", fault.text, fault.rank, last - first));
  auto at = first + (fault.call - 1);
  const auto find = [&](const auto& fits, const char* what) {
    for (; at + 1 < last && !fits(*at, *(at + 1));) ++at;
    if (at + 1 >= last)
      throw Error(fmt::format("\"{}\": rank {} has no {} from call {} on", fault.text, fault.rank,
                              what, fault.call));
    std::iter_swap(at, at + 1);
    std::swap(at->at_s, (at + 1)->at_s);
  };
  switch (fault.kind) {
    case HangFault::Kind::dead: {
      RankCall end;
      end.rank = fault.rank;
      end.end = fault.text;
      *at = end;
      calls.erase(at + 1, last);
      break;
    }
    case HangFault::Kind::skips:
      calls.erase(at);
      break;
    case HangFault::Kind::interleaves:
      find(is_unit_pair, "two calls in a row that gather one unit and scatter another");
      break;
    case HangFault::Kind::reorders:
      find([&](const RankCall& a, const RankCall& b) { return shares_peer(groups, a, b); },
           "two calls in a row on communicators that share another rank");
      break;
  }
  // Who is in a group is said by the first call on it, which may be gone.
  for (RankCall& call : calls)
    if (call.rank == fault.rank && call.peer < 0 && call.end.empty())
      call.members = groups.at(call.group);
  number_lines(calls);
}

std::string call_trace_text(const std::vector<RankCall>& calls) {
  std::string out;
  for (const RankCall& call : calls) {
    out += fmt::format("{{\"rank\": {}", call.rank);
    if (!call.end.empty()) {
      out += fmt::format(", \"end\": \"{}\"}}\n", call.end);
      continue;
    }
    out += fmt::format(", \"call\": \"{}\"", call.op);
    if (call.peer >= 0) {
      out += fmt::format(", \"peer\": {}", call.peer);
    } else {
      out += fmt::format(", \"group\": \"{}\"", call.group);
    }
    if (!call.members.empty())
      out += fmt::format(", \"ranks\": [{}]", fmt::join(call.members, ", "));
    if (call.elements) out += fmt::format(", \"elements\": {}", *call.elements);
    if (call.at_s) out += fmt::format(", \"at_s\": {:.6f}", *call.at_s);
    out += "}\n";
  }
  return out;
}

CallsOfLayout calls_of_layout(const std::string& layout, const HangFault* fault,
                              const PartsCatalogue& parts) {
  StepConfig config = load_step(layout);
  config.trace = true;
  const StepResult step = run_step(config, parts);
  CallsOfLayout out{
      fmt::format("one step of {}: {}", config.title, layout_line(step.config.layout)),
      calls_of(step)};
  if (fault != nullptr) inject(*fault, out.calls);
  return out;
}

bool is_as_expected(const HangResult& result, const std::string& expect) {
  if (!result.hangs()) return false;
  if (expect == "ended") return !result.ended.empty() && result.mismatches.empty();
  if (expect == "mismatch") return !result.mismatches.empty();
  return !result.cycle.empty() && result.mismatches.empty() && result.ended.empty();
}

}  // namespace fabricast
