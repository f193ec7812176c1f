#include "models/studies/advise/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "models/studies/advise/worth_trying.hpp"
#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/shared/site.hpp"
#include "models/training/step/step_parts.hpp"
#include "sim/base/add_once.hpp"
#include "text/counted.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr Bytes kMost{std::int64_t{1} << 62};
/// Gradients and gathered weights; activations of a token or a batch; flags and small tensors.
constexpr std::array<GoalWork, kGoals> kGoalWorks = {{
    {"all_reduce,all_gather,reduce_scatter", "1MiB..1GiB:x4", {1 << 20}, kMost},
    {"all_reduce", "8KiB..32MiB:x4", {0}, {64 << 20}},
    {"all_reduce", "8B..64KiB:x8", {0}, {64 << 10}},
    {"all_reduce", "64MiB..4GiB:x4", {16 << 20}, kMost},
}};

const BenchRow& bench_row(const BenchResult& result, std::size_t row) {
  std::size_t block = 0;
  for (; row >= result.blocks[block].rows.size(); ++block) row -= result.blocks[block].rows.size();
  return result.blocks[block].rows[row];
}

Work work_in(const Work& work, const Environment& environment) {
  Job setup = job_of(work);
  setup.environment = environment;
  return with_job(work, setup);
}

/// Whether each call takes the algorithm that is asked for. Where it cannot, some releases take
/// another one without a word: no way to ask for that one.
bool takes_algorithm(const WorkRun& run, const Environment& environment) {
  const auto wanted = algorithm_from_text(environment.get("NCCL_ALGO").value_or(""));
  if (!wanted || !run.bench) return true;
  for (const BenchBlock& block : run.bench->blocks) {
    for (const BenchRow& row : block.rows)
      if (is_tuned(row.collective) && row.decided.run.algorithm != *wanted) return false;
  }
  return true;
}

