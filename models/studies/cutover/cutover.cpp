#include "models/studies/cutover/cutover.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/io/topologies/topology_name.hpp"
#include "models/nccl/communicator/custom_call.hpp"
#include "models/nccl/symmetry/symmetry.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/decide/decide.hpp"
#include "models/studies/shared/call_cost.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

namespace {

constexpr double kBisected = 1.02;      ///< how near the ends of a bisection come, as a ratio
constexpr double kInProportion = 0.75;  ///< time over size: from here on bytes are what counts
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A number of nodes: what is simulated on it.
struct Loaded {
  Cluster cluster;
  Communicator communicator;
};

bool grows_by_depth(Algorithm algorithm) {
  return algorithm != Algorithm::ring && algorithm != Algorithm::collnet_chain;
}

/// The same fabric with what the config changes about it.
Cluster changed(const Cluster& cluster, const CutoverConfig& config) {
  FabricConfig fabric = cluster.fabric();
  if (config.oversubscription > 0) fabric.oversubscription = config.oversubscription;
  for (FabricSwitchPart* const part : {&fabric.leaf, &fabric.spine, &fabric.core}) {
    part->latency.ps = std::llround(static_cast<double>(part->latency.ps) * config.latency_factor);
  }
  return Cluster(cluster.node(), cluster.nodes(), std::move(fabric));
}

class Study {
 public:
  Study(const CutoverConfig& config, const PartsCatalogue& parts, const ForEach& for_each)
      : parts_(parts), for_each_(for_each) {
    result_.config = config;
    if (config.sharp && !config.environment.get("NCCL_COLLNET_ENABLE"))
      note("--sharp: NCCL uses it with NCCL_COLLNET_ENABLE=1 only.");
  }

  CutoverResult run() {
    if (!is_tuned(config().collective) && config().custom.empty()) {
      throw Error(fmt::format("{} is sends and receives: no algorithm to choose",
                              to_text(config().collective)),
                  "all_reduce, all_gather, reduce_scatter, broadcast and reduce have several");
    }
    std::vector<int> nodes = config().nodes;
    if (nodes.empty()) nodes = {0};
    const Topology topology = topology_of(config(), parts_);
    for (const int n : nodes) add_place(topology, n);
    check_custom();
    for (std::size_t i = 0; i < places_.size(); ++i) add_column(i);
    for (CutoverColumn& column : result_.columns) {
      for (auto& cell : column.cells) {
        if (cell) cell->times.resize(contenders().size());
      }
    }
    for_each_(places_.size() * contenders().size(), [&](std::size_t task) {
      simulate_sizes(task / contenders().size(), task % contenders().size());
    });
    for (std::size_t contender = 0; contender < contenders().size(); ++contender)
      extrapolate_nodes(contender);
    for (CutoverColumn& column : result_.columns) rank(column);
    find_cutovers();
    return std::move(result_);
  }

 private:
  const CutoverConfig& config() const { return result_.config; }
  const std::vector<Contender>& contenders() const { return result_.contenders; }

  void note(const std::string& text) { add_once(result_.notes, text); }

  /// One that never runs is a mistake.
  void check_custom() const {
    for (const CustomAlgorithm* custom : config().custom) {
      const Place file{custom->file, 0, {}};
      if (custom->collective != config().collective)
        throw Error(file, fmt::format("{} is for {}, not {}", custom->name,
                                      to_text(custom->collective), to_text(config().collective)));
      const bool runs = std::ranges::any_of(
          places_, [&](const Loaded& place) { return place.communicator.ranks == custom->ranks; });
      if (!runs)
        throw Error(file,
                    fmt::format("{} is for {} ranks, which no number of nodes here has",
                                custom->name, custom->ranks),
                    "--nodes and --gpus-per-node say how many there are");
    }
  }

  void add_place(const Topology& topology, int nodes) {
    Site site = site_of(topology, config(), nodes_of(config(), nodes));
    if (site.cluster.nodes() > 1) site.cluster = changed(site.cluster, config());
    Communicator communicator = site.make();
    for (const std::string& warning : communicator.warnings) note(warning);
    if (places_.empty()) result_.topology = site.cluster.node().name();
    places_.push_back({std::move(site.cluster), std::move(communicator)});
  }

  Call call_of(std::int64_t count) const { return {config().collective, count, kFloatBytes, 0}; }

