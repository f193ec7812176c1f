#pragma once
// The study behind `fabricast judge`: somebody's nccl-tests rows against what is expected of the
// machine, and what may be wrong with it. Config, code and result; texts are in judge_text.hpp.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/accuracy/validate.hpp"
#include "models/studies/judge/judge_causes.hpp"
#include "models/studies/judge/judge_fit.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

struct JudgedRow {
  Bytes size;
  double measured_us = 0;
};

/// Whose times are simulated beside those of the machine as described.
enum class Suspected : std::uint8_t {
  causes,  ///< possible_causes()
  faults,  ///< acceptance_faults()
  nothing
};

struct JudgeConfig : Job {
  int nodes = 0;  ///< 0 = what the topology says, else 1
  int gpus_per_process = 1;
  int launches_in_a_row = 1;  ///< nccl-tests' -g, 0 with -G
  Collective collective{};
  std::string datatype = "float";  ///< nccl-tests' name
  int root = 0;
  std::vector<JudgedRow> rows;
  int wrong_rows = 0;         ///< of the log, left out: their values were wrong
  bool wrong_values = false;  ///< or the log says so without a row of them
  bool run_failed = false;    ///< the log says that a test ended with an error
  bool release_said = false;  ///< by the log or the user: another one is no suspect
  LoggedNetwork network;      ///< what it was not is no suspect
  /// Variables of `environment` that the log says were set and nobody asked for: what they cost is
  /// looked for beside the causes.
  std::vector<std::string> logged_settings;
  std::vector<std::string> basis;  ///< whence collective, ranks, nodes and settings are known
  std::vector<std::string> notes;  ///< what is odd about the log
  Suspected suspected = Suspected::causes;
  /// A row is slow where this share of runs of healthy machines is faster; none = 0.9, the upper
  /// end of the band.
  std::optional<double> healthy_share = {};
};

enum class RowVerdict : std::uint8_t { within, below, above };  ///< of bandwidth, against the band
std::string_view to_text(RowVerdict verdict);

struct JudgeRow {
  Bytes size;
  double measured_us = 0, expected_us = 0;
  FoundBand band;
  RowVerdict verdict{};
  std::string_view algorithm, protocol;  ///< NCCL's spelling
  int channels = 0;
  std::string busiest;     ///< link: "pcisw3 -> gpu3 (PCIe gen5 x16)", of whichever node
  double utilisation = 0;  ///< of it, as described; 0..1

  /// What takes longer is slow.
  double limit_us() const { return expected_us * band.upper; }
};

/// A cause with the time of every row, or why it cannot be here.
struct SimulatedSuspect {
  Suspect cause;
  std::vector<double> times_us;
  std::vector<RowLimits> limits = {};  ///< of measured times over these
  std::string refused = {};
  std::string ruled_out = {};  ///< by this line of the log
};

enum class JudgeVerdict : std::uint8_t {
  as_expected,   ///< 8 of 10 rows, and no more than one in ten is slower
  faster,        ///< than the topology allows: is it the right one?
  explained,     ///< slow, and the first causes have 8 of 10 rows and more than are within
  unexplained,   ///< slow, and no cause has
  wrong_values,  ///< whatever the times are
  run_failed     ///< whatever times and values are
};
std::string_view to_text(JudgeVerdict verdict);

struct JudgeResult {
  JudgeConfig config;
  int nodes = 1, ranks = 1;
  std::vector<JudgeRow> rows;
  std::vector<SimulatedSuspect> causes;  ///< the first: nothing is wrong
  /// Of causes by their number: not the first, nor those that cannot be or are not seen.
  std::vector<FitGroup> ranking;
  JudgeVerdict verdict{};
  JudgeVerdict of_times{};  ///< by the times alone
  /// Causes that change no row by more than kSameTime: these rows cannot show them.
  std::vector<std::size_t> unseen;
  /// Settings of the log that cost: `NAME=value`. A note says how much.
  std::vector<std::string> costly_settings;
  std::vector<std::string> notes;

  std::size_t count(RowVerdict wanted) const;
};
/// GB/s of a row.
double busbw_of(const JudgeResult& result, Bytes size, double time_us);
/// The verdict is none of slower ones: what an acceptance test lets pass.
bool passes(JudgeVerdict verdict);
/// Whatever the times are, the log says that something is wrong.
bool is_of_log(JudgeVerdict verdict);
/// One row in ten may be slow by itself.
bool is_few(std::size_t rows, std::size_t of);
/// Do so many of `rows` rows explain what was measured? The band holds 8 of 10 of a good
/// prediction.
bool is_explained(std::size_t explained, std::size_t rows);

/// What passes of expect_rows() take of its time, about: the machine as described, how large the
/// calls under causes are, and these calls.
inline constexpr std::array kExpectShares = {0.06, 0.02, 0.9};

/// What every cause would give, without any measurement.
struct ExpectedRows {
  int nodes = 1, ranks = 1;
  std::vector<JudgeRow> rows;  ///< expected_us, band, choice
  std::vector<SimulatedSuspect> causes;
  std::vector<std::string> notes;
};
/// Of the slices of a row on all ranks; of more, causes are simulated on fewer nodes.
inline constexpr std::uint64_t kCauseSlicesMax = 4'000'000;
/// Acceptance faults are simulated on all nodes. A row that takes more is extrapolated over sizes
/// (models/nccl/run/affordable.hpp), with what NCCL chose for the row, from sizes that take as much
/// as a cause may only where smaller ones do not do.
inline constexpr std::uint64_t kCauseSlices = 200'000;

/// Sizes only are read of the config's rows. `bands` may be empty: then one is assumed. Throws
/// Error.
ExpectedRows expect_rows(const JudgeConfig& config, const PartsCatalogue& parts,
                         const BandTable& bands, const ForEach& for_each);
/// Holds config.rows against it.
JudgeResult judge_rows(const JudgeConfig& config, ExpectedRows expectation);

}  // namespace fabricast
