#include "models/studies/judge/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/io/bands/band_key.hpp"
#include "models/nccl/call/launch.hpp"
#include "models/nccl/run/job_size.hpp"
#include "models/nccl/run/period.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/shared/call_times.hpp"
#include "models/studies/shared/site.hpp"
#include "text/enum_words.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

FoundBand assumed_band() { return {0.8, 1.25, Known::nothing, 0, "assumed"}; }

/// A cluster as somebody has it, and NCCL on it.
struct Loaded {
  Cluster cluster;
  Communicator communicator;
};

class Expecter {
 public:
  Expecter(const JudgeConfig& config, const PartsCatalogue& parts, const BandTable& bands,
           const ForEach& for_each)
      : config_(config),
        parts_(parts),
        bands_(bands),
        for_each_(for_each),
        element_bytes_(datatype_bytes(config.datatype)) {}

  ExpectedRows run() {
    const Loaded healthy = load({}, config_.nodes);
    out_.nodes = healthy.cluster.hosts();
    out_.ranks = healthy.communicator.ranks;
    if (config_.root >= out_.ranks)
      throw Error(fmt::format("root {} is not a rank: there are {}", config_.root, out_.ranks));
    if (out_.ranks / healthy.communicator.hosts % config_.gpus_per_process != 0)
      throw Error(
          fmt::format("{} GPUs per process (-t times -g) do not divide the {} GPUs used of "
                      "each node",
                      config_.gpus_per_process, out_.ranks / healthy.communicator.hosts));
    out_.notes = healthy.communicator.warnings;
    network_ = healthy.communicator.network.kind;
    if (healthy.cluster.nodes() > 1) {
      if (const std::string line = line_against(config_.network, network_); !line.empty())
        out_.notes.push_back(fmt::format("{} has {}, not what the log says in {}", config_.topology,
                                         to_text(network_), line));
    }
    for (Suspect& cause : suspects(healthy.cluster)) out_.causes.push_back({std::move(cause), {}});
    if (config_.suspected == Suspected::causes) {
      for (Suspect& less : without_logged()) out_.causes.push_back({std::move(less), {}});
    }
    choose(healthy);
    const int nodes = cause_nodes(healthy);
    simulate_all(nodes);
    if (nodes < out_.nodes) scale(healthy, nodes);
    return std::move(out_);
  }

 private:
  std::vector<Suspect> suspects(const Cluster& cluster) const {
    const SuspectedRun run{config_.collective, config_.environment, config_.version,
                           config_.release_said, config_.sharp};
    switch (config_.suspected) {
      case Suspected::causes:
        return possible_causes(cluster, run);
      case Suspected::faults:
        return acceptance_faults(cluster, run);
      case Suspected::nothing:
        break;
    }
    return {{"", "as described", ""}};
  }

  /// The run without the settings of the log that act, then with one of them alone: a setting may
  /// hide behind another one that costs more.
  std::vector<Suspect> without_logged() const {
    std::vector<std::string> names;
    for (const std::string& name : config_.logged_settings)
      if (std::ranges::find(acting_variables(), name) != acting_variables().end())
        names.push_back(name);
    std::vector<Suspect> out;
    if (names.empty()) return out;
    out.emplace_back().name = "without the log's settings";
    out.back().unset = names;
    for (std::size_t i = 0; names.size() > 1 && i < names.size(); ++i) {
      out.emplace_back().name = names[i];
      out.back().unset = names;
      std::erase(out.back().unset, names[i]);
    }
    return out;
  }

  Loaded load(const Suspect& cause, int nodes) const {
    Job job = config_;
    for (const std::string& name : cause.unset) job.environment.unset(name);
    for (const auto& [name, value] : cause.environment) job.environment.set(name, value);
    job.version = cause.release.value_or(config_.version);
    PartsCatalogue other;
    if (cause.network) other = with_network(cause, load_cluster(job, nodes, parts_).node(), parts_);
    Site site = load_site(job, nodes, cause.network ? other : parts_);
    Communicator communicator = site.make();
    apply_hardware(cause, site.cluster);
    return {std::move(site.cluster), std::move(communicator)};
  }