  std::int64_t count_of(const Loaded& place, Bytes size) const {
    return element_count(config().collective, size, kFloatBytes, place.communicator.ranks);
  }

  TunerDecision decision_of(const Loaded& place, std::int64_t count) const {
    return decide(place.communicator.model, config().collective,
                  message_size(config().collective, count, kFloatBytes, place.communicator.ranks),
                  kFloatBytes);
  }

  std::size_t number_of(Contender contender) {
    const auto found = std::ranges::find(result_.contenders, contender);
    if (found != result_.contenders.end())
      return static_cast<std::size_t>(found - result_.contenders.begin());
    result_.contenders.push_back(contender);
    return result_.contenders.size() - 1;
  }

  /// Its cells without times, and what NCCL chooses.
  void add_column(std::size_t index) {
    const Loaded& place = places_[index];
    CutoverColumn column;
    column.nodes = place.cluster.hosts();
    column.ranks = place.communicator.ranks;
    std::vector<DecideRow> rows;
    for (const Bytes size : config().sizes) {
      auto& cell = column.cells.emplace_back();
      const std::int64_t count = count_of(place, size);
      if (count == 0) continue;
      cell.emplace();
      cell->count = count;
      cell->size = message_size(config().collective, count, kFloatBytes, place.communicator.ranks);
      const TunerDecision decision = decision_of(place, count);
      for (const Candidate& candidate : decision.candidates) {
        if (candidate.excluded.empty()) number_of({candidate.algorithm, candidate.protocol});
      }
      if (decision.algorithm) cell->chosen = number_of({*decision.algorithm, decision.protocol});
      if (auto row = decide_row(place.communicator, config().collective, size))
        rows.push_back(std::move(*row));
    }
    for (const CustomAlgorithm* custom : config().custom) {
      if (custom->ranks != column.ranks) continue;
      for (const Protocol protocol : protocols_of(*custom))
        number_of({Algorithm::ring, protocol, custom});
    }
    add_chosen(column, place, rows);
    result_.columns.push_back(std::move(column));
  }

  void add_chosen(CutoverColumn& column, const Loaded& place, const std::vector<DecideRow>& rows) {
    if (rows.empty()) return;
    std::vector<const DecideRow*> pointers;
    for (const DecideRow& row : rows) pointers.push_back(&row);
    const std::vector<DecideSegment> segments = decide_segments(place.communicator, pointers);
    for (std::size_t i = 1; i < segments.size(); ++i) {
      const DecideSegment &before = segments[i - 1], &after = segments[i];
      if (!before.algorithm || !after.algorithm) continue;
      column.chosen.push_back({number_of({*before.algorithm, before.protocol}),
                               number_of({*after.algorithm, after.protocol}), after.first,
                               after.first, after.first});
    }
  }

  /// Nothing where NCCL does not have it.
  std::optional<DecidedCall> call_as(const Loaded& place, std::int64_t count,
                                     std::size_t contender) const {
    const Contender& wanted = contenders()[contender];
    if (wanted.custom) {
      if (wanted.custom->ranks != place.communicator.ranks) return std::nullopt;
      return custom_call(place.communicator, call_of(count), *wanted.custom, wanted.protocol);
    }
    for (const Candidate& candidate : decision_of(place, count).candidates) {
      if (candidate.algorithm == wanted.algorithm && candidate.protocol == wanted.protocol &&
          candidate.excluded.empty())
        return decided_as(place.communicator, call_of(count), candidate);
    }
    return std::nullopt;
  }

  bool is_small(const Loaded& place, const CollectiveRun& run, const Symmetry& symmetry) const {
    return expected_slices(run, place.cluster.nodes()) / symmetry.copies() <= config().slices_max;
  }

  double simulated_us(const Loaded& place, const CollectiveRun& run,
                      const Symmetry& symmetry) const {
    SimulationOptions options;
    options.fold = options.fast_forward = true;
    return microseconds_of(simulate(place.cluster, parts_.software, run, symmetry, options).time);
  }

