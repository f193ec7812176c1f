#pragma once
// Measured runs of nccl-tests, as runs.csv and points.csv hold them (docs/validate.md says what
// each column means).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/base/types.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// One sweep of one collective on one machine. Texts are as in the file, kinds of node and network
/// in the words of docs/validate.md where they are understood; blank = not known.
struct MeasuredRun {
  Place place;
  std::string id;
  Collective collective{};
  std::string gpu_model, node_kind, net_kind;
  std::optional<int> gpus_per_node, nics_per_node;  ///< what the node has
  std::optional<double> nic_gbps;                   ///< of one NIC
  int nodes = 1, ranks = 1;
  std::string nccl_version, env_kv, algorithm, flags, process_mode, source, date;
  std::string address;                ///< of who published it: the column `source`
  std::string topology_notes, notes;  ///< in words: name the machine of a cloud, and what was odd
  std::string nic_type;               ///< in words
  bool sharp = false;
  bool scored = true;  ///< fit to be scored; without the column all are
  bool fitted = true;  ///< not: a fit may predict it only
  /// Cells that were not understood, by column: they are wrong where they are needed.
  std::map<std::string, Error, std::less<>> wrong;
};

/// One row of a table of nccl-tests.
struct MeasuredPoint {
  std::size_t run = 0;
  Bytes size;            ///< as printed
  std::string datatype;  ///< nccl-tests' name
  double time_us = 0;    ///< out of place; from algbw or busbw where no time was published
};

struct MeasuredPair {
  std::string what;  ///< what was changed
  std::size_t run = 0, baseline = 0;
  Bytes size;             ///< about
  bool is_busbw = false;  ///< the ratio is one of bus bandwidths, else of times
  double ratio = 0;       ///< run / baseline
};

/// What is done with a row of a file that is not understood.
enum class BadRows {
  refuse,    ///< the whole file
  leave_out  ///< the row
};

struct Measurements {
  std::vector<MeasuredRun> runs;
  std::vector<MeasuredPoint> points;
  std::vector<MeasuredPair> pairs;
  int points_without_size = 0, points_without_time = 0;
  std::vector<Error> unread;               ///< rows that were left out: where, and why
  int runs_unread = 0, points_unread = 0;  ///< such; points also where their run's row was
};

}  // namespace fabricast
