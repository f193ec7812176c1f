#include "models/studies/cutover/cutover.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "models/engines/engine_run.hpp"
#include "models/hardware/cluster/nvls_rates.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "models/nccl/communicator/custom_call.hpp"
#include "models/nccl/registered/registered_question.hpp"
#include "models/nccl/run/period.hpp"
#include "models/studies/bench/bench_call.hpp"
#include "models/studies/decide/decide.hpp"
#include "models/studies/shared/call_times.hpp"
#include "models/studies/shared/site.hpp"
#include "sim/base/add_once.hpp"
#include "sim/base/scaled.hpp"

namespace fabricast {

namespace {

constexpr double kBisected = 1.02;  ///< how near the ends of a bisection come, as a ratio
/// Of a cell's size: a power of two, so that sizes in between divide among channels as well.
constexpr std::int64_t kParts = 64;
/// Sizes that a bisection asks for, about, with both contenders.
constexpr std::uint64_t kProbes = 4;
constexpr std::string_view kNvlsName = "NVLS";
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A number of nodes: what is simulated on it.
struct Loaded {
  Cluster cluster;
  Communicator communicator;
};

/// The same fabric with what the config changes about it.
Cluster changed(const Cluster& cluster, const CutoverConfig& config) {
  FabricConfig fabric = cluster.fabric();
  if (config.oversubscription > 0) fabric.oversubscription = config.oversubscription;
  for (FabricSwitchPart* const part : {&fabric.leaf, &fabric.spine, &fabric.core})
    part->latency = scaled(part->latency, config.latency_factor);
  return Cluster(cluster.node(), cluster.nodes(), std::move(fabric));
}

class Study {
 public:
  Study(const CutoverConfig& config, const PartsCatalogue& parts, const ForEach& for_each)
      : parts_(parts),
        in_place_(in_place(parts.software)),
        for_each_(for_each),
        times_(parts.software, static_cast<std::uint64_t>(config.slices_max), for_each) {
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
    if (!config().engines.empty() && config().collective != Collective::all_reduce)
      throw Error(fmt::format("engines have kernels of their own for all_reduce only, not for {}",
                              to_text(config().collective)),
                  "leave --engine out, or ask for --collective all_reduce");
    if (config().registered) check_registration(config().registered->asked, config().version);
    std::vector<int> nodes = config().nodes;
    if (nodes.empty()) nodes = {0};
    const Topology topology = topology_of(config(), parts_);
    for (const int n : nodes) add_place(topology, n);
    check_custom();
    for (std::size_t i = 0; i < places_.size(); ++i) add_column(i);
    if (const auto& last = result_.columns.back().cells.back(); contenders().empty() && last)
      decide_call(places_.back().communicator, call_of(last->count));  // says why NCCL refuses it
    simulate_cells();
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

  Bytes exact_size(const Loaded& place, std::int64_t count) const {
    return message_size(config().collective, count, kFloatBytes, place.communicator.ranks);
  }

  TunerDecision decision_of(const Loaded& place, std::int64_t count) const {
    return decide(place.communicator.model, config().collective, exact_size(place, count),
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
      cell->size = exact_size(place, count);
      const TunerDecision decision = decision_of(place, count);
      for (const Candidate& candidate : decision.candidates) {
        if (candidate.excluded.empty()) number_of({candidate.algorithm, candidate.protocol});
      }
      if (decision.algorithm) cell->chosen = number_of({*decision.algorithm, decision.protocol});
      if (auto row = decide_row(place.communicator, config().collective, size))
        rows.push_back(std::move(*row));
    }
    for (const CallingEngine& engine : config().engines)
      number_of({Algorithm::ring, Protocol::ll, nullptr, engine.release, {}});
    if (config().registered)
      number_of({Algorithm::ring, Protocol::ll, nullptr, {}, config().registered->asked});
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
    std::optional<DecidedCall> out = stream_call_as(place, count, contender);
    if (out && !config().engines.empty()) out->run.launches_in_a_row = 0;  // a CUDA graph, too
    return out;
  }

  std::optional<DecidedCall> stream_call_as(const Loaded& place, std::int64_t count,
                                            std::size_t contender) const {
    const Contender& wanted = contenders()[contender];
    if (wanted.engine) return std::nullopt;
    if (wanted.registered != Registration::none) return registered_call(place, count);
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

  /// One kernel on all GPUs, of an engine or for registered buffers: no call of NCCL's machine.
  bool is_kernel(const Loaded& place, std::size_t contender) const {
    const Contender& one = contenders()[contender];
    return one.engine || (one.registered != Registration::none && place.cluster.nodes() == 1);
  }

  /// Its time; nothing where the contender is none, or the call is left to NCCL's plain ones.
  std::optional<CutoverTime> kernel_time(const Loaded& place, Bytes size,
                                         std::size_t contender) const {
    if (!is_kernel(place, contender)) return std::nullopt;
    return contenders()[contender].engine ? engine_time(place, size, contender)
                                          : registered_time(place, size);
  }

  /// What NCCL does with registered buffers, where it is another time than that of plain ones.
  /// `decision`: that of plain buffers.
  std::optional<RegisteredChoice> registered_choice(const Loaded& place, std::int64_t count,
                                                    const TunerDecision& decision) const {
    RegisteredChoice choice = choose_registered(
        question_of(place.communicator, config().registered->asked, config().collective,
                    exact_size(place, count), &place.cluster, &decision),
        config().environment);
    if (!choice.replaces() || !choice.untimed.empty()) return std::nullopt;
    return choice;
  }

  /// On one node.
  std::optional<CutoverTime> registered_time(const Loaded& place, Bytes size) const {
    const std::int64_t count = count_of(place, size);
    if (count == 0) return std::nullopt;
    const auto choice = registered_choice(place, count, decision_of(place, count));
    if (!choice) return std::nullopt;
    const RegisteredCall call{*choice, config().collective, exact_size(place, count), 0,
                              config().engines.empty() ? 1 : 0};
    const Duration time = simulate_registered(place.cluster, members_called(place.communicator),
                                              config().registered->costs, parts_.software, call)
                              .time;
    return CutoverTime{microseconds_of(time), false, name_of(*choice)};
  }

  /// On several nodes: NCCL's plain call, in place.
  std::optional<DecidedCall> registered_call(const Loaded& place, std::int64_t count) const {
    if (place.cluster.nodes() == 1 || count == 0) return std::nullopt;
    DecidedCall out = decide_call(place.communicator, call_of(count));
    const auto choice = registered_choice(place, count, out.decision);
    if (!choice) return std::nullopt;
    out.run = in_place_run(std::move(out.run), *choice);
    return out;
  }

  /// A call of NCCL's machine for registered buffers is in place: registered_call().
  bool is_in_place(std::size_t contender) const {
    return contenders()[contender].registered != Registration::none;
  }
  const SoftwareCosts& software_of(std::size_t contender) const {
    return is_in_place(contender) ? in_place_ : parts_.software;
  }

  static std::string_view name_of(const RegisteredChoice& choice) {
    if (choice.path == RegisteredPath::symmetric) return kSymmetricKernelWords[choice.kernel];
    return choice.path == RegisteredPath::nvls ? kNvlsName : "CopyEngine";
  }

  /// Nothing where it is no engine, or leaves the call to NCCL.
  std::optional<CutoverTime> engine_time(const Loaded& place, Bytes size,
                                         std::size_t contender) const {
    const Contender& wanted = contenders()[contender];
    const CallingEngine& engine =
        *std::ranges::find(config().engines, *wanted.engine, &CallingEngine::release);
    const Members members = members_called(place.communicator);
    constexpr int kBfloat16 = 2;
    constexpr std::int64_t kVector = 16;
    size.count = (size.count + kVector - 1) / kVector * kVector;
    const EngineKernel kernel =
        choose_kernel(question_of(engine.release, place.cluster, members, size, true, kBfloat16))
            .kernel;
    if (kernel == EngineKernel::nccl) return std::nullopt;
    const Duration time =
        simulate_engine(place.cluster, members, engine.costs, {engine.release, kernel, size, true})
            .time;
    return CutoverTime{microseconds_of(time), false, kEngineKernelWords[kernel]};
  }

  std::size_t number_of_column(const CutoverColumn& column) const {
    return static_cast<std::size_t>(&column - result_.columns.data());
  }

  double simulated_us(const Loaded& place, const CollectiveRun& run,
                      const SoftwareCosts& software) const {
    return microseconds_of(time_in_a_row(place.cluster, software, run));
  }

  /// Of the contender's call there; nothing where there is none.
  std::optional<std::size_t> number_at(std::size_t contender, const CallAt& at) {
    const auto there = std::ranges::find(result_.columns, at.nodes, &CutoverColumn::nodes);
    if (there == result_.columns.end()) return std::nullopt;
    const Loaded& place = places_[static_cast<std::size_t>(there - result_.columns.begin())];
    const std::int64_t count = count_of(place, at.size);
    if (count == 0) return std::nullopt;
    const auto [number, is_new] = numbers_.try_emplace({at.nodes, contender, count});
    if (is_new)
      if (auto call = call_as(place, count, contender))
        number->second = times_.add(place.cluster, std::move(call->run), &software_of(contender));
    return number->second;
  }

  void simulate_cells() {
    std::vector<CallTimes::Asked> all;
    struct Slot {
      std::optional<CutoverTime>* time;
      std::string_view kernel;  ///< of registered buffers of several nodes
    };
    std::vector<Slot> slots;  ///< of `all`
    for (CutoverColumn& column : result_.columns) {
      for (auto& cell : column.cells) {
        if (!cell) continue;
        cell->times.resize(contenders().size());
        for (std::size_t contender = 0; contender < contenders().size(); ++contender) {
          const CallAt at{column.nodes, cell->size};
          cell->times[contender] =
              kernel_time(places_[number_of_column(column)], cell->size, contender);
          if (!number_at(contender, at)) continue;
          all.push_back(
              {at, [this, contender](const CallAt& there) { return number_at(contender, there); }});
          slots.push_back({&cell->times[contender], is_in_place(contender) ? kNvlsName : ""});
        }
      }
    }
    times_.look_at_all();
    const auto whole = times_.slices_max();
    const std::optional<std::uint64_t> budget = slices_within();
    const std::vector<TimeRecipe> recipes =
        times_.recipes(all, budget ? std::optional(*budget / 2) : std::nullopt);
    if (times_.slices_max() < whole)
      note(
          fmt::format("All of it takes more than --budget: calls of more than {} slices are "
                      "extrapolated (~). --exact simulates them.",
                      times_.slices_max()));
    std::vector<const TimeRecipe*> pointers;
    for (const TimeRecipe& recipe : recipes) pointers.push_back(&recipe);
    times_.simulate(pointers);
    for (std::size_t i = 0; i < recipes.size(); ++i)
      if (recipes[i].exists())
        *slots[i].time = {times_.time_us(recipes[i]), !recipes[i].is_simulated(), slots[i].kernel};
  }

  std::optional<std::uint64_t> slices_within() const {
    return config().budget ? std::optional(events_within(*config().budget)) : std::nullopt;
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

  struct Change {
    std::size_t column, cell;  ///< the last cell before it
    Cutover found;
    bool is_on_lines = false;  ///< nothing is simulated between the cells
  };

  /// What is left of the budget is for the cutovers that take least.
  void spare_dearest(std::vector<Change>& changes) {
    const std::optional<std::uint64_t> budget = slices_within();
    if (!budget) return;
    std::vector<std::pair<std::uint64_t, Change*>> order;
    for (Change& change : changes) {
      std::uint64_t both_ends = 0;
      const CutoverColumn& column = result_.columns[change.column];
      for (const std::size_t contender : {change.found.from, change.found.to})
        for (const std::size_t cell : {change.cell, change.cell + 1})
          if (const auto number = number_at(contender, {column.nodes, column.cells[cell]->size}))
            both_ends += times_.slices_of(*number);
      order.emplace_back(kProbes * both_ends / 2, &change);
    }
    std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
    std::uint64_t left = *budget - std::min(*budget, times_.slices());
    int spared = 0;
    for (const auto& [takes, change] : order) {
      change->is_on_lines = takes > left;
      spared += change->is_on_lines;
      if (!change->is_on_lines) left -= takes;
    }
    if (spared > 0)
      note(
          fmt::format("Of the cutovers {} lie where lines between two sizes cross: to simulate "
                      "between them takes more than --budget. --exact does.",
                      spared));
  }

  void find_cutovers() {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < result_.columns.size(); ++i) {
      const auto& cells = result_.columns[i].cells;
      for (std::size_t k = 0; k + 1 < cells.size(); ++k) {
        if (!cells[k] || !cells[k + 1] || !cells[k]->fastest || !cells[k + 1]->fastest) continue;
        if (cells[k]->fastest == cells[k + 1]->fastest) continue;
        changes.push_back({i, k, {*cells[k]->fastest, *cells[k + 1]->fastest, {}, {}, {}}});
      }
    }
    spare_dearest(changes);
    for_each_(changes.size(), [&](std::size_t i) { bisect(changes[i]); });
    for (const Change& change : changes)
      result_.columns[change.column].fastest.push_back(change.found);
  }

  /// Between two neighbouring cells: where `to` overtakes `from`. Asked are sizes in whole parts of
  /// the smaller cell, which fold as cells do; the first where the line between the cells says.
  void bisect(Change& change) const {
    const std::size_t index = change.column, cell = change.cell;
    Cutover& cutover = change.found;
    const CutoverColumn& column = result_.columns[index];
    const CutoverCell &before = *column.cells[cell], &after = *column.cells[cell + 1];
    const Bytes part{std::max<std::int64_t>(before.size.count / kParts, 1)};
    const auto is_before = [&](Bytes size) {
      return time_at(change, cutover.from, size) <= time_at(change, cutover.to, size);
    };
    Bytes low = before.size, high = after.size;
    Bytes next = where_lines_cross(before, after, cutover);
    for (std::int64_t reach = part.count, apart; is_wide(low, high, part);
         reach = std::min(4 * reach, apart)) {
      next = inside(low, high, part, next);
      const bool still = is_before(next);
      (still ? low : high) = next;
      apart = high.count - low.count;
      const bool halve = reach >= apart / 2;  // no crossing near where the lines say
      next.count = halve ? low.count + apart / 2 : next.count + (still ? reach : -reach);
    }
    cutover.size = high;
    cutover.first = near_until(column, cell, cutover, -1);
    cutover.last = near_until(column, cell, cutover, +1);
  }

  static bool is_wide(Bytes low, Bytes high, Bytes part) {
    return static_cast<double>(high.count) > kBisected * static_cast<double>(low.count) &&
           high - low > part;
  }

  /// A size between the two, of whole parts above the smaller one: near `wanted`.
  static Bytes inside(Bytes low, Bytes high, Bytes part, Bytes wanted) {
    const std::int64_t most = (high.count - low.count - 1) / part.count;
    const std::int64_t parts = (wanted.count - low.count + part.count / 2) / part.count;
    return {low.count + std::clamp<std::int64_t>(parts, 1, most) * part.count};
  }

  /// As if times were on lines between the cells.
  static Bytes where_lines_cross(const CutoverCell& before, const CutoverCell& after,
                                 const Cutover& cutover) {
    const auto ahead = [&](const CutoverCell& cell) {
      const auto &from = cell.times[cutover.from], &to = cell.times[cutover.to];
      return from && to ? to->time_us - from->time_us : 0;
    };
    const double least = ahead(before), last = ahead(after);
    const double share = least > 0 && last < 0 ? least / (least - last) : 0.5;
    const auto apart = static_cast<double>(after.size.count - before.size.count);
    return {before.size.count + std::llround(share * apart)};
  }

  /// Simulated where the cells on both sides are; else on the line between them.
  double time_at(const Change& change, std::size_t contender, Bytes size) const {
    const std::size_t index = change.column, cell = change.cell;
    const Loaded& place = places_[index];
    if (is_kernel(place, contender)) {
      const std::optional<CutoverTime> time = kernel_time(place, size, contender);
      return time ? time->time_us : kNever;
    }
    const std::int64_t count = count_of(place, size);
    const auto call = count > 0 ? call_as(place, count, contender) : std::nullopt;
    if (!call) return kNever;
    const CutoverCell &before = *result_.columns[index].cells[cell],
                      &after = *result_.columns[index].cells[cell + 1];
    const auto &t0 = before.times[contender], &t1 = after.times[contender];
    const bool simulate_it =
        !change.is_on_lines && (!t0 || !t0->extrapolated) && (!t1 || !t1->extrapolated);
    if (simulate_it) return simulated_us(place, call->run, software_of(contender));
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
  SoftwareCosts in_place_;
  const ForEach& for_each_;
  std::vector<Loaded> places_;
  CallTimes times_;
  /// By nodes, contender and count; none where NCCL does not have it.
  std::map<std::tuple<int, std::size_t, std::int64_t>, std::optional<std::size_t>> numbers_;
  CutoverResult result_;
};

}  // namespace

std::string to_text(const Contender& contender) {
  if (contender.engine) return to_text(*contender.engine);
  if (contender.registered != Registration::none)
    return fmt::format("registered (-R {})", kRegistrationWords[contender.registered]);
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
