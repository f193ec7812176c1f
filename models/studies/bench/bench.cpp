#include "models/studies/bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>

#include "models/nccl/run/period.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/bench/bench_call.hpp"
#include "models/studies/bench/bench_split.hpp"
#include "models/studies/bench/fault_text.hpp"
#include "models/studies/bench/fewer_nodes.hpp"
#include "models/studies/bench/known_calls.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"
#include "text/counted.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// Bytes of each rank in nccl-tests' all_gather.cu, reduce_scatter.cu, gather.cu, scatter.cu and,
/// not before eltSize is one of its arguments, alltoall.cu.
constexpr int kRankAlignment = 16;
constexpr Bytes kSizeMax{std::int64_t{1} << 40};      // no GPU holds more
constexpr std::int64_t kBlocksMax = 10'000'000;       // about 1 kB of executor each
constexpr std::uint64_t kEventsCompared = 1'000'000;  // a third of a second

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

class Bench {
 public:
  Bench(const BenchConfig& config, const PartsCatalogue& parts, const BenchWatch& watch,
        const ForEach& for_each, KnownCalls* known = nullptr)
      : parts_(parts), watch_(watch), for_each_(for_each), known_(known) {
    result_.config = config;
    if (!config.split) result_.config.split = split_of(config.environment);
  }

  /// Decides all rows, simulates what they need side by side, and puts the rows together.
  BenchResult run() {
    for (const Bytes size : result_.config.sizes) check_message(size);
    check_trace(result_.config);
    check_kernels(result_.config);
    std::vector<int> nodes = result_.config.nodes;
    if (nodes.empty()) nodes = {0};
    topology_.emplace(topology_of(result_.config, parts_));
    result_.blocks.reserve(nodes.size());
    for (const int n : nodes) open_block(n);
    simulate_all();
    for (OpenRow& open : open_) close(open);
    compare_routing();
    return std::move(result_);
  }

 private:
  /// Simulated calls of one block. Different sizes may round down to one number of elements.
  enum class Kind : std::uint8_t { asked_for, healthy };
  struct Answer : RunTimes {
    std::optional<Timeline> timeline;
  };
  struct Asked {
    Answer answer;
    int rows = 0;  ///< that need it and have not got it
    bool is_there = false;
  };
  using Runs = Memo<std::tuple<Kind, Collective, std::int64_t>, Asked*>;

  /// What a block needs besides what the reader is given.
  struct OpenBlock {
    BenchBlock& block;
    NodesRequest asked;
    std::optional<Cluster> healthy;                    ///< with faults: the cluster without them
    std::optional<Communicator> healthy_communicator;  ///< where NCCL sees one of the faults
    Faults faults;
    std::optional<BenchSplit> split;

    const Cluster& known() const { return healthy ? *healthy : block.cluster; }  ///< to NCCL
  };
  /// A row that is decided and not yet simulated.
  struct OpenRow {
    OpenBlock* of;
    BenchRow row;
    Asked* asked_for = nullptr;  ///< none: of a split, whose task fills the row
    Asked* healthy = nullptr;
    bool is_filled = false;

    bool is_ready() const {
      return asked_for ? asked_for->is_there && (!healthy || healthy->is_there) : is_filled;
    }
  };
  using Told = std::function<void(double)>;
  struct Task {
    Bytes size;
    std::function<void(const Told&)> run;
    bool* is_done;
  };

  Answer ran(const Cluster& cluster, const CollectiveRun& run, const Symmetry& symmetry,
             const SimulationOptions& options, const CallOnFewer& on_fewer = {}) const {
    const auto simulated = [&] {
      return times_of(result_.config, cluster, parts_.software, run, symmetry, options, on_fewer);
    };
    const bool may_be_known =
        known_ != nullptr && options.network.far_ways() == FarWays::by_destination;
    return {may_be_known ? known_->at(cluster, run, simulated) : simulated(), {}};
  }

