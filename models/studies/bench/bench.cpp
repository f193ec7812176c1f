#include "models/studies/bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "models/nccl/run/period.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/bench/bench_call.hpp"
#include "models/studies/bench/bench_split.hpp"
#include "models/studies/bench/fault_text.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"
#include "text/counted.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr int kGatherAlignment = 16;  // bytes: nccl-tests' all_gather.cu and reduce_scatter.cu
constexpr Bytes kSizeMax{std::int64_t{1} << 40};      // no GPU holds more
constexpr std::int64_t kBlocksMax = 10'000'000;       // about 1 kB of executor each
constexpr std::uint64_t kEventsCompared = 1'000'000;  // a third of a second

void check(const BenchConfig& config) {
  for (const Bytes size : config.sizes) {
    if (size > kSizeMax) {
      throw Error(fmt::format("a message of {} is too large: at most {}", to_text(size),
                              to_text(kSizeMax)));
    }
  }
}

/// A timeline shows one run.
void check_trace(const BenchConfig& config) {
  if (!config.trace) return;
  if (config.collectives.size() == 1 && config.sizes.size() == 1 && config.nodes.size() <= 1)
    return;
  throw Error(fmt::format("a trace shows one run, not {} ({} collectives, {} sizes, {} numbers of "
                          "nodes)",
                          config.collectives.size() * config.sizes.size() *
                              std::max<std::size_t>(config.nodes.size(), 1),
                          config.collectives.size(), config.sizes.size(),
                          std::max<std::size_t>(config.nodes.size(), 1)),
              "name one collective, one size and one number of nodes, like --sizes 1MiB");
}

void check_trace_ranks(const BenchConfig& config, int ranks) {
  if (!config.trace || config.trace->first < ranks) return;
  throw Error(fmt::format("rank {} cannot be traced: there are {} (0..{})", config.trace->first,
                          ranks, ranks - 1));
}

/// What stands in the way of a run that is too large is said with it.
void check_size(const Symmetry& symmetry, const SimulationOptions& options, const BenchRow& row) {
  const int copies = forbids_folding(options).empty() ? symmetry.copies() : 1;
  const CollectiveRun& run = row.decided.run;
  check_blocks(row.ranks / copies, run.channels * run.calls, why_not_folded(symmetry, options));
}

class Bench {
 public:
  Bench(const BenchConfig& config, const PartsCatalogue& parts,
        const std::function<void(double)>& progress,
        const std::function<void(const BenchResult&)>& so_far)
      : parts_(parts),
        progress_(progress),
        so_far_(so_far),
        element_bytes_(datatype_bytes(config.datatype)) {
    result_.config = config;
    if (!config.split) result_.config.split = split_of(config.environment);
  }

  BenchResult run() {
    check(result_.config);
    check_trace(result_.config);
    std::vector<int> nodes = result_.config.nodes;
    if (nodes.empty()) nodes = {0};
    rows_in_all_ = nodes.size() * result_.config.collectives.size() * result_.config.sizes.size();
    const Topology topology = topology_of(result_.config, parts_);
    for (const int n : nodes) block(topology, n);
    return std::move(result_);
  }

 private:
  /// Simulated calls of one block. Different sizes may round down to one number of elements.
  enum class Kind : std::uint8_t { asked_for, healthy };
  struct Answer {
    SimulationResult alone;
    std::optional<Duration> in_a_row;

    Duration group_time() const { return in_a_row.value_or(alone.time); }
  };
  using Runs = Memo<std::tuple<Kind, Collective, std::int64_t>, Answer>;

  Answer ran(const Cluster& cluster, const CollectiveRun& run, const Symmetry& symmetry,
             const SimulationOptions& options) const {
    Answer out{simulate(cluster, parts_.software, run, symmetry, options), {}};
    if (!result_.config.one_shot)
      out.in_a_row = period_of(cluster, parts_.software, run, out.alone, options);
    return out;
  }