  /// One contender on one number of nodes, all sizes.
  void simulate_sizes(std::size_t index, std::size_t contender) {
    const Loaded& place = places_[index];
    struct Done {
      double bytes, time_us;
      int channels;
    };
    std::vector<Done> done;
    for (auto& cell : result_.columns[index].cells) {
      if (!cell) continue;
      const auto call = call_as(place, cell->count, contender);
      if (!call) continue;
      const auto bytes = static_cast<double>(cell->size.count);
      const Symmetry symmetry = find_symmetry(place.cluster, call->run);
      if (is_small(place, call->run, symmetry)) {
        const double time = simulated_us(place, call->run, symmetry);
        cell->times[contender] = {time, false};
        done.push_back({bytes, time, call->run.channels});
        continue;
      }
      if (done.size() < 2) continue;
      const Done &more = done.back(), &less = done[done.size() - 2];
      const bool grows = more.time_us / less.time_us >= kInProportion * more.bytes / less.bytes;
      if (!grows || more.channels != call->run.channels || less.channels != more.channels) continue;
      const double reach = (bytes - more.bytes) / (more.bytes - less.bytes);
      cell->times[contender] = {more.time_us + reach * (more.time_us - less.time_us), true};
    }
  }

  /// Where no size says enough: the time grows with the depth of a tree, or with the ranks.
  void extrapolate_nodes(std::size_t contender) {
    const auto at = [&](int nodes) -> CutoverColumn* {
      for (CutoverColumn& column : result_.columns) {
        if (column.nodes == nodes) return &column;
      }
      return nullptr;
    };
    for (std::size_t i = 0; i < places_.size(); ++i) {
      CutoverColumn& column = result_.columns[i];
      CutoverColumn *const half = at(column.nodes / 2), *const quarter = at(column.nodes / 4);
      if (column.nodes % 4 != 0 || half == nullptr || quarter == nullptr) continue;
      for (std::size_t size = 0; size < column.cells.size(); ++size) {
        auto& cell = column.cells[size];
        if (!cell || !half->cells[size] || !quarter->cells[size]) continue;
        auto& time = cell->times[contender];
        const auto &more = half->cells[size]->times[contender],
                   &less = quarter->cells[size]->times[contender];
        if (time || !more || !less || !call_as(places_[i], cell->count, contender)) continue;
        const double reach = grows_by_depth(contenders()[contender].algorithm) ? 1 : 2;
        time = {more->time_us + reach * (more->time_us - less->time_us), true};
      }
    }
  }

  void rank(CutoverColumn& column) {
    for (auto& cell : column.cells) {
      if (!cell) continue;
      for (std::size_t i = 0; i < cell->times.size(); ++i) {
        if (!cell->times[i]) continue;
        if (!cell->fastest || cell->times[i]->time_us < cell->times[*cell->fastest]->time_us)
          cell->fastest = i;
      }
    }
  }

  void find_cutovers() {
    struct Change {
      std::size_t column, cell;  ///< the last cell before it
      Cutover found;
    };
    std::vector<Change> changes;
    for (std::size_t i = 0; i < result_.columns.size(); ++i) {
      const auto& cells = result_.columns[i].cells;
      for (std::size_t k = 0; k + 1 < cells.size(); ++k) {
        if (!cells[k] || !cells[k + 1] || !cells[k]->fastest || !cells[k + 1]->fastest) continue;
        if (cells[k]->fastest == cells[k + 1]->fastest) continue;
        changes.push_back({i, k, {*cells[k]->fastest, *cells[k + 1]->fastest, {}, {}, {}}});
      }
    }
    for_each_(changes.size(),
              [&](std::size_t i) { bisect(changes[i].column, changes[i].cell, changes[i].found); });
    for (const Change& change : changes)
      result_.columns[change.column].fastest.push_back(change.found);
  }

  /// Between two neighbouring cells: where `to` overtakes `from`.
  void bisect(std::size_t index, std::size_t cell, Cutover& cutover) const {
    const CutoverColumn& column = result_.columns[index];
    Bytes low = column.cells[cell]->size, high = column.cells[cell + 1]->size;
    while (static_cast<double>(high.count) > kBisected * static_cast<double>(low.count)) {
      const Bytes middle{std::llround(
          std::sqrt(static_cast<double>(low.count) * static_cast<double>(high.count)))};
      if (middle <= low || middle >= high) break;
      const bool still =
          time_at(index, cell, cutover.from, middle) <= time_at(index, cell, cutover.to, middle);
      (still ? low : high) = middle;
    }
    cutover.size = high;
    cutover.first = near_until(column, cell, cutover, -1);
    cutover.last = near_until(column, cell, cutover, +1);
  }

