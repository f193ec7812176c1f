// The calls that hang lists are those of the step's tasks. Method: over random layouts a step is
// made with bounds for times, which say group and bytes of a call and do not depend on what runs
// beside it. Each rank's list must then fill its stage's tasks, one after another, to the
// picosecond or two, and add up to what the stage's layers communicate.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "models/io/topologies/load.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/hang/hang_layout.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "models/training/model/gpu_compute.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/sanitized.hpp"
#include "tests/unit/training/training_cases.hpp"

namespace fabricast {
namespace {

using What = StepIssue::What;

struct Bounds {
  PartsCatalogue parts = load_catalogue();
  Cluster cluster = load_cluster({"dgx-h100", 2, ""}, parts);
  CollectiveTimes times{cluster, parts.software, {}, CollectiveTimes::Estimate::bound};
  Framework framework = load_frameworks().at("megatron");
  GpuCompute gpu = load_compute().at("H100_SXM5");
};

template <typename T>
T of(Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(static_cast<std::uint32_t>(values.size())));
}

Transformer drawn_model(Random& random) {
  Transformer out = test::gpt(16, 1024, 16);
  if (random.below(2) == 0) return out;
  out.experts = Experts{8, 2, 1024, 0, of(random, {0, 1})};
  return out;
}

Layout drawn_layout(Random& random, const Transformer& model) {
  const int tensor = of(random, {1, 2, 4}), pipeline = of(random, {1, 2, 4});
  const int chunks = pipeline > 1 ? of(random, {1, 1, 2}) : 1;
  Layout out = test::layout(16, tensor, pipeline, chunks, 1, of(random, {16, 32}));
  out.context = of(random, {1, 1, 2});
  if (model.experts) {
    out.expert = of(random, {1, 2, 4});
    out.expert_tensor = of(random, {1, tensor});
  } else {
    out.order = parse_order(of(random, {"tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp"}));
  }
  out.sharding = of(random, {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3,
                             Sharding::fsdp, Sharding::hsdp});
  out.shard_group = out.sharding == Sharding::hsdp ? 2 : 0;
  out.bucket = of(random, {0.0, 3e6, 20e6, 1e12});
  out.recompute = of(random, {Recompute::none, Recompute::lean, Recompute::selective,
                              Recompute::operators, Recompute::full});
  // Half of the layers of any chunk, as far as they are alike: the step takes a share of each.
  const bool alike = !model.experts || model.experts->dense_layers == 0;
  if (out.recompute == Recompute::lean && alike) out.full_share = of(random, {0.0, 0.5});
  if (chunks == 1)
    out.schedule = of(random, {Schedule::gpipe, Schedule::one_f_one_b, Schedule::zero_bubble});
  out.context_exchange =
      of(random, {ContextExchange::ring, ContextExchange::all_gather, ContextExchange::all_to_all});
  out.sequence_parallel = random.below(2) == 0;
  out.precision = of(random, {Precision::bf16, Precision::fp8});
  for (bool* overlap : {&out.overlap.tensor, &out.overlap.gradients, &out.overlap.parameters,
                        &out.overlap.pipeline, &out.overlap.expert})
    *overlap = random.below(2) == 0;
  return out;
}

/// What hang lists of one rank, beside what its stage did.
class Rank {
 public:
  Rank(Bounds& site, const StepResult& result, const std::vector<RankCall>& calls, int rank)
      : bounds_(site),
        result_(result),
        l_(result.config.layout),
        stage_(rank / l_.stride(Axis::pipeline) % l_.pipeline) {
    for (const RankCall& call : calls) {
      if (call.rank != rank) continue;
      if (!call.members.empty()) groups_[call.group] = call.members;
      calls_.push_back(call);
    }
  }

  /// Exchanges between replicas, and messages.
  void check_tasks() const {
    std::vector<RankCall> exchanges, sends;
    for (const RankCall& call : calls_) {
      if (call.op == "isend") sends.push_back(call);
      if (call.peer < 0 && !is_inside(call)) exchanges.push_back(call);
    }
    auto next = exchanges.begin();
    auto sent = sends.begin();
    for (const StepSpan& span : result_.spans) {
      if (span.stage != stage_) continue;
      CAPTURE(static_cast<int>(span.issue.what));
      if (span.issue.what == What::send) {
        REQUIRE(sent != sends.end());
        check_send(span, *sent++);
      } else if (span.exchange) {
        next = check_exchange(span, next, exchanges.end());
      }
    }
    CHECK(next == exchanges.end());
    CHECK(sent == sends.end());
  }