  void block(const Topology& topology, int nodes) {
    const BenchConfig& config = result_.config;
    const NodesRequest asked = nodes_of(config, nodes, config.network.routing);
    Site site = site_of(topology, config, asked);
    BenchBlock& block = result_.blocks.emplace_back(
        BenchBlock{site.cluster.hosts(), std::move(site.cluster), {}, {}, {}});
    if (config.split) return split_block(block, site.communicator);
    const Communicator communicator = make_communicator(block.cluster, site.communicator);
    const int gpus_per_host = communicator.ranks / communicator.hosts;
    check_root(config, communicator.ranks);
    check_processes(config, gpus_per_host);
    check_trace_ranks(config, communicator.ranks);
    for (const std::string& warning : communicator.warnings) add_once(result_.notes, warning);
    set_network(block);
    if (!config.faults.empty()) break_parts(block, gpus_per_host);
    if (config.sharp && !communicator.settings.collnet)
      add_once(result_.notes, "--sharp: NCCL uses it with NCCL_COLLNET_ENABLE=1 only.");
    Runs runs;
    for (const Collective collective : config.collectives) {
      for (const Bytes size : config.sizes) row(block, communicator, runs, collective, size);
    }
    result_.simulations += runs.counts();
    compare_routing(block, topology, asked);
  }

  /// What the last row would take if switches chose among their uplinks in another way.
  void compare_routing(const BenchBlock& block, const Topology& topology, NodesRequest asked) {
    const BenchConfig& config = result_.config;
    if (block.cluster.nodes() == 1 || block.rows.empty() || !config.faults.empty() ||
        !config.network.is_plain() || config.trace)
      return;
    const BenchRow& row = block.rows.back();
    const bool climbs = std::ranges::any_of(row.result.links, [&](const LinkLoad& load) {
      return index_of(load.link) < block.cluster.links() && block.cluster.is_trunk(load.link);
    });
    if (!climbs || row.result.events - row.result.events_skipped > kEventsCompared) return;
    const bool adaptive = block.network.routing == Routing::adaptive;
    asked.routing = adaptive ? Routing::by_destination : Routing::adaptive;
    const Cluster other = topology.cluster(asked);
    if (!adaptive && !other.pools_cables()) return;
    SimulationOptions options;
    options.fold = options.fast_forward = config.fold;
    const CollectiveRun& run = row.decided.run;
    const Answer answer = ran(other, run, find_symmetry(other, run), options);
    const Duration time = answer.group_time();
    const double more = static_cast<double>(time.ps) / static_cast<double>(row.group_time().ps) - 1;
    const std::string took =
        std::abs(more) < 0.001
            ? "as long"
            : fmt::format("{:.1f} us ({:+.1f} %)", microseconds_of(time) / run.calls, more * 100);
    add_once(
        result_.notes,
        fmt::format("--routing {} would take {} for {} of {} on {}; this is {} routing.",
                    to_text(*asked.routing), took, to_text(row.requested), to_text(row.collective),
                    counted(block.nodes, "node"), to_text(block.network.routing)));
  }

  /// All groups of a split at the same time.
  void split_block(BenchBlock& block, const CommunicatorConfig& wanted) {
    const BenchConfig& config = result_.config;
    BenchSplit split(config, parts_.software, wanted, block);
    check_trace_ranks(config, split.ranks());
    for (const std::string& note : split.notes()) add_once(result_.notes, note);
    set_network(block);
    if (!config.faults.empty()) break_parts(block, split.gpus_per_node());
    for (const Collective collective : config.collectives)
      for (const Bytes size : config.sizes) split_row(block, split, collective, size);
  }

  void split_row(BenchBlock& block, BenchSplit& split, Collective collective, Bytes size) {
    const BenchConfig& config = result_.config;
    ++rows_done_;
    const Cluster& healthy = healthy_ ? *healthy_ : block.cluster;
    std::optional<BenchSplit::Calls> calls = split.calls(collective, size, faults_, healthy);
    if (!calls) return note_empty(collective, size, block.groups.front().members.ranks());
    int channels = 0;
    for (const DecidedCall& one : calls->decided)
      channels = std::max(channels, one.run.channels * one.run.calls);
    check_blocks(split.ranks(), channels, "groups run at the same time");
    const SimulationOptions options = options_of(block);
    check_rung(block, [&](const SimulationOptions& on_chunk) {
      return simulate(block.cluster, parts_.software, calls->streams, on_chunk);
    });
    SimulationOptions whole = options;
    std::optional<Timeline> timeline;
    if (config.trace) {
      whole.timeline = &timeline.emplace();
      whole.shown = *config.trace;
    }
    whole.progress = row_progress();
    const StreamsResult result = simulate(block.cluster, parts_.software, calls->streams, whole);
    BenchRow row = split.row(*calls, size, result, options);
    row.timeline = std::move(timeline);
    check_traced(row);
    if (!config.faults.empty()) {
      for (Stream& stream : calls->streams) stream.runs[0].faults = {};
      row.healthy = simulate(*healthy_, parts_.software, calls->streams, options)
                        .streams[row.split->number]
                        .time;
      for (const std::string& note : fault_notes(block.cluster, faults_.retry, row))
        add_once(result_.notes, note);
    }
    block.rows.push_back(std::move(row));
  }

