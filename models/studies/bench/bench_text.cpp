#include "models/studies/bench/bench_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/bench/bench_bounds_text.hpp"
#include "models/studies/bench/bench_engine_text.hpp"
#include "models/studies/bench/bench_p2p_text.hpp"
#include "models/studies/bench/fold_text.hpp"
#include "text/counted.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr int kRanksListed = 64;
constexpr std::size_t kLinksNamed = 5;

/// Seven characters, as nccl-tests prints a time in microseconds.
std::string time_column(Duration time) {
  const double us = microseconds_of(time);
  if (us >= 9'999.995) return fmt::format("{:7.0f}", us);
  if (us >= 999.995) return fmt::format("{:7.1f}", us);
  return fmt::format("{:7.2f}", us);
}

/// nccl-tests prints one of sendrecv, too (src/sendrecv.cu).
bool prints_operator(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce || collective == Collective::sendrecv;
}

/// The colour of each rank's group; 0 without a split.
std::vector<std::uint64_t> colours(const BenchBlock& block, int ranks) {
  std::vector<std::uint64_t> out(static_cast<std::size_t>(ranks));
  const int per_node = ranks / block.nodes;
  for (const SplitGroup& group : block.groups) {
    for (int i = 0; i < group.members.ranks(); ++i)
      out[static_cast<std::size_t>(group.members.node(i) * per_node + group.members.gpu(i))] =
          group.colour;
  }
  return out;
}

std::string devices(const BenchBlock& block, int ranks, int gpus_per_process) {
  const NodeGraph& node = block.cluster.node();
  const int per_node = ranks / block.nodes;
  if (ranks > kRanksListed) {
    return fmt::format("#  Ranks 0..{}: node0..node{}, devices 0..{} each, {}\n", ranks - 1,
                       block.nodes - 1, per_node - 1, node.gpus()[0].part.name);
  }
  std::string out;
  const std::vector<std::uint64_t> colour = colours(block, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const GpuInfo& gpu = node.gpus()[static_cast<std::size_t>(rank % per_node)];
    const std::string& busid = node.vertex(gpu.vertex).busid;
    out += fmt::format("#  Rank {:2d} Group {:2d} Pid {:6d} on {:>10} device {:2d} [{}] {}\n", rank,
                       colour[static_cast<std::size_t>(rank)], rank / gpus_per_process,
                       fmt::format("node{}", rank / per_node), rank % per_node,
                       busid.substr(0, busid.rfind('.')), gpu.part.name);
  }
  return out;
}

/// nccl-tests knows a factor or a step in bytes; of any other list this is its first step.
std::string step_text(const std::vector<Bytes>& sizes) {
  if (sizes.size() < 2) return "1048576(bytes)";
  const std::int64_t first = sizes[0].count, factor = sizes[1].count / first;
  bool by_factor = true;
  for (std::size_t i = 1; i < sizes.size(); ++i)
    by_factor = by_factor && sizes[i].count == sizes[i - 1].count * factor;
  return by_factor ? fmt::format("{}(factor)", factor)
                   : fmt::format("{}(bytes)", sizes[1].count - first);
}

std::string head(const BenchResult& result, const BenchBlock& block, Collective collective,
                 int ranks) {
  const BenchConfig& config = result.config;
  std::string out = fmt::format(
      "# fabricast bench: predicted, nothing was measured. {} on {} x {}, NCCL {}\n",
      to_text(collective), block.nodes, block.cluster.node().name(), to_text(config.version));
  if (block.cluster.node().trays() > 1)
    out += fmt::format("# NVLink joins {}: to NCCL they are {}\n",
                       block.cluster.nodes() == 1
                           ? "all nodes"
                           : fmt::format("{} nodes each", block.cluster.node().trays()),
                       counted(block.cluster.nodes(), "node"));
  if (block.cluster.nodes() > 1)
    out += fmt::format("# fabric: {}\n", block.cluster.fabric_summary());
  for (const auto& [name, value] : config.environment.variables())
    out += fmt::format("# env: {}={}\n", name, value);
  if (config.custom)
    out += fmt::format("# algorithm: {} of {}, {} chunks, {} thread blocks\n", config.custom->name,
                       config.custom->file, config.custom->chunks, config.custom->blocks.size());
  const std::string network = network_text(block.network, block.cluster);
  if (!network.empty()) out += fmt::format("# network: {}\n", network);
  for (const BackgroundSpec& background : config.network.background)
    out += fmt::format("# background: {}\n", background.text);
  for (const FaultSpec& fault : config.faults) out += fmt::format("# fault: {}\n", fault.text);
  if (config.split)
    out += fmt::format("# split: {}, {} at the same time; a row is the slowest group's\n",
                       config.split->text, counted(std::ssize(block.groups), "group"));
  out += fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: 0 iters: 1 agg iters: "
      "{} "
      "validation: 0 graph: {}\n#\n# Using devices\n",
      config.gpus_per_process / config.gpus_per_thread, config.gpus_per_thread,
      std::ranges::min(config.sizes).count, std::ranges::max(config.sizes).count,
      step_text(config.sizes), config.calls, config.cuda_graph ? 1 : 0);
  out += devices(block, ranks, config.gpus_per_process);
  return out;
}