/// Nothing where NCCL refuses to work so.
std::optional<WorkRun> try_work(const Work& work, const PartsCatalogue& parts, KnownCalls& known) {
  try {
    return run_work(work, parts, false, known);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What NCCL would choose if `environment` forced no more than `start` does. Nothing: that is what
/// it does.
std::optional<Environment> unforced(const Environment& environment, const Environment& start) {
  std::optional<Environment> out;
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_PAT_ENABLE"}) {
    if (!environment.get(name) || environment.get(name) == start.get(name)) continue;
    if (!out) out = environment;
    if (const auto value = start.get(name)) {
      out->set(name, std::string(*value));
    } else {
      out->unset(name);
    }
  }
  return out;
}

class Advice {
 public:
  Advice(const AdviseConfig& config, const PartsCatalogue& parts, const BandTable& bands,
         const ForEach& for_each)
      : parts_(parts), bands_(bands), for_each_(for_each) {
    result_.config = config;
  }

  AdviseResult run(const std::vector<SettingMove>& all_moves) {
    const Work& work = result_.config.work;
    const Environment& start = job_of(work).environment;
    before_ = run_work(work, parts_, false);
    rules_.counts = rows_that_count(result_.config.goal, before_);
    rules_.least = result_.config.least;
    result_.hcas = hca_list(work, parts_);
    const auto times = [this](const Environment& environment) { return times_in(environment); };
    const auto fewer = moves_worth_trying(result_.config, all_moves, before_, parts_, for_each_);
    const std::vector<SettingMove>& moves = fewer ? fewer->moves : all_moves;
    const FoundSettings found = search_settings(start, moves, times, rules_, for_each_);
    result_.tried = found.tried;
    result_.best = found.best;
    pin(start);
    explain();
    hold_back(moves, found);
    add_rows();
    add_idle();
    add_tuner();
    result_.notes = result_.config.notes;
    if (fewer) add_narrowed(*fewer, all_moves.size());
    result_.notes.insert(result_.notes.end(), after_.notes.begin(), after_.notes.end());
    add_notes();
    return std::move(result_);
  }

 private:
  Work in(const Environment& environment) const {
    return work_in(result_.config.work, environment);
  }

  RowTimes times_in(const Environment& environment) const {
    RowTimes out = row_times(result_.config.work, environment, parts_, known_);
    if (out.size() != before_.rows.size()) out.clear();  // not the same work
    return out;
  }

  void pin(const Environment& start) {
    if (!result_.config.pin_hcas) return;
    if (result_.hcas.empty())
      throw Error(option_place("--pin-hcas"), "the nodes have no HCA to name",
                  "NCCL_IB_HCA is for InfiniBand and RoCE");
    if (result_.best.get("NCCL_IB_HCA") == std::optional<std::string_view>(result_.hcas)) return;
    pinned_ = start.get("NCCL_IB_HCA") == result_.best.get("NCCL_IB_HCA");
    result_.best.set("NCCL_IB_HCA", result_.hcas);
  }

  /// Every line as `whatif` has it.
  void explain() {
    const Environment start = job_of(result_.config.work).environment;
    if (differing(start, result_.best).empty()) {
      after_ = before_;
      return;
    }
    const Work& work = result_.config.work;
    const Work best = in(result_.best);
    after_ = run_work(best, parts_, false);
    result_.whatif = is_step(work) ? run_whatif(work, best, parts_, bands_, for_each_)
                                   : run_whatif(work, best, parts_, bands_, for_each_, known_);
    for (std::size_t i = 0; i < result_.whatif->factors.size(); ++i)
      result_.lines.push_back(line(i));
  }

  AdviseLine line(std::size_t number) {
    AdviseLine out;
    out.factor = result_.whatif->factors[number];
    out.pinned = pinned_ && out.factor.name == "NCCL_IB_HCA";
    double sum = 0, most = 0;
    int rows = 0;
    const WhatifRow* helped = nullptr;  // most
    for (std::size_t r = 0; r < result_.whatif->rows.size(); ++r) {
      if (!rules_.counts[r]) continue;
      const WhatifRow& row = result_.whatif->rows[r];
      const Worth& worth = row.worths[number];
      // Where NCCL refuses the others without this one, its share of the whole counts.
      const double saved = worth.last_us.value_or(worth.shapley_us.value_or(0));
      const double gain = std::log((row.after.time_us + saved) / row.after.time_us);
      sum += gain;
      ++rows;
      if (gain <= most) continue;
      most = gain;
      helped = &row;
    }
    if (helped != nullptr) {
      out.row = helped->before.what;
      out.reason = helped->worths[number].last_us ? explained(*helped).worths[number].mechanism
                                                  : "the others are refused without it";
    }
    out.saves_most = 1 - std::exp(-most);
    out.saves = 1 - std::exp(-sum / rows);
    return out;
  }

  /// The row with mechanisms: of calls only those are explained that a line tells of.
  const WhatifRow& explained(const WhatifRow& row) {
    const auto* bench = std::get_if<BenchConfig>(&result_.config.work);
    if (bench == nullptr) return row;
    const auto [at, is_new] = explained_.try_emplace(&row);
    if (is_new) {
      BenchConfig alone = *bench;
      alone.collectives = {*row.before.collective};
      alone.nodes = {row.before.nodes};
      alone.sizes = {row.before.size};
      at->second =
          run_whatif(alone, work_in(alone, result_.best), parts_, bands_, for_each_).rows.front();
    }
    return at->second;
  }

  /// What saves `least` of some row alone and is no line: each with the reason.
  void hold_back(const std::vector<SettingMove>& moves, const FoundSettings& found) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const RowTimes& alone = found.alone[i];
      if (alone.empty() || is_advised(moves[i])) continue;
      HeldBack held{moves[i].settings, 0, 0, {}, {}};
      double sum = 0, most_counting = 0;
      for (std::size_t r = 0; r < alone.size(); ++r) {
        const double ratio = alone[r].us / found.at_start[r].us;
        if (rules_.counts[r]) {
          sum += std::log(ratio);
          most_counting = std::max(most_counting, 1 - ratio);
        }
        if (1 - ratio <= held.saves_most) continue;
        held.saves_most = 1 - ratio;
        held.row = before_.rows[r].what;
      }
      if (held.saves_most <= rules_.least) continue;
      held.saves = 1 - std::exp(sum / static_cast<double>(std::ranges::count(rules_.counts, true)));
      held.reason =
          most_counting > rules_.least
              ? reason_against(moves[i], alone, found.at_start)
              : fmt::format("only at sizes that do not count for {}", to_text(result_.config.goal));
      result_.held_back.push_back(std::move(held));
    }
    std::ranges::stable_sort(result_.held_back, std::ranges::greater{}, &HeldBack::saves_most);
  }

  bool is_advised(const SettingMove& move) const {
    return std::ranges::all_of(move.settings, [&](const auto& setting) {
      return result_.best.get(setting.first) ==
             (setting.second ? std::optional<std::string_view>(*setting.second) : std::nullopt);
    });
  }

  std::string reason_against(const SettingMove& move, const RowTimes& alone,
                             const RowTimes& start) const {
    switch (why_no_line(start, alone, start, rules_)) {
      case NotWorth::nothing:
        return beside_the_advice(move);
      case NotWorth::refused:
        return "NCCL refuses it";
      case NotWorth::harm:
        return harm_of(alone, start);
      case NotWorth::mean:
        return fmt::format("saves less than {:.3g} % of all sizes that count", 100 * rules_.least);
      case NotWorth::doubt:
        return fmt::format(
            "forces another algorithm or protocol, whose prediction may be {:.3g} "
            "times too good",
            doubt_in(alone));
      case NotWorth::band:
        return fmt::format(
            "saves {:.0f} % nowhere: two predictions can be apart by {:.0f} %{}",
            100 * (1 - 1 / (doubt_in(alone) * (1 + rules_.band))), 100 * rules_.band,
            doubt_in(alone) > 1
                ? fmt::format(", and another algorithm's may be {:.3g} times too good",
                              doubt_in(alone))
                : "");
    }
    return {};
  }

  std::string beside_the_advice(const SettingMove& move) const {
    for (const auto& [name, value] : move.settings) {
      if (const auto advised = result_.best.get(name); advised && value && *advised != *value)
        return fmt::format("{}={} is worth more", name, *advised);
    }
    return "saves too little beside what is advised";
  }

  std::string harm_of(const RowTimes& alone, const RowTimes& start) const {
    std::size_t worst = 0;
    double most = 0;
    for (std::size_t r = 0; r < alone.size(); ++r) {
      const double more = alone[r].us / start[r].us - 1;
      if (!rules_.counts[r] || more <= most) continue;
      most = more;
      worst = r;
    }
    return fmt::format("{} would take {:.0f} % longer", before_.rows[worst].what, 100 * most);
  }

  double doubt_in(const RowTimes& times) const {
    double out = 1;
    for (std::size_t r = 0; r < times.size(); ++r)
      if (rules_.counts[r]) out = std::max(out, times[r].doubt);
    return out;
  }

  void add_rows() {
    for (std::size_t i = 0; i < after_.rows.size(); ++i) {
      AdviseRow row{before_.rows[i], after_.rows[i], rules_.counts[i], {}};
      if (after_.bench) {
        row.band = band_of(after_, i, bands_);
      } else {
        const StepBand band =
            find_band(load_step_fits().all, true,
                      std::get<StepConfig>(result_.config.work).model.experts.has_value());
        row.band = FoundBand{band.low, band.high, Known::hardware, 0, "published steps"};
      }
      result_.rows.push_back(std::move(row));
    }
    result_.topology = job_of(result_.config.work).topology;
  }

  /// Of what the user set and the advice keeps: what could go, one at a time.
  void add_idle() {
    const Environment start = job_of(result_.config.work).environment;
    const RowTimes now = times_in(result_.best);
    for (const auto& [name, value] : start.variables()) {
      if (!result_.best.get(name) || result_.best.get(name) != start.get(name)) continue;
      if (std::ranges::find(acting_variables(), name) == acting_variables().end()) continue;
      Environment without = result_.best;
      without.unset(name);
      const RowTimes times = times_in(without);
      const auto same = [this](const RowTime& x, const RowTime& y) {
        return std::fabs(x.us / y.us - 1) < rules_.least;
      };
      if (std::ranges::equal(times, now, same)) result_.idle.push_back(name);
    }
  }

  void add_narrowed(const MovesWorthTrying& fewer, std::size_t all) {
    result_.notes.push_back(fmt::format(
        "{} settings were tried on {}, and the {} that do most there on all; --exact tries each "
        "on all.",
        all, counted(fewer.nodes, "node"), fewer.moves.size()));
  }

  /// What the figures above do not show.
  void add_notes() {
    for (const AdviseLine& line : result_.lines) {
      const std::string& name = line.factor.name;
      const bool blocks = name.starts_with("NCCL_MIN_") || name == "NCCL_NVLS_NCHANNELS";
      if (blocks && !is_step(result_.config.work) && line.factor.after)
        result_.notes.push_back(fmt::format(
            "{}: each channel is a thread block that compute beside it does without; with --layout "
            "a step is judged with that.",
            name));
      const bool forces = name == "NCCL_ALGO" || name == "NCCL_PROTO" || name == "NCCL_NVLS_ENABLE";
      if (forces && line.factor.after)
        result_.notes.push_back(fmt::format(
            "{}: acts on all calls of the job, of other sizes and collectives, too.", name));
    }
  }

  void add_tuner() {
    const auto* bench = std::get_if<BenchConfig>(&result_.config.work);
    if (bench == nullptr) {
      result_.no_tuner = "it is made for sizes and collectives, not for a step";
      return;
    }
    if (std::ranges::none_of(bench->collectives, is_tuned)) {
      result_.no_tuner = "sends and receives have no algorithm to choose";
      return;
    }
    if (bench->version < kOwnTunerSince) {
      result_.no_tuner =
          fmt::format("no plugin for NCCL {} reads a file, those for 2.21 and later do",
                      to_text(bench->version));
      return;
    }
    BenchConfig advised = std::get<BenchConfig>(in(result_.best));
    advised.budget = result_.config.budget;  // of its own, as it takes little
    result_.tuner = plan_tuner(advised, parts_, for_each_);
    if (result_.tuner->changes_something()) return;
    result_.tuner.reset();
    result_.no_tuner = "no choice is better than NCCL's own by more than predictions are good for";
  }

  const PartsCatalogue& parts_;
  const BandTable& bands_;
  const ForEach& for_each_;
  SearchRules rules_;
  WorkRun before_, after_;
  mutable KnownCalls known_;  ///< what the settings that are tried have in common
  std::map<const WhatifRow*, WhatifRow> explained_;  ///< of result_.whatif
  bool pinned_ = false;
  AdviseResult result_;
};

}  // namespace

