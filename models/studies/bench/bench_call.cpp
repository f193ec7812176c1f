#include "models/studies/bench/bench_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "models/hardware/cluster/nvls_rates.hpp"
#include "models/nccl/call/launch.hpp"
#include "models/nccl/communicator/custom_call.hpp"
#include "models/nccl/registered/registered_question.hpp"
#include "models/nccl/run/exchange_bounds.hpp"
#include "models/nccl/run/period.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/bench/fewer_nodes.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

DecidedCall decide_row(const BenchConfig& config, const Cluster& cluster,
                       const SoftwareCosts& software, const Communicator& communicator,
                       const Call& call) {
  if (!config.custom) return decide_call(communicator, call);
  const std::vector<Protocol> protocols = protocols_of(*config.custom);
  DecidedCall best;
  Duration least;
  for (const Protocol protocol : protocols) {
    DecidedCall one = custom_call(communicator, call, *config.custom, protocol);
    if (protocols.size() == 1) return one;
    SimulationOptions options;
    options.fast_forward = config.fold;
    const Duration time = simulate(cluster, software, one.run, options).time;
    if (best.run.custom && time >= least) continue;
    best = std::move(one);
    least = time;
  }
  return best;
}

constexpr std::uint64_t kEventsInARow = kSlicesInARow * (kEventsOfChunk + kEventsOfMessage);

/// Bounds are those of a time, and say nothing of what is explained or drawn.
bool may_be_bounded(const BenchConfig& config, const SimulationOptions& options) {
  return config.budget && options.fold && options.timeline == nullptr;
}

EngineChoice engine_choice(const BenchConfig& config, const Cluster& cluster, const BenchRow& row) {
  const Members members = members_of(row.decided.run, cluster.nodes());
  return choose_kernel(question_of(config.engine->release, cluster, members, row.size,
                                   config.datatype == "bfloat16", datatype_bytes(config.datatype)));
}

RegisteredChoice registered_choice(const BenchConfig& config, const Cluster& cluster,
                                   const Communicator& communicator, const BenchRow& row) {
  RegisteredQuestion question =
      question_of(communicator, config.registered->asked, row.collective, row.size, &cluster,
                  is_tuned(row.collective) ? &row.decided.decision : nullptr);
  question.datatype = config.datatype;
  question.op = config.op;
  question.element_bytes = datatype_bytes(config.datatype);
  RegisteredChoice out = choose_registered(question, config.environment);
  if (!out.untimed.empty())
    throw Error(fmt::format("{} of {} with -R {}: {}, and {}", to_text(row.collective),
                            to_text(row.requested), kRegistrationWords[config.registered->asked],
                            out.why, out.untimed),
                "-R 0 has the time of plain buffers");
  return out;
}

/// Throws Error where something asked for is not simulated beside one kernel of all GPUs.
void check_beside(const BenchConfig& config, std::string_view what_is) {
  const auto refuse = [&](bool asked, std::string_view what) {
    if (asked)
      throw Error(fmt::format("{} not simulated with {}", what_is, what),
                  "leave one of the two out");
  };
  refuse(config.split.has_value(), "several groups at the same time");
  refuse(config.custom != nullptr, "an algorithm of one's own");
  refuse(config.trace.has_value(), "a trace");
  refuse(config.calls > 1, "several calls in one group");
  refuse(!config.faults.empty(), "faults");
  refuse(config.network.rung != Rung::chunk, "networks of flows or packets");
}

}  // namespace

std::optional<BenchRow> decided_row(const BenchConfig& config, const Cluster& known,
                                    const SoftwareCosts& software, const Communicator& communicator,
                                    Collective collective, Bytes size) {
  const int element_bytes = datatype_bytes(config.datatype);
  BenchRow row;
  row.collective = collective;
  row.nodes = known.hosts();
  row.ranks = communicator.ranks;
  row.requested = size;
  row.count = element_count(collective, size, element_bytes, row.ranks);
  if (row.count == 0) return std::nullopt;
  row.size = message_size(collective, row.count, element_bytes, row.ranks);
  const Call call{collective, row.count, element_bytes, config.root, config.calls};
  row.decided = decide_row(config, known, software, communicator, call);
  row.decided.run.launches_in_a_row = config.launches_in_a_row();
  row.host = host_time(row.decided.run, known, software);
  if (config.engine) row.engine = engine_choice(config, known, row);
  if (config.registered) row.registered = registered_choice(config, known, communicator, row);
  return row;
}