// Widths of nccl-tests 2.13 and later.
constexpr const char* kColumns =
    "#\n"
    "#                                                              out-of-place                   "
    "    "
    "in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  "
    "algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " "
    "(GB/s)  (GB/s)       \n";

std::string line(const BenchRow& row, const BenchConfig& config) {
  const std::string half = row.completes()
                               ? fmt::format("  {}  {:6.2f}  {:6.2f}    N/A",
                                             time_column(row.call_time()), row.algbw(), row.busbw())
                               : fmt::format("  {:>7}  {:>6}  {:>6}    N/A", "N/A", "N/A", "N/A");
  return fmt::format("{:12d}  {:12d}  {:>8}  {:>6}  {:6d}{}{}\n", row.size.count, row.count,
                     config.datatype, prints_operator(row.collective) ? config.op : "none",
                     has_root(row.collective) ? config.root : -1, half, half);
}

/// Runs of sizes with one algorithm and protocol, joined.
std::string choices(const std::vector<const BenchRow*>& rows) {
  const CustomAlgorithm* const custom = rows.front()->decided.run.custom;
  std::string out =
      custom != nullptr ? "# What ran, in place of NCCL's own:\n" : "# What NCCL chose:\n";
  for (std::size_t i = 0; i < rows.size();) {
    const CollectiveRun& first = rows[i]->decided.run;
    int low = rows[i]->working_channels(), high = low;
    std::size_t j = i;
    for (; j < rows.size(); ++j) {
      const CollectiveRun& other = rows[j]->decided.run;
      if (other.algorithm != first.algorithm || other.protocol != first.protocol) break;
      low = std::min(low, rows[j]->working_channels());
      high = std::max(high, rows[j]->working_channels());
    }
    const std::string channels =
        low == high ? counted(low, "channel") : fmt::format("{}..{} channels", low, high);
    out += fmt::format("#   {:<22} {:<4} {:<6}  {}\n", size_range(*rows[i], *rows[j - 1]),
                       rows[i]->algorithm(), to_text(first.protocol), channels);
    i = j;
  }
  return out;
}

/// "node12: gpu3 -> ..." and "node7: gpu3 -> ..." are the same place of the machine.
std::string without_node_numbers(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    if (name.compare(i, 4, "node") == 0 && i + 4 < name.size() && std::isdigit(name[i + 4]) != 0) {
      out += "node*";
      for (i += 4; i < name.size() && std::isdigit(name[i]) != 0;) ++i;
    } else {
      out += name[i++];
    }
  }
  return out;
}

struct LinkGroup {
  std::string name;
  double utilisation = 0;  ///< of its busiest member
  int members = 0;
};

/// The busiest places, equal links of different nodes counted together.
std::vector<LinkGroup> busiest(const BenchBlock& block, const BenchRow& row) {
  std::map<std::string, std::size_t> known;
  std::vector<LinkGroup> out;
  for (const LinkLoad& load : row.result.links) {
    const std::string name = without_node_numbers(block.cluster.link_name(load.link));
    const auto [at, is_new] = known.try_emplace(name, out.size());
    if (is_new) {
      if (out.size() == kLinksNamed) {
        known.erase(at);
        continue;
      }
      out.push_back({name, load.utilisation, 0});
    }
    out[at->second].members += load.copies;
  }
  return out;
}