  /// The rung and routes of a block, and what there is to say of them.
  void set_network(BenchBlock& block) {
    const BenchConfig& config = result_.config;
    std::vector<std::string> notes;
    block.network =
        plan_network(config.network, block.cluster, config.environment, config.version, notes);
    for (const std::string& note : notes) add_once(result_.notes, note);
    for (const FaultSpec& fault : config.faults)
      if (std::string note = old_word_note(fault); !note.empty()) add_once(result_.notes, note);
  }

  SimulationOptions options_of(const BenchBlock& block) const {
    SimulationOptions out;
    out.network = block.network;
    out.explain = result_.config.explain;
    out.fold = out.fast_forward = result_.config.fold;
    return out;
  }

  /// Whether another rung than chunk can take as much, by what the same run does there.
  template <class Run>
  void check_rung(const BenchBlock& block, const Run& run) const {
    if (block.network.rung == Rung::chunk) return;
    SimulationOptions on_chunk;
    on_chunk.fold = on_chunk.fast_forward = true;
    on_chunk.events_max = kSlicesMax;
    check_size(block.network.rung, block.cluster, run(on_chunk));
  }

  void check_traced(const BenchRow& row) const {
    if (result_.config.trace && !row.completes())
      throw Error("the run does not complete: there is nothing to trace", "run it without --trace");
  }

  void note_empty(Collective collective, Bytes size, int ranks) {
    add_once(result_.notes, fmt::format("{} of {} B over {} ranks rounds down to no element: left "
                                        "out.",
                                        to_text(collective), size.count, ranks));
  }

  std::function<void(double)> row_progress() const {
    if (!progress_) return {};
    const auto before = static_cast<double>(rows_done_ - 1);
    return [this, before](double share) {
      progress_((before + share) / static_cast<double>(rows_in_all_));
    };
  }

  void row(BenchBlock& block, const Communicator& communicator, Runs& runs, Collective collective,
           Bytes size) {
    const BenchConfig& config = result_.config;
    BenchRow row;
    row.collective = collective;
    row.nodes = block.nodes;
    row.ranks = communicator.ranks;
    row.requested = size;
    row.count = element_count(collective, size, element_bytes_, row.ranks);
    ++rows_done_;
    if (row.count == 0) {
      if (config.trace)
        throw Error("this size rounds down to no element: there is nothing to trace");
      return note_empty(collective, size, row.ranks);
    }
    row.size = message_size(collective, row.count, element_bytes_, row.ranks);
    const Call call{collective, row.count, element_bytes_, config.root, config.calls};
    row.decided = decide_row(config, healthy_ ? *healthy_ : block.cluster, parts_.software,
                             communicator, call);
    row.decided.run.launches_in_a_row = config.launches_in_a_row();
    row.decided.run.faults = faults_;
    const Symmetry symmetry = find_symmetry(block.cluster, row.decided.run);
    SimulationOptions options = options_of(block);
    if (config.trace) {
      options.timeline = &row.timeline.emplace();
      options.shown = *config.trace;
    }
    check_size(symmetry, options, row);
    check_rung(block, [&](const SimulationOptions& on_chunk) {
      return simulate(block.cluster, parts_.software, row.decided.run, symmetry, on_chunk);
    });
    options.progress = row_progress();
    const Answer& answer = runs.at({Kind::asked_for, collective, row.count}, [&] {
      return ran(block.cluster, row.decided.run, symmetry, options);
    });
    row.result = answer.alone;
    row.in_a_row = answer.in_a_row;
    check_traced(row);
    if (!config.faults.empty()) compare(block, runs, row);
    block.rows.push_back(std::move(row));
    if (so_far_) so_far_(result_);
  }

  /// After NCCL has made its decisions, which know nothing of it.
  void break_parts(BenchBlock& block, int gpus_per_node) {
    const BenchConfig& config = result_.config;
    std::vector<std::string> warnings;
    faults_ = {};
    faults_.retry = ib_retry(config.environment, config.version, warnings);
    for (const std::string& warning : warnings) add_once(result_.notes, warning);
    healthy_.emplace(block.cluster);
    apply_faults(config.faults, gpus_per_node, block.cluster, faults_);
  }

