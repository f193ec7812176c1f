#pragma once
// A scenario: one question in a file, its cases, and the physical bounds that the answer must keep.

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/io/report/report.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/bench/bench_bands.hpp"
#include "models/studies/bench/concurrent.hpp"
#include "models/studies/decide/decide.hpp"
#include "models/studies/whatif/whatif.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

enum class Study : std::uint8_t {
  bench,       ///< simulates
  decide,      ///< asks NCCL's own tuning model
  concurrent,  ///< simulates several groups at the same time
  whatif       ///< simulates the same work in two setups, or in several against the first
};

inline constexpr auto kStudyWords = enum_words<Study>("bench", "decide", "concurrent", "whatif");

/// One line of `expect`. What is not set is not checked.
struct Expectation {
  Place place;
  std::string in_case;  ///< "" = the only case
  std::string group;    ///< concurrent: whose
  std::string over;     ///< set: ratios are in_case / over
  std::optional<Collective> collective;
  std::optional<int> nodes;
  Bytes size;
  std::optional<Bandwidth> busbw_at_least, busbw_at_most;
  std::optional<Duration> time_at_least, time_at_most;
  std::optional<double> busbw_ratio_at_least, busbw_ratio_at_most;
  std::optional<double> slowdown_at_least, slowdown_at_most;  ///< concurrent: over alone
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;
  std::string limiting_link;  ///< the busiest link's name contains this
  std::string because;        ///< where the bound comes from
  // Shown beside the prediction, whatever it is.
  std::optional<Bandwidth> measured_busbw;
  std::optional<Duration> measured_time;
  std::optional<double> measured_busbw_ratio;
  std::string source;  ///< who measured it
};

/// Groups of calls at the same time on one cluster.
struct ConcurrentCase : Job {
  int nodes = 0;  ///< 0 = what the topology says, else 1
  std::string datatype = "float";
  ConcurrentConfig asked;
};

/// What a case asks, by study, in the order of Study. Of whatif: the work under one setup.
using CaseAsk = std::variant<BenchConfig, DecideConfig, ConcurrentCase, Work>;

struct ScenarioCase {
  std::string name;
  CaseAsk ask;
  Place place;  ///< where it stands; of a scenario without cases the file

  /// Numbers of nodes that it names; none = the topology's own.
  std::vector<int> nodes() const;
  const Job& job() const;
  Job& job() { return const_cast<Job&>(std::as_const(*this).job()); }
};

struct Scenario {
  std::string file, name, question;
  Study study = Study::bench;
  std::string parts;                      ///< file of own parts; "" = none
  bool summary = false;                   ///< one line per row instead of nccl-tests' tables
  std::list<CustomAlgorithm> algorithms;  ///< that cases run in place of NCCL's own
  std::vector<ScenarioCase> cases;        ///< at least one
  std::vector<Expectation> expectations;
};

/// models/studies/scenario/read_scenario.cpp. Throws Error, also when an expectation speaks of what
/// is not run or of more than one row. A topology or fabric path is relative to the scenario's
/// folder.
Scenario load_scenario(const std::string& file);
Scenario parse_scenario(const std::string& text, const std::string& file);

struct Verdict {
  bool holds = false;
  std::string text;  ///< what was expected, and the figure found
};

/// A published figure and ours.
struct Comparison {
  std::string what, unit, source;
  bool is_ratio = false;
  double measured = 0, predicted = 0;
};

/// What expectations and summaries speak of, whichever study gave it.
struct ScenarioRow {
  Collective collective{};
  int nodes = 1, ranks = 1;
  Bytes requested;
  std::string choice;                  ///< "Ring LL128", "none" where there is nothing to choose
  std::optional<Algorithm> algorithm;  ///< nothing: NCCL refuses the call, or has no choice
  Protocol protocol{};
  int channels = 0;
  double time_us = 0, busbw_GBps = 0;  ///< 0: it does not complete
  std::optional<TimeBand> band;        ///< of a simulated one that completes
  const BenchBlock* block = nullptr;   ///< of a simulated one
  const BenchRow* row = nullptr;

  bool completes() const { return row == nullptr || row->completes(); }
};

struct ConcurrentAnswer {
  Cluster cluster;
  ConcurrentResult result;
};
using CaseAnswer = std::variant<BenchResult, DecideResult, ConcurrentAnswer>;

struct ScenarioResult {
  Scenario scenario;
  std::vector<CaseAnswer> answers;  ///< by case; of study whatif none, whose answer is one:
  std::variant<std::monostate, WhatifResult, WhatifTable> compared;  ///< two setups, or more
  std::vector<Verdict> verdicts;        ///< of expectations with a bound
  std::vector<Comparison> comparisons;  ///< of expectations with a measured figure
  BandTable bands;                      ///< of predictions by its parts

  /// By case; none of groups at the same time. Valid as long as this is.
  std::vector<std::vector<ScenarioRow>> rows() const;

  bool completes() const;  ///< every collective
  /// All that is expected, and every collective completes.
  bool holds() const;
};

/// The same question to NCCL's tuning model alone.
DecideConfig decide_config(const BenchConfig& config);

/// Throws Error, also when nothing was run at the size or node count of an expectation.
ScenarioResult run_scenario(const Scenario& scenario, const PartsCatalogue& parts,
                            const std::function<void(double)>& progress = {},
                            const ForEach& for_each = in_turn);

std::string scenario_text(const ScenarioResult& result);
/// Tables: rows (of summaries: a line for each row of each case; of whatif its own), groups,
/// expectations, measured.
Report scenario_report(const ScenarioResult& result);

}  // namespace fabricast