std::string what_ran(const BenchRow& row) {
  if (row.is_peer_kernel())
    return fmt::format("{}, {} x {} threads", row.algorithm(),
                       counted(row.working_channels(), "block"), kEngineThreads);
  const CollectiveRun& run = row.decided.run;
  return fmt::format("{} {}, {} x {} threads", row.algorithm(), to_text(run.protocol),
                     counted(row.working_channels(), "channel"), run.threads);
}

/// What the largest share of the critical path means for somebody who wants it faster.
std::string verdict(const BenchBlock& block, const BenchRow& row) {
  const SimulationResult& result = row.result;
  const double total = static_cast<double>(result.time.ps);
  const auto share = [&](Cause cause) {
    return static_cast<double>(result.causes[static_cast<std::size_t>(cause)].ps) / total;
  };
  const double launch = static_cast<double>(result.launch.ps) / total;
  const double most = std::max({launch, share(Cause::latency), share(Cause::link),
                                share(Cause::worker), share(Cause::slots)});
  if (most == launch) return "launching is most of it: larger messages cost little more";
  if (most == share(Cause::link)) {
    const std::vector<LinkGroup> links = busiest(block, row);
    return fmt::format("link-bound: {} sets the pace",
                       links.empty() ? "a link" : links.front().name);
  }
  if (row.is_peer_kernel())
    return kernel_verdict(most == share(Cause::latency), most == share(Cause::worker));
  if (most == share(Cause::latency)) return "latency-bound: hops, flags and proxies set the pace";
  if (most == share(Cause::worker)) return "worker-bound: more channels or threads would help";
  return "waiting for free slots: a larger NCCL_BUFFSIZE would help";
}

/// What the groups of a split cost each other.
std::string split_text(const BenchBlock& block, const std::vector<const BenchRow*>& rows) {
  std::string out =
      "# Beside the others, and alone:\n"
      "#          size    slowest group  together (us)  fastest (us)    alone (us)  slowdown\n";
  for (const BenchRow* row : rows) {
    const SplitOutcome& split = *row->split;
    out += fmt::format("#  {:12d}  {:6d} of {:4d}  {:13.2f}  {:12.2f}  {:12.2f}  {:8.3f}\n",
                       row->size.count, split.slowest, split.groups,
                       microseconds_of(row->group_time()), microseconds_of(split.fastest),
                       microseconds_of(split.alone),
                       static_cast<double>(row->group_time().ps) /
                           static_cast<double>(std::max<std::int64_t>(split.alone.ps, 1)));
  }
  out += fmt::format("# Busiest links with all groups, at {}:\n", to_text(rows.back()->size));
  for (const LinkGroup& group : busiest(block, *rows.back())) {
    out += fmt::format("#     {:5.1f} %  {}{}\n", 100 * group.utilisation, group.name,
                       group.members > 1 ? fmt::format("  x{}", group.members) : "");
  }
  return out;
}

}  // namespace

