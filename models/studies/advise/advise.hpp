#pragma once
// The study behind `fabricast advise`: the environment that suits a job's work best, found by
// search over the variables that act here, each line of it with what `whatif` says it is worth.
// Texts and files of it: advise_text.hpp.

#include <optional>
#include <string>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/studies/advise/setting_search.hpp"
#include "models/studies/cutover/tuner_rules.hpp"
#include "models/studies/whatif/whatif.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

/// What the job cares for.
enum class Goal : std::uint8_t { training, inference, latency, bandwidth };
inline constexpr auto kGoalWords =
    enum_words<Goal>("training", "inference", "latency", "bandwidth");
inline constexpr std::size_t kGoals = kGoalWords.words.size();
constexpr std::string_view to_text(Goal goal) { return kGoalWords[goal]; }

/// What a goal is about.
struct GoalWork {
  std::string_view collectives, sizes;  ///< without other ones
  Bytes least, most;                    ///< sizes that count
};
const GoalWork& work_of(Goal goal);

struct AdviseConfig {
  Goal goal = Goal::training;
  Work work;                       ///< its environment: where the search starts
  std::vector<std::string> notes;  ///< of how the work came to be
  bool pin_hcas = false;           ///< NCCL_IB_HCA by exact names, whatever it is worth
  double least = 0.01;             ///< SearchRules::least
  /// Of CPU time for the search, counted as BenchConfig::budget is. Where trying each setting once
  /// takes more, moves_worth_trying() says which are. Nothing: all are tried.
  std::optional<Duration> budget{};
};

/// A line of the recommended environment that was not there before, or is no longer.
struct AdviseLine {
  WhatifFactor factor;
  bool pinned = false;  ///< asked for, not found
  // Lost when this line goes, as a share of the time without it.
  double saves = 0;       ///< of all rows that count, the mean
  double saves_most = 0;  ///< of the row that it helps most
  std::string row;        ///< that row
  std::string reason;     ///< there
};

/// A move that is no line though alone it saves time somewhere.
struct HeldBack {
  std::vector<std::pair<std::string, std::optional<std::string>>> settings;
  double saves = 0;       ///< of the rows that count, the mean; below 0: it costs
  double saves_most = 0;  ///< of the row that it helps most
  std::string row;        ///< that row
  std::string reason;

  /// "NCCL_NVLS_ENABLE=0", "NCCL_IB_HCA unset"
  std::string text() const;
};

/// What to expect of a row on the real machine.
struct AdviseRow {
  WorkRow before, after;
  bool counts = true;
  std::optional<FoundBand> band;  ///< factors on after.time_us
};

struct AdviseResult {
  AdviseConfig config;
  std::string topology;  ///< the node's name
  Environment best;
  std::vector<AdviseLine> lines;
  std::optional<WhatifResult> whatif;  ///< from before to best, where they differ
  std::vector<AdviseRow> rows;
  std::string hcas;               ///< a value of NCCL_IB_HCA that names all HCAs; "" without
  std::vector<std::string> idle;  ///< variables of the user's that are worth nothing here
  std::optional<TunerPlan> tuner;
  std::string no_tuner;             ///< why there is none
  std::vector<HeldBack> held_back;  ///< the one that saves most first
  std::size_t tried = 0;            ///< environments
  std::vector<std::string> notes;
};

/// The work of a goal: of inference, a tensor-parallel group, which lies in a node or in what
/// NVLink joins. A note says what became of more nodes.
Work work_for(Goal goal, const Work& work, const PartsCatalogue& parts,
              std::vector<std::string>& notes);

/// The settings that the search tries: those that this release reads and this kind of work and
/// network can feel. In the order in which equal ones are preferred.
std::vector<SettingMove> candidate_moves(const Work& work, const PartsCatalogue& parts);
/// "=mlx5_0,mlx5_1", of all HCAs of a node; "" where there are none.
std::string hca_list(const Work& work, const PartsCatalogue& parts);

/// The work's rows for the search that began at the work's own environment; empty where NCCL
/// refuses to work in this one, or would not take the algorithm that it names.
RowTimes row_times(const Work& work, const Environment& environment, const PartsCatalogue& parts,
                   KnownCalls& known);
/// Which rows the goal is about. Throws Error when there are none.
std::vector<bool> rows_that_count(Goal goal, const WorkRun& run);

/// `moves`: candidate_moves(), or some of them. Throws Error.
AdviseResult run_advise(const AdviseConfig& config, const std::vector<SettingMove>& moves,
                        const PartsCatalogue& parts, const BandTable& bands,
                        const ForEach& for_each);

}  // namespace fabricast