  DecidedCall decide(const Loaded& place, Bytes size) const {
    const std::int64_t count =
        printed_count(config_.collective, size, element_bytes_, place.communicator.ranks);
    if (count == 0)
      throw Error(
          fmt::format("{} B over {} ranks is no whole element: is this the right --topology "
                      "and --nodes?",
                      size.count, place.communicator.ranks));
    DecidedCall call =
        decide_call(place.communicator, {config_.collective, count, element_bytes_, config_.root});
    call.run.launches_in_a_row = config_.launches_in_a_row;
    return call;
  }

  void choose(const Loaded& healthy) {
    for (const JudgedRow& row : config_.rows) {
      const DecidedCall call = decide(healthy, row.size);
      JudgeRow& out = out_.rows.emplace_back();
      out.size = row.size;
      out.algorithm = is_tuned(config_.collective) ? to_text(call.run.algorithm) : "none";
      out.protocol = to_text(call.run.protocol);
      out.channels = working_channels(call.run);
    }
  }

  /// The band on the network that NCCL takes there.
  FoundBand band_of(const Loaded& place, Bytes size, bool by_launches = false) const {
    BandKey key = band_key(place.cluster.node(), place.cluster.nodes(), config_.collective, size);
    if (key.network != "none") key.network = to_text(place.communicator.network.kind);
    key.by_launches = by_launches;
    return find_band(bands_, key).value_or(assumed_band());
  }

  FoundBand band_of(const Loaded& place, const JudgeRow& row) const {
    const Duration host = host_time(decide(place, row.size).run, place.cluster, parts_.software);
    FoundBand out =
        band_of(place, row.size, decided_by_launches(microseconds_of(host), row.expected_us));
    if (config_.healthy_share) out.upper = slow_limit(out, *config_.healthy_share);
    return out;
  }

  /// A cause's times are no better known than where no run was measured.
  RowLimits limits_of(const Loaded& place, Bytes size) const {
    const FoundBand band = band_of(place, size), assumed = assumed_band();
    return {std::min(band.lower, assumed.lower), std::max(band.upper, assumed.upper)};
  }

  double time_us(const Loaded& place, Bytes size) const {
    return microseconds_of(time_in_a_row(place.cluster, parts_.software, decide(place, size).run));
  }

  /// Of the machine as described, and which link is busiest.
  double time_us(const Loaded& place, JudgeRow& row) const {
    const CollectiveRun run = decide(place, row.size).run;
    const Symmetry symmetry = find_symmetry(place.cluster, run);
    SimulationOptions options;
    options.fold = options.fast_forward = true;
    const SimulationResult alone = simulate(place.cluster, parts_.software, run, symmetry, options);
    if (!alone.links.empty()) {
      row.busiest = of_any_node(place.cluster.link_name(alone.links.front().link));
      row.utilisation = alone.links.front().utilisation;
    }
    return microseconds_of(
        period_of(place.cluster, parts_.software, run, symmetry, alone, options));
  }

  /// Without the node that the name begins with.
  static std::string of_any_node(const std::string& link) {
    const std::size_t colon = link.find(": ");
    return colon < link.find(" -> ") ? link.substr(colon + 2) : link;
  }

  /// Slices of the largest row, of all ranks: a cause may leave nothing to fold.
  std::uint64_t slices(const Loaded& place) const {
    std::uint64_t out = 0;
    for (const JudgeRow& row : out_.rows) {
      const CollectiveRun run = decide(place, row.size).run;
      const Symmetry symmetry = find_symmetry(place.cluster, run);
      out = std::max(out, job_size(place.cluster, parts_.software, run, symmetry).slices);
    }
    return out;
  }

  /// The most nodes on which causes can be simulated: all, or half of them, or less.
  int cause_nodes(const Loaded& healthy) const {
    int nodes = out_.nodes;
    if (config_.suspected != Suspected::causes) return nodes;
    std::optional<Loaded> fewer;
    while (nodes > 2 && slices(fewer ? *fewer : healthy) > kCauseSlicesMax) {
      try {
        fewer.emplace(load({}, nodes / 2));
      } catch (const Error&) {  // half of an NVLink domain is no machine
        break;
      }
      nodes /= 2;
    }
    return nodes;
  }