std::string HeldBack::text() const {
  std::string out;
  for (const auto& [name, value] : settings) {
    if (value) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, *value);
  }
  if (!out.empty()) return out;
  for (const auto& [name, value] : settings)
    out += fmt::format("{}{} unset", out.empty() ? "" : ", ", name);
  return out;
}

Work work_for(Goal goal, const Work& work, const PartsCatalogue& parts,
              std::vector<std::string>& notes) {
  const auto* bench = std::get_if<BenchConfig>(&work);
  if (goal != Goal::inference || bench == nullptr) return work;
  BenchConfig out = *bench;
  std::vector<int> asked = out.nodes;
  if (asked.empty()) asked.push_back(load_nodes(out.topology, parts));
  out.nodes.clear();
  for (const int nodes : asked) {
    const Cluster cluster = load_cluster(out, nodes, parts);
    const int most = cluster.node().trays();
    add_once(out.nodes, most);
    if (nodes > most)
      notes.push_back(fmt::format(
          "inference: a tensor-parallel group lies in {}, so {} counts of the {} nodes; for "
          "all-reduces across nodes ask with --goal latency.",
          most > 1 ? "one NVLink domain" : "one node",
          most > 1 ? fmt::format("one of {} nodes", most) : "one", nodes));
  }
  return out;
}