  void open_block(int nodes) {
    const BenchConfig& config = result_.config;
    const NodesRequest asked = nodes_of(config, nodes, config.network.routing);
    Site site = site_of(*topology_, config, asked);
    OpenBlock& open = open_blocks_.emplace_back(
        OpenBlock{result_.blocks.emplace_back(
                      BenchBlock{site.cluster.hosts(), std::move(site.cluster), {}, {}, {}}),
                  asked,
                  {},
                  {},
                  {},
                  {}});
    BenchBlock& block = open.block;
    if (!config.faults.empty()) open.healthy.emplace(block.cluster);
    const bool is_seen = withhold_gdr(config.faults, block.cluster);
    if (is_seen && config.split)
      throw Error(option_place("--split"),
                  "nodes without GPUDirect RDMA are not simulated with it");
    if (is_seen) open.healthy_communicator = make_communicator(*open.healthy, site.communicator);
    if (config.split) return open_split(open, site.communicator);
    const Communicator communicator = make_communicator(block.cluster, site.communicator);
    const int gpus_per_host = communicator.ranks / communicator.hosts;
    check_root(config, communicator.ranks);
    check_processes(config, gpus_per_host);
    check_trace_ranks(config, communicator.ranks);
    for (const std::string& warning : communicator.warnings) add_once(result_.notes, warning);
    if (communicator.ranks == 1)
      add_once(result_.notes,
               "One rank sends nothing: times are launches, without the copy that NCCL makes where "
               "the call is out of place.");
    set_network(block);
    if (!config.faults.empty()) break_parts(open, gpus_per_host);
    if (config.sharp && !communicator.settings.collnet)
      add_once(result_.notes, "--sharp: NCCL uses it with NCCL_COLLNET_ENABLE=1 only.");
    Runs runs;
    for (const Collective collective : config.collectives) {
      for (const Bytes size : config.sizes) open_row(open, communicator, runs, collective, size);
    }
    result_.simulations += runs.counts();
  }

  /// All groups of a split at the same time.
  void open_split(OpenBlock& open, const CommunicatorConfig& wanted) {
    const BenchConfig& config = result_.config;
    BenchSplit& split = open.split.emplace(config, parts_.software, wanted, open.block);
    check_trace_ranks(config, split.ranks());
    for (const std::string& note : split.notes()) add_once(result_.notes, note);
    set_network(open.block);
    if (!config.faults.empty()) break_parts(open, split.gpus_per_node());
    for (const Collective collective : config.collectives)
      for (const Bytes size : config.sizes) open_split_row(open, collective, size);
  }

  void open_split_row(OpenBlock& open, Collective collective, Bytes size) {
    BenchBlock& block = open.block;
    std::optional<BenchSplit::Calls> calls =
        open.split->calls(collective, size, open.faults, open.known());
    if (!calls) return note_empty(collective, size, block.groups.front().members.ranks());
    int channels = 0;
    for (const DecidedCall& one : calls->decided)
      channels = std::max(channels, one.run.channels * one.run.calls);
    check_blocks(open.split->ranks(), channels, "groups run at the same time");
    OpenRow& row = open_.emplace_back(OpenRow{&open, {}});
    add_task(size, row.is_filled,
             [this, &open, &row, size, asked = std::move(*calls)](const Told& told) {
               row.row = split_row(open, asked, size, told);
             });
  }