  /// Every cause on every row.
  void simulate_all(int nodes) {
    std::vector<std::optional<Loaded>> places;
    for (SimulatedSuspect& simulated : out_.causes) {
      places.emplace_back();
      try {
        places.back().emplace(load(simulated.cause, nodes < out_.nodes ? nodes : config_.nodes));
        if (const NetKind kind = places.back()->communicator.network.kind;
            kind != network_ && simulated.cause.unset.empty())
          simulated.ruled_out = line_against(config_.network, kind);
        if (!simulated.ruled_out.empty()) {
          places.back().reset();
          continue;
        }
        simulated.times_us.resize(out_.rows.size());
        for (const JudgeRow& row : out_.rows)
          simulated.limits.push_back(limits_of(*places.back(), row.size));
      } catch (const Error& error) {
        if (&simulated == &out_.causes.front()) throw;
        simulated.refused = error.reason();
      }
    }
    simulate_as_described(*places.front());
    for (std::uint64_t most = kCauseSlices; most <= kCauseSlicesMax; most *= 2)
      simulate_causes(places, most);
    refuse_what_has_no_time();
  }

  void simulate_as_described(const Loaded& place) {
    SimulatedSuspect& healthy = out_.causes.front();
    std::vector<std::optional<Error>> refused(out_.rows.size());
    for_each_(out_.rows.size(), [&](std::size_t row) {
      try {
        healthy.times_us[row] = time_us(place, out_.rows[row]);
      } catch (const Error& error) {
        refused[row] = error;
      }
    });
    for (const std::optional<Error>& why : refused)
      if (why) throw *why;
    for (std::size_t i = 0; i < out_.rows.size(); ++i) {
      JudgeRow& row = out_.rows[i];
      row.expected_us = healthy.times_us[i];
      row.band = band_of(place, row);
    }
  }

  /// The call of a row under a cause, or one of another size with all that NCCL chose for the row.
  std::size_t number_of(CallTimes& times, const Loaded& place, std::size_t cause, std::size_t row,
                        Bytes size) {
    const auto [found, fresh] = numbers_.try_emplace({cause, row, size.count});
    if (fresh) {
      CollectiveRun run = decide(place, out_.rows[row].size).run;
      run.count = printed_count(config_.collective, size, element_bytes_, place.communicator.ranks);
      apply_to_run(out_.causes[cause].cause, place.cluster, run);
      found->second = times.add(place.cluster, std::move(run));
    }
    return found->second;
  }

  /// Rows under causes that have no time yet, and of which no more is simulated than `most`.
  void simulate_causes(const std::vector<std::optional<Loaded>>& places, std::uint64_t most) {
    numbers_.clear();
    CallTimes times(parts_.software, most, for_each_);
    const auto each = [&](const auto& take) {
      for (std::size_t cause = 1; cause < places.size(); ++cause) {
        SimulatedSuspect& simulated = out_.causes[cause];
        for (std::size_t row = 0; row < out_.rows.size(); ++row) {
          if (!places[cause] || !simulated.refused.empty() || simulated.times_us[row] > 0) continue;
          try {
            take(*places[cause], cause, row);
          } catch (const Error& error) {
            simulated.refused = error.reason();
          }
        }
      }
    };
    each([&](const Loaded& place, std::size_t cause, std::size_t row) {
      number_of(times, place, cause, row, out_.rows[row].size);
    });
    times.look_at_all();
    std::vector<TimeRecipe> recipes(places.size() * out_.rows.size());
    std::vector<const TimeRecipe*> wanted;
    each([&](const Loaded& place, std::size_t cause, std::size_t row) {
      TimeRecipe& recipe = recipes[cause * out_.rows.size() + row];
      recipe = times.recipe({out_.nodes, out_.rows[row].size},
                            [&](const CallAt& at) -> std::optional<std::size_t> {
                              if (at.nodes != out_.nodes) return std::nullopt;
                              return number_of(times, place, cause, row, at.size);
                            });
      wanted.push_back(&recipe);
    });
    times.simulate(wanted);
    each([&](const Loaded&, std::size_t cause, std::size_t row) {
      const TimeRecipe& recipe = recipes[cause * out_.rows.size() + row];
      if (recipe.exists()) out_.causes[cause].times_us[row] = times.time_us(recipe);
    });
  }

