#pragma once
// What NCCL's Inspector recorded of a job, folded: per communicator, collective and size how long
// it took, and of that how long ranks waited for the last one. The time of a rank's kernel runs
// from its own arrival to the common end: the shortest one of a call is the transfer, what others
// have above it is their wait. No clocks of different hosts are compared.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/io/records/inspector.hpp"
#include "models/nccl/base/types.hpp"

namespace fabricast {

/// Which rank comes last, over the calls of a row that several ranks recorded.
struct ArrivalSkew {
  long long calls = 0;    ///< compared
  double wait_us = 0;     ///< mean over ranks and calls
  int last_rank = -1;     ///< the one that most often has the shortest time; -1 = by GPU
  std::string last;       ///< its host, or host and GPU
  double last_share = 0;  ///< of calls
};

/// Calls of one communicator, collective and size.
struct InspectedRow {
  std::string communicator, name, job, word;  ///< word: NCCL's, "AllReduce"
  std::optional<Collective> collective;       ///< nothing of what nccl-tests has not
  int ranks = 0, nodes = 0, ranks_seen = 0;
  Bytes size;                       ///< as nccl-tests has it; of a range its middle
  double size_doubt = 0;            ///< half of that range, as a share of the size
  std::string algorithm, protocol;  ///< as taken most often; "" = not said
  long long calls = 0;              ///< recorded
  double time_us = 0;               ///< median over calls of the mean over ranks
  double transfer_us = 0;           ///< median of the shortest time; time_us where one rank is seen
  std::optional<ArrivalSkew> skew;
  double total_us = 0;  ///< of one rank, calls that were not recorded included
  bool is_mean = false;
  bool off_gpu = false;             ///< some times are those of the CPU's clock
  std::vector<std::string> labels;  ///< of Prometheus: those of each series
};

struct InspectedRun {
  std::vector<InspectedRow> rows;  ///< the one that takes longest first
  std::string version;             ///< of the format
  long long calls = 0, messages = 0;
  int files = 0;
  std::optional<double> seconds;  ///< from the first to the last dump, where that holds the calls
  double total_us = 0;            ///< of the rank that is longest in collectives
  std::vector<std::string> notes;
  /// Of the run, or where its length is not known of all collectives.
  double share(const InspectedRow& row) const;
};

class InspectorFold {
 public:
  void add(InspectorCall call);
  void add(const InspectorNotes& notes, const std::string& file);
  /// A file that was not read, and why.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  bool is_empty() const { return rows_.empty(); }
  InspectedRun finish();

 private:
  struct Call {
    double sum = 0, least = 0;
    int count = 0;
    std::string last;  ///< the rank or GPU of the least
  };
  using Key = std::tuple<std::string, std::string, std::string, int, std::string, double, double>;
  struct Row {
    InspectorCall first;
    std::map<std::int64_t, Call> calls;        ///< by sequence
    std::map<std::string, std::string> hosts;  ///< of ranks
    std::map<std::pair<std::string, std::string>, long long> choices;
    std::vector<std::string> labels;
    std::int64_t unnumbered = 0;
    bool off_gpu = false;
  };
  struct Numbers {
    std::int64_t low = 0, high = -1, recorded = 0;
  };

  InspectedRow row_of(const Row& row, const Numbers& numbers) const;

  std::map<Key, Row> rows_;
  std::map<std::pair<std::string, std::string>, Numbers> numbers_;  ///< of communicator and word
  std::map<std::string, double> rank_us_;                           ///< by host and process
  std::int64_t first_us_ = 0, last_us_ = 0;
  std::string version_;
  long long calls_ = 0, messages_ = 0;
  int files_ = 0;
  std::vector<std::string> notes_;
};

/// All files of NCCL's Inspector that are named or below folders. What is no such file is noted.
/// Throws Error where there is none.
InspectedRun read_inspected_run(const std::string& path);

}  // namespace fabricast