  void compare(const BenchBlock& block, Runs& runs, BenchRow& row) {
    CollectiveRun run = row.decided.run;
    run.faults = {};
    SimulationOptions options = options_of(block);
    options.explain = false;
    const Answer& answer = runs.at({Kind::healthy, row.collective, row.count}, [&] {
      return ran(*healthy_, run, find_symmetry(*healthy_, run), options);
    });
    // A lost message concerns one call.
    const bool is_lone = !row.decided.run.faults.outages.empty();
    row.healthy = is_lone ? answer.alone.time : answer.group_time();
    for (const std::string& note : fault_notes(block.cluster, faults_.retry, row))
      add_once(result_.notes, note);
  }

  const PartsCatalogue& parts_;
  const std::function<void(double)>& progress_;
  const std::function<void(const BenchResult&)>& so_far_;
  int element_bytes_;
  std::size_t rows_done_ = 0, rows_in_all_ = 0;
  BenchResult result_;
  std::optional<Cluster> healthy_;
  Faults faults_;
};

}  // namespace

bool BenchResult::completes() const {
  return std::ranges::all_of(blocks, [](const BenchBlock& block) {
    return std::ranges::all_of(block.rows, &BenchRow::completes);
  });
}

std::int64_t element_count(Collective collective, Bytes size, int element_bytes, int ranks) {
  const std::int64_t elements = size.count / element_bytes;
  if (!counts_per_rank(collective)) return elements;
  if (!is_tuned(collective)) return elements / ranks;
  const std::int64_t step = std::max(kGatherAlignment / element_bytes, 1);
  return elements / ranks / step * step;
}

void check_root(const BenchConfig& config, int ranks) {
  if (config.root < ranks) return;
  throw Error(
      fmt::format("root {} is not a rank: there are {} (0..{})", config.root, ranks, ranks - 1));
}

void check_processes(const BenchConfig& config, int gpus_per_node) {
  if (config.gpus_per_process % config.gpus_per_thread != 0)
    throw Error(fmt::format("{} GPUs per thread do not divide the {} of a process",
                            config.gpus_per_thread, config.gpus_per_process),
                "raise gpus_per_process, or lower gpus_per_thread");
  if (gpus_per_node % config.gpus_per_process == 0) return;
  throw Error(
      fmt::format("{} GPUs per process (-t times -g) do not divide the {} GPUs used per node",
                  config.gpus_per_process, gpus_per_node),
      "a process runs on one node: lower -t or -g, or change --gpus-per-node");
}

void check_blocks(int ranks, int channels, std::string_view why_not_folded) {
  if (std::int64_t{ranks} * channels <= kBlocksMax) return;
  throw Error(
      fmt::format("{} ranks with {} channels each are too many to simulate: at most {} in all; not "
                  "folded: {}",
                  ranks, channels, kBlocksMax, why_not_folded),
      "fewer --nodes, or fewer channels (NCCL_MAX_NCHANNELS)");
}

int datatype_bytes(const std::string& name) {
  // nccl-tests' names (src/common.cu).
  static constexpr std::pair<const char*, int> kKnown[] = {
      {"int8", 1}, {"uint8", 1}, {"int32", 4},  {"uint32", 4},   {"int64", 8},  {"uint64", 8},
      {"half", 2}, {"float", 4}, {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};
  std::vector<std::string> names;
  for (const auto& [known, bytes] : kKnown) {
    if (name == known) return bytes;
    names.emplace_back(known);
  }
  throw Error(fmt::format("unknown datatype \"{}\"", name), hint_nearest(name, names));
}

std::vector<Collective> parse_collectives(std::string_view text) {
  std::vector<std::string> known;
  for (const Collective c : kAllCollectives) known.emplace_back(to_text(c));
  std::vector<Collective> out;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = trimmed(rest.substr(0, comma));
    const auto collective = collective_from_text(name);
    if (!collective)
      throw Error(fmt::format("unknown collective \"{}\"", name), hint_nearest(name, known));
    if (std::find(out.begin(), out.end(), *collective) != out.end())
      throw Error(fmt::format("{} is listed twice", name));
    out.push_back(*collective);
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

BenchResult run_bench(const BenchConfig& config, const PartsCatalogue& parts,
                      const std::function<void(double)>& progress,
                      const std::function<void(const BenchResult&)>& so_far) {
  return Bench(config, parts, progress, so_far).run();
}

}  // namespace fabricast