  void refuse_what_has_no_time() {
    for (SimulatedSuspect& simulated : out_.causes)
      if (std::ranges::any_of(simulated.times_us, [](double us) { return us <= 0; }) &&
          simulated.refused.empty())
        simulated.refused = "too large to simulate";
  }

  /// Above the number of nodes that a cause is simulated on, it is assumed to slow the run by the
  /// ratio found there.
  void scale(const Loaded& place, int nodes) {
    std::vector<double> whole(out_.rows.size());
    for_each_(whole.size(),
              [&](std::size_t row) { whole[row] = time_us(place, out_.rows[row].size); });
    for (SimulatedSuspect& simulated : out_.causes) {
      for (std::size_t row = 0; row < simulated.times_us.size(); ++row)
        simulated.times_us[row] *= whole[row] / out_.rows[row].expected_us;
    }
    for (std::size_t row = 0; row < whole.size(); ++row) out_.rows[row].expected_us = whole[row];
    out_.notes.push_back(
        fmt::format("causes are simulated on {} of {} nodes: their ratio to what is "
                    "expected there is taken",
                    nodes, out_.nodes));
  }

  const JudgeConfig& config_;
  const PartsCatalogue& parts_;
  const BandTable& bands_;
  const ForEach& for_each_;
  int element_bytes_;
  NetKind network_{};  ///< of the machine as described
  ExpectedRows out_;
  /// By cause, row and bytes.
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t>, std::size_t> numbers_;
};

RowVerdict verdict_of(const JudgeRow& row) {
  const double ratio = row.measured_us / row.expected_us;
  if (ratio > row.band.upper) return RowVerdict::below;
  return ratio < row.band.lower ? RowVerdict::above : RowVerdict::within;
}

bool is_simulated(const SimulatedSuspect& simulated) {
  return simulated.refused.empty() && simulated.ruled_out.empty();
}

/// The row that the settings of the log slow down most, and by how much.
struct LoggedCost {
  std::size_t row = 0;
  double ratio = 1;
};

LoggedCost cost_of(const std::vector<double>& with, const std::vector<double>& without) {
  LoggedCost out;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const double ratio = with[i] / without[i];
    if (!is_same_time(with[i], without[i]) && ratio > out.ratio) out = {i, ratio};
  }
  return out;
}

/// What the settings of the log cost, where they do: which, and a note.
void tell_logged_costs(JudgeResult& result) {
  const SimulatedSuspect* free = nullptr;
  std::vector<const SimulatedSuspect*> alone;
  for (const SimulatedSuspect& simulated : result.causes) {
    if (simulated.cause.unset.empty() || !is_simulated(simulated)) continue;
    if (free == nullptr) {
      free = &simulated;
    } else {
      alone.push_back(&simulated);
    }
  }
  if (free == nullptr) return;
  const std::vector<double>& described = result.causes.front().times_us;
  const LoggedCost cost = cost_of(described, free->times_us);
  if (cost.ratio <= 1) return;
  for (const std::string& name : free->cause.unset) {
    const auto only = std::ranges::find(alone, name, [](const auto* s) { return s->cause.name; });
    const bool costs = alone.empty() || only == alone.end() ||
                       cost_of((*only)->times_us, free->times_us).ratio > 1;
    const auto value = result.config.environment.get(name);
    if (costs) result.costly_settings.push_back(fmt::format("{}={}", name, value.value_or("")));
  }
  const JudgeRow& row = result.rows[cost.row];
  result.notes.push_back(
      fmt::format("without {} of the log {:.2f} GB/s instead of {:.2f} would be expected at {}",
                  fmt::join(result.costly_settings, " and "),
                  busbw_of(result, row.size, free->times_us[cost.row]),
                  busbw_of(result, row.size, row.expected_us), to_text(row.size)));
}

