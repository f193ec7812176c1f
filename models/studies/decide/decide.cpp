#include "models/studies/decide/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/engines/engine_run.hpp"
#include "models/nccl/registered/registered_question.hpp"
#include "models/nccl/tuner/call_plan.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/decide/variable_effects.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"
#include "sim/base/error.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr int kElementBytes = 4;   // float32
constexpr int kBfloat16Bytes = 2;  // what engines add up

/// What becomes of the rows with registered buffers, and what engines take.
void add_kernels(const DecideConfig& config, DecideBlock& block, std::vector<std::string>& notes) {
  if (config.registered == Registration::none && config.engines.empty()) return;
  if (!block.sample) {
    add_once(notes,
             "The topology says too little of its links to tell what kernels between GPUs "
             "are taken: NVLink between all GPUs of a node is assumed, engines are left out.");
  }
  const Cluster* cluster = block.sample ? &*block.sample : nullptr;
  for (DecideRow& row : block.rows) {
    if (config.registered != Registration::none)
      row.registered =
          choose_registered(question_of(block.communicator, config.registered, row.collective,
                                        row.size, cluster, &row.decision),
                            config.environment);
    if (!block.sample) continue;
    const Members members = Members::first(block.sample->nodes(), block.communicator.gpus_per_node);
    for (const EngineRelease& engine : config.engines)
      row.engines.push_back(choose_kernel(
          question_of(engine, *block.sample, members, row.size, true, kBfloat16Bytes)));
  }
}

void check_engines(const DecideConfig& config) {
  if (config.engines.empty()) return;
  for (const Collective collective : config.collectives)
    if (collective != Collective::all_reduce)
      throw Error(fmt::format("engines have kernels of their own for all_reduce only, not for {}",
                              to_text(collective)),
                  "leave --engine out, or ask for --collective all_reduce");
}

void check_tuned(const std::vector<Collective>& collectives) {
  for (const Collective collective : collectives) {
    if (is_tuned(collective)) continue;
    throw Error(fmt::format("NCCL makes no choice for {}: it is a group of sends and receives",
                            to_text(collective)),
                "it chooses for all_reduce, all_gather, reduce_scatter, broadcast, reduce");
  }
}

bool is_same_choice(const TunerDecision& a, const TunerDecision& b) {
  return a.algorithm == b.algorithm && (!a.algorithm || a.protocol == b.protocol);
}

TunerDecision decide_count(const NcclCommunicator& communicator, Collective collective,
                           std::int64_t count) {
  return decide(communicator.model, collective,
                message_size(collective, count, kElementBytes, communicator.ranks));
}

/// Four nodes have every kind of node of a ring and of a double tree.
std::optional<Cluster> sample_of(const Topology& topology, NodesRequest asked,
                                 const DescribedNodes& nodes) {
  constexpr int most = 4;
  asked.nodes = std::min(nodes.nodes, most) * nodes.trays;
  try {
    return topology.cluster(asked);
  } catch (const Error&) {
    return std::nullopt;  // NCCL's XML may hold what no part is like
  }
}

}  // namespace

std::optional<DecideRow> decide_row(const NcclCommunicator& communicator, Collective collective,
                                    Bytes size) {
  const int ranks = communicator.ranks;
  DecideRow row;
  row.collective = collective;
  row.requested = size;
  row.count = element_count(collective, size, kElementBytes, ranks);
  if (row.count == 0)  // too little for nccl-tests, but not for NCCL
    row.count = size.count / message_size(collective, 1, kElementBytes, ranks).count;
  if (row.count == 0) return std::nullopt;
  row.size = message_size(collective, row.count, kElementBytes, ranks);
  row.decision = decide(communicator.model, collective, row.size);
  if (!row.decision.algorithm) return row;
  const CallPlan plan =
      call_plan(split_of(communicator.model, collective, row.count, kElementBytes, row.decision));
  row.channels = plan.channels;
  row.threads = row.decision.threads;
  row.chunk_bytes = plan.chunk.count;
  return row;
}

NcclCommunicatorConfig communicator_config(const Job& job, const DescribedNodes& nodes,
                                           const Environment& environment) {
  NcclCommunicatorConfig out{job.version, environment, nodes.nodes, nodes.gpus_per_node, job.sharp};
  out.trays = nodes.trays;
  out.lacks_p2p = !nodes.peer_to_peer;
  out.tuner = job.tuner;
  return out;
}

DecideResult run_decide(const DecideConfig& config, const PartsCatalogue& parts) {
  check_tuned(config.collectives);
  check_engines(config);
  check_registration(config.registered, config.version);
  DecideResult result;
  result.config = config;
  result.topology = std::filesystem::path(config.topology).stem().string();
  std::vector<int> nodes = config.nodes;
  const Topology topology = topology_of(config, parts);
  if (nodes.empty()) nodes = {topology.nodes()};
  for (const int count : nodes) {
    const DescribedNodes described = topology.describe(nodes_of(config, count));
    const NcclCommunicatorConfig asked = communicator_config(config, described, config.environment);
    const auto known = std::ranges::find_if(result.blocks, [&](const DecideBlock& done) {
      return done.communicator.nodes > 1 &&
             done.communicator.hosts / done.communicator.nodes == described.trays;
    });
    DecideBlock block{known == result.blocks.end()
                          ? make_nccl_communicator(described.node, asked)
                          : make_nccl_communicator(described.node, asked, known->communicator),
                      {},
                      sample_of(topology, nodes_of(config, count), described),
                      {}};
    for (const std::string& warning : block.communicator.warnings) add_once(result.notes, warning);
    for (const Collective collective : config.collectives) {
      for (const Bytes size : config.sizes) {
        if (std::optional<DecideRow> row = decide_row(block.communicator, collective, size)) {
          block.rows.push_back(std::move(*row));
        } else {
          add_once(result.notes,
                   fmt::format("{} of {} on {} ranks: not one float32 for each rank, so NCCL "
                               "does nothing; left out.",
                               to_text(collective), to_text(size), block.communicator.ranks));
        }
      }
    }
    add_kernels(config, block, result.notes);
    if (config.explain) {
      for (const DecideRow& row : block.rows)
        block.effects.push_back(variable_effects(topology, config, block, row));
    }
    result.blocks.push_back(std::move(block));
  }
  return result;
}

std::vector<DecideSegment> decide_segments(const NcclCommunicator& communicator,
                                           const std::vector<const DecideRow*>& rows) {
  const Collective collective = rows.front()->collective;
  std::vector<DecideSegment> out;
  const auto add = [&](std::int64_t count, const TunerDecision& decision) {
    out.push_back({message_size(collective, count, kElementBytes, communicator.ranks),
                   decision.algorithm, decision.protocol});
  };
  add(rows.front()->count, rows.front()->decision);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    TunerDecision current = rows[i - 1]->decision;
    std::int64_t low = rows[i - 1]->count;
    while (!is_same_choice(current, rows[i]->decision)) {
      std::int64_t high = rows[i]->count;  // `current` holds at low and no longer at high
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        const bool holds = is_same_choice(current, decide_count(communicator, collective, middle));
        (holds ? low : high) = middle;
      }
      low = high;
      current = decide_count(communicator, collective, high);
      add(high, current);
    }
  }
  return out;
}

}  // namespace fabricast