  BenchRow split_row(const OpenBlock& open, const BenchSplit::Calls& calls, Bytes size,
                     const Told& told) const {
    const BenchConfig& config = result_.config;
    const BenchBlock& block = open.block;
    const SimulationOptions options = options_of(config, block.network);
    check_rung(block.network, block.cluster, 1, [&](const SimulationOptions& on_chunk) {
      return simulate(block.cluster, parts_.software, calls.streams, on_chunk);
    });
    SimulationOptions whole = options;
    std::optional<Timeline> timeline;
    if (config.trace) {
      whole.timeline = &timeline.emplace();
      whole.shown = *config.trace;
    }
    whole.progress = told;
    const StreamsResult result = simulate(block.cluster, parts_.software, calls.streams, whole);
    BenchRow row = open.split->row(calls, size, result, options);
    row.timeline = std::move(timeline);
    if (!config.faults.empty()) {
      std::vector<Stream> healthy = calls.streams;
      for (Stream& stream : healthy) stream.runs[0].faults = {};
      const StreamsResult without = simulate(*open.healthy, parts_.software, healthy, options);
      row.healthy = open.split->times(*open.healthy, healthy, without, options)[row.split->number];
    }
    return row;
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

  void note_empty(Collective collective, Bytes size, int ranks) {
    add_once(result_.notes, fmt::format("{} of {} B over {} ranks rounds down to no element: left "
                                        "out.",
                                        to_text(collective), size.count, ranks));
  }

  void open_row(OpenBlock& open, const Communicator& communicator, Runs& runs,
                Collective collective, Bytes size) {
    const BenchConfig& config = result_.config;
    const BenchBlock& block = open.block;
    std::optional<BenchRow> row =
        decided_row(config, open.known(), parts_.software, communicator, collective, size);
    if (!row) {
      if (config.trace)
        throw Error("this size rounds down to no element: there is nothing to trace");
      return note_empty(collective, size, communicator.ranks);
    }
    if (row->is_peer_kernel()) return open_kernel_row(open, runs, std::move(*row), size);
    CollectiveRun& run = row->decided.run;
    run.faults = open.faults;
    const Symmetry symmetry = find_symmetry(block.cluster, run);
    const SimulationOptions options = options_of(config, block.network);
    check_size(block.cluster, symmetry, options, *row);
    OpenRow& kept = open_.emplace_back(OpenRow{&open, std::move(*row)});
    kept.asked_for = runs.at({Kind::asked_for, collective, kept.row.count}, [&] {
      return add_call(size, [this, &open, &kept, symmetry, options](const Told& told) {
        return asked_for(open, kept.row, symmetry, options, told);
      });
    });
    ++kept.asked_for->rows;
    if (config.faults.empty()) return;
    kept.healthy = runs.at({Kind::healthy, collective, kept.row.count}, [&] {
      return add_call(size, [this, &open, run = healthy_run(open, kept.row)](const Told&) mutable {
        run.faults = {};
        SimulationOptions plain = options_of(result_.config, open.block.network);
        plain.explain = false;
        return ran(*open.healthy, run, find_symmetry(*open.healthy, run), plain);
      });
    });
  }

  CollectiveRun healthy_run(const OpenBlock& open, const BenchRow& row) const {
    if (!open.healthy_communicator) return row.decided.run;
    return decided_row(result_.config, *open.healthy, parts_.software, *open.healthy_communicator,
                       row.collective, row.requested)
        ->decided.run;
  }

  void open_kernel_row(OpenBlock& open, Runs& runs, BenchRow row, Bytes size) {
    OpenRow& kept = open_.emplace_back(OpenRow{&open, std::move(row)});
    kept.asked_for = runs.at({Kind::asked_for, kept.row.collective, kept.row.count}, [&] {
      return add_call(size, [this, &open, &kept](const Told&) {
        return Answer{kernel_times(result_.config, open.block.cluster, parts_.software, kept.row),
                      {}};
      });
    });
    ++kept.asked_for->rows;
  }

  Answer asked_for(const OpenBlock& open, const BenchRow& row, const Symmetry& symmetry,
                   SimulationOptions options, const Told& told) const {
    std::optional<Timeline> timeline;
    if (result_.config.trace) {
      options.timeline = &timeline.emplace();
      options.shown = *result_.config.trace;
    }
    options.progress = told;
    const Cluster& cluster = open.block.cluster;
    Answer out =
        ran(cluster, row.decided.run, symmetry, options,
            on_fewer_nodes(result_.config, parts_.software, *topology_, open.asked, cluster, row));
    out.timeline = std::move(timeline);
    return out;
  }

  Asked* add_call(Bytes size, std::function<Answer(const Told&)> run) {
    Asked& asked = asked_.emplace_back();
    add_task(size, asked.is_there,
             [&asked, run = std::move(run)](const Told& told) { asked.answer = run(told); });
    return &asked;
  }

  void add_task(Bytes size, bool& is_done, std::function<void(const Told&)> run) {
    tasks_.push_back({size, std::move(run), &is_done});
  }

  /// The largest first, so that no core is left with one of them at the end.
  void simulate_all() {
    std::vector<std::size_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t task) { return tasks_[task].size; });
    std::mutex mutex;
    std::vector<double> shares(tasks_.size());
    double done = 0;
    const auto tell = [&](std::size_t place, double share) {
      const std::lock_guard lock(mutex);
      done += share - std::exchange(shares[place], share);
      watch_.progress(done / static_cast<double>(tasks_.size()));
    };
    for_each_(order.size(), [&](std::size_t number) {
      const std::size_t place = order[number];
      Told told;
      if (watch_.progress) told = [&tell, place](double share) { tell(place, share); };
      tasks_[place].run(told);
      if (told) told(1);
      const std::lock_guard lock(mutex);
      *tasks_[place].is_done = true;
      if (watch_.so_far) watch_.so_far([&] { return rows_so_far(); });
    });
  }

  BenchResult rows_so_far() const {
    BenchResult out = result_;
    for (const OpenRow& open : open_) {
      if (!open.is_ready()) continue;
      const auto number = static_cast<std::size_t>(&open.of->block - result_.blocks.data());
      out.blocks[number].rows.push_back(open.asked_for ? filled(open, open.asked_for->answer)
                                                       : open.row);
    }
    std::erase_if(out.blocks, [](const BenchBlock& block) { return block.rows.empty(); });
    return out;
  }

  static BenchRow filled(const OpenRow& open, Answer answer) {
    BenchRow row = open.row;
    row.result = std::move(answer.alone);
    row.in_a_row = answer.in_a_row;
    row.bounds = std::move(answer.bounds);
    row.timeline = std::move(answer.timeline);
    if (open.healthy) {
      // A lost message concerns one call.
      const bool is_lone = !row.decided.run.faults.outages.empty();
      row.healthy = is_lone ? open.healthy->answer.alone.time : open.healthy->answer.group_time();
    }
    return row;
  }

  void close(OpenRow& open) {
    if (open.asked_for) {
      Asked& asked = *open.asked_for;
      open.row = filled(open, --asked.rows == 0 ? std::move(asked.answer) : asked.answer);
    }
    if (result_.config.trace && !open.row.completes())
      throw Error("the run does not complete: there is nothing to trace", "run it without --trace");
    if (!result_.config.faults.empty()) {
      for (const std::string& note :
           fault_notes(open.of->block.cluster, open.of->faults.retry, open.row))
        add_once(result_.notes, note);
    }
    open.of->block.rows.push_back(std::move(open.row));
  }

  /// What the last row of each block would take if switches chose among their uplinks in another
  /// way.
  void compare_routing() {
    std::vector<std::string> notes(open_blocks_.size());
    for_each_(notes.size(),
              [&](std::size_t number) { notes[number] = other_routing(open_blocks_[number]); });
    for (const std::string& note : notes)
      if (!note.empty()) add_once(result_.notes, note);
  }

  std::string other_routing(const OpenBlock& open) const {
    const BenchConfig& config = result_.config;
    const BenchBlock& block = open.block;
    if (!config.routing_note || config.split || block.cluster.nodes() == 1 || block.rows.empty() ||
        !config.faults.empty() || !config.network.is_plain() || config.trace)
      return {};
    const BenchRow& row = block.rows.back();
    if (row.is_peer_kernel()) return {};
    const bool climbs = std::ranges::any_of(row.result.links, [&](const LinkLoad& load) {
      return index_of(load.link) < block.cluster.links() && block.cluster.is_trunk(load.link);
    });
    if (!climbs || row.result.events - row.result.events_skipped > kEventsCompared) return {};
    const bool adaptive = block.network.routing == Routing::adaptive;
    NodesRequest asked = open.asked;
    asked.routing = adaptive ? Routing::by_destination : Routing::adaptive;
    const Cluster other = topology_->cluster(asked);
    if (!adaptive && !other.pools_cables()) return {};
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
    return fmt::format("--routing {} would take {} for {} of {} on {}; this is {} routing.",
                       to_text(*asked.routing), took, to_text(row.requested),
                       to_text(row.collective), counted(block.nodes, "node"),
                       to_text(block.network.routing));
  }

  /// After NCCL has made its decisions, which know nothing of it. The cluster without faults is
  /// kept already.
  void break_parts(OpenBlock& open, int gpus_per_node) {
    const BenchConfig& config = result_.config;
    std::vector<std::string> warnings;
    open.faults.retry = ib_retry(config.environment, config.version, warnings);
    for (const std::string& warning : warnings) add_once(result_.notes, warning);
    apply_faults(config.faults, gpus_per_node, open.block.cluster, open.faults);
  }

  const PartsCatalogue& parts_;
  std::optional<Topology> topology_;  ///< once it runs
  const BenchWatch& watch_;
  const ForEach& for_each_;
  KnownCalls* known_;
  BenchResult result_;
  std::deque<OpenBlock> open_blocks_;
  std::deque<OpenRow> open_;  ///< in the order of the answer
  std::deque<Asked> asked_;
  std::vector<Task> tasks_;
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
  const std::int64_t step = std::max(kRankAlignment / element_bytes, 1);
  return elements / ranks / step * step;
}