JudgeVerdict verdict_of_times(const JudgeResult& result) {
  const std::size_t rows = result.rows.size(), within = result.count(RowVerdict::within);
  if (is_few(result.count(RowVerdict::below), rows))
    return is_explained(within, rows) ? JudgeVerdict::as_expected : JudgeVerdict::faster;
  if (result.ranking.empty()) return JudgeVerdict::unexplained;
  const std::size_t explained = rows - result.ranking.front().fits.front().outside;
  return explained > within && is_explained(explained, rows) ? JudgeVerdict::explained
                                                             : JudgeVerdict::unexplained;
}

/// How far measured times may be off those of a cause that explains them. Where it changes nothing,
/// the band of the row counts: it explains no more there than the machine as described.
std::vector<RowLimits> limits_of(const SimulatedSuspect& cause, const std::vector<JudgeRow>& rows) {
  std::vector<RowLimits> out = cause.limits;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double share = rows[i].expected_us / cause.times_us[i];
    if (is_same_time(rows[i].expected_us, cause.times_us[i]))
      out[i] = {rows[i].band.lower * share, rows[i].band.upper * share};
  }
  return out;
}

}  // namespace

std::string_view to_text(RowVerdict verdict) {
  return enum_words<RowVerdict>("within", "below", "above")[verdict];
}

std::string_view to_text(JudgeVerdict verdict) {
  return enum_words<JudgeVerdict>("as expected", "faster than expected", "slower, explained",
                                  "slower, unexplained", "wrong values", "the run failed")[verdict];
}

std::size_t JudgeResult::count(RowVerdict wanted) const {
  return static_cast<std::size_t>(std::ranges::count(rows, wanted, &JudgeRow::verdict));
}

double busbw_of(const JudgeResult& result, Bytes size, double time_us) {
  return busbw_GBps(result.config.collective, result.ranks, size,
                    Duration{static_cast<std::int64_t>(time_us * 1e6)});
}

bool passes(JudgeVerdict verdict) {
  return verdict == JudgeVerdict::as_expected || verdict == JudgeVerdict::faster;
}

bool is_of_log(JudgeVerdict verdict) {
  return verdict == JudgeVerdict::wrong_values || verdict == JudgeVerdict::run_failed;
}

bool is_few(std::size_t rows, std::size_t of) { return 10 * rows <= of; }

bool is_explained(std::size_t explained, std::size_t rows) { return 10 * explained >= 8 * rows; }

ExpectedRows expect_rows(const JudgeConfig& config, const PartsCatalogue& parts,
                         const BandTable& bands, const ForEach& for_each) {
  return Expecter(config, parts, bands, for_each).run();
}

JudgeResult judge_rows(const JudgeConfig& config, ExpectedRows expectation) {
  JudgeResult out;
  out.config = config;
  out.nodes = expectation.nodes;
  out.ranks = expectation.ranks;
  out.rows = std::move(expectation.rows);
  out.causes = std::move(expectation.causes);
  out.notes = config.notes;
  out.notes.insert(out.notes.end(), expectation.notes.begin(), expectation.notes.end());
  std::vector<double> measured;
  std::vector<std::vector<RowLimits>> limits;
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    JudgeRow& row = out.rows[i];
    row.measured_us = config.rows[i].measured_us;
    row.verdict = verdict_of(row);
    measured.push_back(row.measured_us);
  }
  std::vector<std::vector<double>> predicted;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 1; i < out.causes.size(); ++i) {
    const SimulatedSuspect& cause = out.causes[i];
    if (!is_simulated(cause) || !cause.cause.unset.empty()) continue;
    if (same_everywhere(out.causes.front().times_us, cause.times_us)) {
      out.unseen.push_back(i);
      continue;
    }
    predicted.push_back(cause.times_us);
    limits.push_back(limits_of(cause, out.rows));
    numbers.push_back(i);
  }
  out.ranking = rank_predictions(measured, predicted, limits);
  for (FitGroup& group : out.ranking) {
    for (FitOfPrediction& fit : group.fits) fit.which = numbers[fit.which];
  }
  out.of_times = verdict_of_times(out);
  tell_logged_costs(out);
  out.verdict = config.run_failed     ? JudgeVerdict::run_failed
                : config.wrong_values ? JudgeVerdict::wrong_values
                                      : out.of_times;
  return out;
}

}  // namespace fabricast