const GoalWork& work_of(Goal goal) { return kGoalWorks[static_cast<std::size_t>(goal)]; }

RowTimes row_times(const Work& work, const Environment& environment, const PartsCatalogue& parts,
                   KnownCalls& known) {
  const auto run = try_work(work_in(work, environment), parts, known);
  if (!run || !takes_algorithm(*run, environment)) return {};
  RowTimes out;
  for (const WorkRow& row : run->rows) out.push_back({row.time_us, row.time_us, 1});
  if (run->step) {
    out.front().open_us = 1e6 * communication_of(run->step->step.breakdown);
    return out;
  }
  const auto own = unforced(environment, job_of(work).environment);
  if (!own) return out;
  const auto plain = try_work(work_in(work, *own), parts, known);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const BenchRow& row = bench_row(*run->bench, i);
    const auto choice = [](const BenchRow& of) {
      return std::pair(of.decided.run.algorithm, of.decided.run.protocol);
    };
    if (plain && choice(row) == choice(bench_row(*plain->bench, i))) continue;
    if (is_tuned(row.collective)) out[i].doubt = doubt_of(row.decided.run.algorithm, row.nodes);
  }
  return out;
}

std::vector<bool> rows_that_count(Goal goal, const WorkRun& run) {
  const GoalWork& wanted = work_of(goal);
  std::vector<bool> out;
  for (const WorkRow& row : run.rows)
    out.push_back(!row.collective || (wanted.least <= row.size && row.size <= wanted.most));
  if (std::ranges::find(out, true) == out.end())
    throw Error(fmt::format("no size of the work counts for {}: sizes {} {} do", to_text(goal),
                            goal == Goal::training || goal == Goal::bandwidth ? "from" : "up to",
                            to_text(wanted.most == kMost ? wanted.least : wanted.most)),
                "give other --sizes, or another --goal");
  return out;
}

AdviseResult run_advise(const AdviseConfig& config, const std::vector<SettingMove>& moves,
                        const PartsCatalogue& parts, const BandTable& bands,
                        const ForEach& for_each) {
  return Advice(config, parts, bands, for_each).run(moves);
}

}  // namespace fabricast