std::string bench_text(const BenchResult& result, const BandTable& bands) {
  std::string out;
  double busbw_sum = 0;
  std::size_t rows_done = 0;
  for (const BenchBlock& block : result.blocks) {
    for (const Collective collective : result.config.collectives) {
      std::vector<const BenchRow*> rows;
      for (const BenchRow& row : block.rows) {
        if (row.collective == collective) rows.push_back(&row);
      }
      if (rows.empty()) continue;
      int ranks = block.groups.empty() ? rows.front()->ranks : 0;
      for (const SplitGroup& group : block.groups) ranks += group.members.ranks();
      out += head(result, block, collective, ranks) + kColumns;
      for (const BenchRow* row : rows) {
        out += line(*row, result.config);
        busbw_sum += row->busbw();
        rows_done += row->completes() ? 1 : 0;
      }
      out += "#\n" + (result.config.engine || result.config.registered
                          ? kernel_choices(result.config, rows)
                      : rows.front()->decided.run.has_algorithm() ? choices(rows)
                                                                  : p2p_choices(rows));
      out += bounds_text(rows);
      out += bands_text(result, block, rows, bands);
      if (result.config.split) out += split_text(block, rows);
      if (result.config.explain) {
        for (const BenchRow* row : rows) out += explain_text(block, *row);
      }
      if (result.config.explain_fold) {
        for (const BenchRow* row : rows) out += fold_text(*row);
      }
      out += "#\n";
    }
  }
  if (result.config.explain_fold && result.simulations.asked > 0)
    out += fmt::format("# simulations: asked {}, simulated {}\n", result.simulations.asked,
                       result.simulations.simulated);
  if (!result.completes())
    out += "# completes: no. A row without a time never ends; the averages leave it out.\n";
  for (const std::string& note : result.notes) out += fmt::format("# note: {}\n", note);
  out +=
      "# note: in-place and out-of-place are not told apart; nothing is validated (#wrong N/A).\n";
  const std::string mean =
      rows_done > 0 ? fmt::format("{:g}", busbw_sum / static_cast<double>(rows_done)) : "N/A";
  out += fmt::format("# Avg bus bandwidth    : {}\n", mean);
  if (const auto digest = bench_digest(result)) out += fmt::format("# digest {:016x}\n", *digest);
  return out;
}

std::string explain_text(const BenchBlock& block, const BenchRow& row) {
  const SimulationResult& result = row.result;
  const CollectiveRun& run = row.decided.run;
  const double total = static_cast<double>(result.time.ps);
  std::string out = fmt::format("#\n# {}{} {} on {} ranks: {}, {} us\n",
                                run.calls > 1 ? fmt::format("{} calls of ", run.calls) : "",
                                to_text(row.size), to_text(row.collective), row.ranks,
                                what_ran(row), fmt::format("{:.2f}", microseconds_of(result.time)));
  if (row.engine) out += fmt::format("#   why: {}\n", row.engine->why);
  if (row.registered)
    out += fmt::format(
        "#   why: {}{}\n", row.registered->why,
        row.registered->nccl_us > 0 ? fmt::format(", {:.1f} us", row.registered->nccl_us) : "");
  if (row.in_a_row && *row.in_a_row != result.time)
    out += fmt::format(
        "#   In a row {:.2f} us: a call begins on the ranks that have ended the one "
        "before. Of one alone:\n",
        microseconds_of(*row.in_a_row));
  const auto part = [&](const char* name, Duration time) {
    out += fmt::format("#   {:<18} {:12.2f} us {:6.1f} %\n", name, microseconds_of(time),
                       100 * static_cast<double>(time.ps) / total);
  };
  part("launch", result.launch);
  part("latency", result.causes[static_cast<std::size_t>(Cause::latency)]);
  part("link-bound", result.causes[static_cast<std::size_t>(Cause::link)]);
  part("worker-bound", result.causes[static_cast<std::size_t>(Cause::worker)]);
  part("waiting for slots", result.causes[static_cast<std::size_t>(Cause::slots)]);
  out += fmt::format("#   busiest links (share of the {} that they carried bytes):\n",
                     row.split ? "time of all groups" : "time after launch");
  for (const LinkGroup& group : busiest(block, row)) {
    out += fmt::format("#     {:5.1f} %  {}{}\n", 100 * group.utilisation, group.name,
                       group.members > 1 ? fmt::format("  x{}", group.members) : "");
  }
  out += fmt::format("#   {}\n", verdict(block, row));
  return out;
}

std::optional<std::uint64_t> bench_digest(const BenchResult& result) {
  const bool is_empty = std::ranges::all_of(
      result.blocks, [](const BenchBlock& block) { return block.rows.empty(); });
  if (is_empty) return std::nullopt;
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const BenchBlock& block : result.blocks) {
    for (const BenchRow& row : block.rows) {
      for (const std::uint64_t value :
           {row.result.digest, static_cast<std::uint64_t>(row.group_time().ps)}) {
        hash = (hash ^ value) * 0x100000001b3u;
      }
    }
  }
  return hash;
}

}  // namespace fabricast