  /// All that layers communicate, where the stage is the one that the step shows.
  void check_layers() const {
    if (result_.step.breakdown.stage != stage_) return;
    double tensor = 0, least_tensor = 0, context = 0, expert = 0;
    for (const RankCall& call : calls_) {
      if (call.peer >= 0 || !is_inside(call)) continue;
      const double time = cost(call);
      (call.group.starts_with("tp")   ? tensor
       : call.group.starts_with("cp") ? context
                                      : expert) += time;
      // What layers gather is as narrow as their products, what the head gathers is not: calls
      // don't say which they are.
      if (call.group.starts_with("tp"))
        least_tensor += call.op == "all_gather" ? cost(call, gathered_bytes()) : time;
    }
    const PassTime& busy = result_.step.breakdown.busy;
    const double busy_tensor = busy.tensor + busy.tensor_hidden;
    CHECK(busy_tensor <= doctest::Approx(tensor).epsilon(1e-6));
    CHECK(busy_tensor >= doctest::Approx(least_tensor).epsilon(1e-6));
    CHECK(context == doctest::Approx(busy.context + busy.context_hidden).epsilon(1e-6));
    CHECK(expert == doctest::Approx(busy.expert + busy.expert_hidden).epsilon(1e-6));
  }

 private:
  using At = std::vector<RankCall>::iterator;

  static bool is_inside(const RankCall& call) {
    return std::ranges::any_of(
        std::initializer_list<const char*>{"tp", "cp", "ep", "etp"}, [&](const char* name) {
          return call.group == name || call.group.starts_with(std::string(name) + " of");
        });
  }

  static void check_time(const StepSpan& span, double sum) {
    CHECK(sum == doctest::Approx(seconds(span.end - span.start)).epsilon(1e-5));
  }

  void check_send(const StepSpan& span, const RankCall& call) const {
    const int away = (call.peer - call.rank) / l_.stride(Axis::pipeline);
    const bool forward = span.issue.op.kind == PipelineOp::Kind::forward;
    CHECK((away + l_.pipeline) % l_.pipeline == (forward ? 1 : l_.pipeline - 1));
    const double bytes = 2.0 * static_cast<double>(*call.elements);
    check_time(
        span,
        factor() * seconds(bounds_.times.cost(Collective::sendrecv, stage_pair(l_), bytes).time));
  }

  /// As many calls as the task lasts.
  At check_exchange(const StepSpan& span, At next, At last) const {
    const double whole = seconds(span.end - span.start);
    double sum = 0;
    while (sum < whole * (1 - 1e-5)) {
      REQUIRE(next != last);
      CAPTURE(next->group);
      CAPTURE(next->op);
      sum += cost(*next);
      if (span.issue.what == What::gather) CHECK(next->op == "all_gather");
      if (span.issue.what == What::reduce) CHECK(next->op == reduction(*next));
      if (span.issue.what == What::norm) CHECK(next->group == "world");
      ++next;
    }
    check_time(span, sum);
    return next;
  }

  /// Times what a collective takes that runs alone, as the step was fitted.
  double factor() const { return bounds_.framework.communication; }

  std::string reduction(const RankCall& call) const {
    const bool sums = l_.sharding == Sharding::none || call.group.starts_with("copies");
    return sums ? "all_reduce" : "reduce_scatter";
  }

  double element_bytes(const RankCall& call) const {
    if (call.group == "world") return 4;
    if (!is_inside(call)) {
      if (call.op != "all_gather") return bounds_.framework.gradient_bytes;
      return is_8bit_or_less(l_.precision) && !l_.shards_weights() ? 1 : 2;
    }
    const bool loss = *call.elements == l_.micro_batch * l_.sequence / l_.context;
    return loss ? 4 : 2;
  }

  /// By its members.
  RankGroup group(const std::vector<int>& members) const {
    RankGroup out{1, members[1] - members[0], 1, 1, 0, l_.gpus};
    const auto all = static_cast<int>(members.size());
    while (out.size < all &&
           members[static_cast<std::size_t>(out.size)] == members[0] + out.size * out.stride)
      ++out.size;
    out.outer = all / out.size;
    if (out.outer > 1) out.outer_stride = members[static_cast<std::size_t>(out.size)] - members[0];
    return out;
  }