SimulationOptions options_of(const BenchConfig& config, const NetworkPlan& network) {
  SimulationOptions out;
  out.network = network;
  out.explain = config.explain;
  out.fold = out.fast_forward = config.fold;
  return out;
}

void check_size(const Cluster& cluster, const Symmetry& symmetry, const SimulationOptions& options,
                const BenchRow& row) {
  const CollectiveRun& run = row.decided.run;
  const int copies = copies_simulated(cluster, run, symmetry, options);
  check_blocks(row.ranks / copies, run.channels * run.calls,
               why_not_folded(cluster, run, symmetry, options));
}

RunTimes kernel_times(const BenchConfig& config, const Cluster& cluster,
                      const SoftwareCosts& software, const BenchRow& row) {
  const Members members = members_of(row.decided.run, cluster.nodes());
  if (row.is_registered() && members.node_count() > 1) {
    const CollectiveRun run = in_place_run(row.decided.run, *row.registered);
    return times_of(config, cluster, in_place(software), run, find_symmetry(cluster, run),
                    options_of(config, {}));
  }
  if (row.is_registered()) {
    const RegisteredCall call{*row.registered, row.collective, row.size, config.root,
                              config.launches_in_a_row()};
    return {simulate_registered(cluster, members, config.registered->costs, software, call,
                                config.explain),
            {}};
  }
  const EngineCall call{config.engine->release, row.engine->kernel, row.size, config.cuda_graph};
  return {simulate_engine(cluster, members, config.engine->costs, call, config.explain), {}};
}

void check_kernels(const BenchConfig& config) {
  if (config.registered) {
    check_registration(config.registered->asked, config.version);
    if (config.engine)
      throw Error("engines register buffers of their own: --engine and -R exclude each other");
    check_beside(config, "registered buffers are");
  }
  if (!config.engine) return;
  const std::string whose(kEngineWords[config.engine->release.engine]);
  for (const Collective one : config.collectives)
    if (one != Collective::all_reduce)
      throw Error(fmt::format("{} has kernels of its own for all_reduce only, not for {}", whose,
                              to_text(one)),
                  "ask for --collective all_reduce, or for NCCL alone");
  check_beside(config, "an engine's all-reduce is");
}

RunTimes times_of(const BenchConfig& config, const Cluster& cluster, const SoftwareCosts& software,
                  const CollectiveRun& run, const Symmetry& symmetry,
                  const SimulationOptions& options, const CallOnFewer& on_fewer) {
  std::optional<SimulationResult> known_on_chunk;
  if (may_be_bounded(config, options)) {
    // Of what is bounded the time in a row is the time alone.
    const std::uint64_t most = std::max(events_within(*config.budget), kEventsInARow);
    // Proven bounds may take more than the budget; what fewer nodes say is not proven.
    std::optional<BoundedRun> found =
        bound_run(cluster, software, run, symmetry, most, options.network);
    if (found && on_fewer && found->bounds.half_width() > kWideBounds)
      narrow_by_fewer_nodes(*found, cluster, software, run, most, on_fewer);
    if (!found && on_fewer) {
      FewerSay fewer =
          extrapolated_run(cluster, software, run, symmetry, options.network, most, on_fewer);
      found = std::move(fewer.told);
      known_on_chunk = std::move(fewer.on_chunk);
    }
    if (found) return {std::move(found->result), {}, std::move(found->bounds)};
  }
  const int copies = copies_simulated(cluster, run, symmetry, options);
  check_rung(options.network, cluster, copies, [&](const SimulationOptions& on_chunk) {
    if (known_on_chunk && known_on_chunk->events <= on_chunk.events_max)
      return std::move(*known_on_chunk);
    return simulate(cluster, software, run, symmetry, on_chunk);
  });
  RunTimes out;
  out.alone = simulate(cluster, software, run, symmetry, options);
  if (!config.one_shot)
    out.in_a_row = period_of(cluster, software, run, symmetry, out.alone, options);
  return out;
}

}  // namespace fabricast