  /// Simulated where the cells on both sides are; else on the line between them.
  double time_at(std::size_t index, std::size_t cell, std::size_t contender, Bytes size) const {
    const Loaded& place = places_[index];
    const std::int64_t count = count_of(place, size);
    const auto call = count > 0 ? call_as(place, count, contender) : std::nullopt;
    if (!call) return kNever;
    const CutoverCell &before = *result_.columns[index].cells[cell],
                      &after = *result_.columns[index].cells[cell + 1];
    const auto &t0 = before.times[contender], &t1 = after.times[contender];
    const bool simulate_it = (!t0 || !t0->extrapolated) && (!t1 || !t1->extrapolated);
    if (simulate_it) return simulated_us(place, call->run, find_symmetry(place.cluster, call->run));
    if (!t0 || !t1) return kNever;
    const double share = static_cast<double>(size.count - before.size.count) /
                         static_cast<double>(after.size.count - before.size.count);
    return t0->time_us + share * (t1->time_us - t0->time_us);
  }

  /// From the cutover downwards (-1) or upwards: the last size at which the two are near each
  /// other, on the line between cells.
  Bytes near_until(const CutoverColumn& column, std::size_t cell, const Cutover& cutover,
                   int direction) const {
    double here = std::log(static_cast<double>(cutover.size.count)), ratio_here = 0;
    Bytes last = cutover.size;
    for (std::size_t k = direction < 0 ? cell : cell + 1; k < column.cells.size();
         k += static_cast<std::size_t>(direction)) {
      const auto& at = column.cells[k];
      if (!at || !at->times[cutover.from] || !at->times[cutover.to]) return last;
      const double there = std::log(static_cast<double>(at->size.count));
      const double ratio =
          std::fabs(std::log(at->times[cutover.from]->time_us / at->times[cutover.to]->time_us));
      if (ratio > std::log1p(kNear)) {
        const double share = (std::log1p(kNear) - ratio_here) / (ratio - ratio_here);
        return Bytes{std::llround(std::exp(here + share * (there - here)))};
      }
      here = there;
      ratio_here = ratio;
      last = at->size;
    }
    return last;
  }

  const PartsCatalogue& parts_;
  const ForEach& for_each_;
  std::vector<Loaded> places_;
  CutoverResult result_;
};

}  // namespace

std::string to_text(const Contender& contender) {
  if (contender.custom)
    return fmt::format("{} {}", contender.custom->name, to_text(contender.protocol));
  std::string out(to_text(contender.algorithm));
  if (speaks(contender.algorithm, Protocol::ll))
    out += fmt::format(" {}", to_text(contender.protocol));
  return out;
}

double CutoverCell::loss() const {
  if (!fastest || !chosen || !times[*chosen]) return 0;
  return times[*chosen]->time_us / times[*fastest]->time_us - 1;
}

CutoverResult run_cutover(const CutoverConfig& config, const PartsCatalogue& parts,
                          const ForEach& for_each) {
  return Study(config, parts, for_each).run();
}

std::vector<CutoverVariant> cutover_sensitivity(const CutoverConfig& config,
                                                const PartsCatalogue& parts,
                                                const ForEach& for_each) {
  std::vector<CutoverVariant> out;
  const auto add = [&](const std::string& name, const CutoverConfig& variant) {
    out.push_back({name, run_cutover(variant, parts, for_each)});
  };
  CutoverConfig variant = config;
  variant.latency_factor = 2;
  add("switches twice as slow to answer", variant);
  variant = config;
  variant.oversubscription = 2;
  add("leaves oversubscribed 2:1", variant);
  if (!config.sharp || !config.environment.get("NCCL_COLLNET_ENABLE")) {
    variant = config;
    variant.sharp = true;
    variant.environment.set("NCCL_COLLNET_ENABLE", "1");
    add("SHARP", variant);
  }
  const Cluster cluster = load_cluster({config.topology, 1, {}}, parts);
  const NodeGraph& node = cluster.node();
  if (node.nics().size() > 1 && !config.environment.get("NCCL_IB_HCA")) {
    NodeChanges half;
    half.nics = static_cast<int>(node.nics().size() + 1) / 2;
    variant = config;
    variant.topology = with_changes(config.topology, half);
    add(fmt::format("{} of {} NICs", half.nics, node.nics().size()), variant);
  }
  return out;
}

}  // namespace fabricast