  /// Of an input of a layer's products.
  double gathered_bytes() const {
    return l_.precision == Precision::fp8_rows ? 2 : fabricast::element_bytes(l_.precision);
  }

  double cost(const RankCall& call) const { return cost(call, element_bytes(call)); }

  double cost(const RankCall& call, double element) const {
    const double bytes = element * static_cast<double>(*call.elements);
    const std::vector<int>& members = groups_.at(call.group);
    const auto ranks = static_cast<double>(members.size());
    const auto time = [&](Collective collective, const RankGroup& among, double size) {
      return factor() * seconds(bounds_.times.cost(collective, among, size).time);
    };
    if (call.op == "batch_isend_irecv")
      return (ranks - 1) * time(Collective::sendrecv, context_pair(l_), bytes);
    const Collective collective = *collective_from_text(call.op);
    return time(collective, group(members),
                collective == Collective::all_gather ? bytes * ranks : bytes);
  }

  Bounds& bounds_;
  const StepResult& result_;
  const Layout& l_;
  int stage_;
  std::vector<RankCall> calls_;
  std::map<std::string, std::vector<int>> groups_;
};

}  // namespace

TEST_CASE("hang: a rank makes the calls of its stage's tasks, in their order") {
  Bounds site;
  Random random(31);
  int seen = 0;
  constexpr int kDrawn = kSanitized ? 16 : 400;
  for (int i = 0; i < kDrawn; ++i) {
    StepResult result;
    result.config.model = drawn_model(random);
    result.config.layout = drawn_layout(random, result.config.model);
    result.framework = site.framework;
    result.gpu = site.gpu;
    const Layout& layout = result.config.layout;
    try {
      check_layout(result.config.model, layout);
    } catch (const Error&) {
      continue;  // does not go together
    }
    ++seen;
    CAPTURE(i);
    CAPTURE(layout_line(layout));
    CAPTURE(to_text(layout.order));
    CAPTURE(layout.bucket);
    result.step = step_time({result.config.model, layout, result.framework, result.gpu}, site.times,
                            &result.spans);
    const std::vector<RankCall> calls = calls_of(result);
    CHECK_FALSE(find_hang(calls).hangs());
    for (int rank = 0; rank < layout.gpus; ++rank) {
      CAPTURE(rank);
      const Rank one(site, result, calls, rank);
      one.check_tasks();
      one.check_layers();
    }
  }
  CHECK(seen >= kDrawn / 2);
}

TEST_CASE("hang: a unit of FSDP with experts changes places as a whole") {
  StepResult result;
  result.config.model = test::gpt(8, 1024, 16);
  result.config.model.experts = Experts{8, 2, 1024, 0, 0};
  result.config.layout = test::layout(8, 1, 1, 1, 1, 8);
  result.config.layout.expert = 2;
  result.config.layout.sharding = Sharding::fsdp;
  std::vector<RankCall> calls = calls_of(result);
  const std::vector<RankCall> before = calls;
  inject(parse_hang_fault("rank 5 interleaves at call 9"), calls);
  CHECK(is_as_expected(find_hang(calls), "mismatch"));
  // Two gathers and two scatters, each of other weights and of experts.
  const auto [was, is] = std::ranges::mismatch(
      before, calls, [](const RankCall& a, const RankCall& b) { return a.op == b.op; });
  REQUIRE(calls.end() - is >= 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(was[i].op == (i < 2 ? "all_gather" : "reduce_scatter"));
    CHECK(is[i].op == (i < 2 ? "reduce_scatter" : "all_gather"));
    CHECK(is[i].group.starts_with(i % 2 == 0 ? "fsdp" : "fsdp-experts of"));
    CHECK(is[i].at_s == was[i].at_s);
  }
}

TEST_CASE("hang: orders of ranks in which experts' replicas are not known are refused") {
  Bounds site;
  StepResult result;
  result.config.model = test::gpt(8, 1024, 16);
  result.config.model.experts = Experts{8, 2, 1024, 0, 0};
  result.config.layout = test::layout(16, 2, 2, 1, 1, 16);
  result.config.layout.order = parse_order("tp-cp-pp-dp");
  CHECK(
      error_text([&] { calls_of(result); }) ==
      "who replicates the experts of rank 0 is not known\nhint: with experts take the usual order "
      "of ranks, and with hsdp a shard_group that divides their replicas");
}

}  // namespace fabricast