std::int64_t printed_count(Collective collective, Bytes size, int element_bytes, int ranks) {
  const std::int64_t all_ranks = std::int64_t{element_bytes} * ranks;
  if (is_tuned(collective) || !counts_per_rank(collective) || size.count % all_ranks != 0)
    return element_count(collective, size, element_bytes, ranks);
  return size.count / all_ranks;
}

void check_root(const BenchConfig& config, int ranks) {
  if (config.root < ranks) return;
  throw Error(fmt::format("root {} is not a rank: there are {}", config.root, ranks),
              fmt::format("take a root from 0 to {}", ranks - 1));
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

void check_message(Bytes size) {
  if (size <= kSizeMax) return;
  throw Error(
      fmt::format("a message of {} is too large: at most {}", to_text(size), to_text(kSizeMax)));
}

// nccl-tests' names (src/common.cu).
constexpr std::pair<const char*, int> kDatatypes[] = {
    {"int8", 1}, {"uint8", 1}, {"int32", 4},  {"uint32", 4},   {"int64", 8},  {"uint64", 8},
    {"half", 2}, {"float", 4}, {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};

std::vector<std::string> datatype_names() {
  std::vector<std::string> out;
  for (const auto& [name, bytes] : kDatatypes) out.emplace_back(name);
  return out;
}

int datatype_bytes(const std::string& name) {
  for (const auto& [known, bytes] : kDatatypes)
    if (name == known) return bytes;
  fail_unknown("datatype", name, datatype_names());
}

std::vector<Collective> parse_collectives(std::string_view text) {
  std::vector<std::string> known;
  for (const Collective c : kAllCollectives) known.emplace_back(to_text(c));
  std::vector<Collective> out;
  for (const std::string_view name : comma_items(text)) {
    const auto collective = collective_from_text(name);
    if (!collective)
      throw Error(fmt::format("unknown collective \"{}\"", name),
                  name.starts_with("ep_") || name == "dispatch" || name == "combine"
                      ? "dispatch and combine of experts: fabricast bench --collective "
                        "ep_dispatch,ep_combine"
                      : hint_nearest(name, known));
    if (std::find(out.begin(), out.end(), *collective) != out.end())
      throw Error(fmt::format("{} is listed twice", name));
    out.push_back(*collective);
  }
  return out;
}

BenchResult run_bench(const BenchConfig& config, const PartsCatalogue& parts,
                      const BenchWatch& watch, const ForEach& for_each) {
  return Bench(config, parts, watch, for_each).run();
}

BenchResult run_bench(const BenchConfig& config, const PartsCatalogue& parts, KnownCalls& known) {
  const BenchWatch nobody;
  const ForEach one_by_one = in_turn;
  return Bench(config, parts, nobody, one_by_one, &known).run();
}

}  // namespace fabricast
