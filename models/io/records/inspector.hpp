#pragma once
// What NCCL's Inspector (a profiler plugin) writes: JSON lines, formats 4.0 to 4.4
// (NVIDIA/nccl, plugins/profiler/inspector: inspector_json.cc, README.md), and text for Prometheus
// (inspector_prom.cc). Of 4.0 to 4.2 each record has its header; from 4.3 on a record "dump_stats"
// with the header stands before those that belong to it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricast {

/// One collective of one rank, or with `is_mean` the mean of those of a dump interval.
struct InspectorCall {
  std::string communicator;  ///< its id, else its name; of Prometheus without an id its name
  std::string name;          ///< as the application named it; "" = unknown
  std::string host, gpu, job;
  std::string collective;           ///< NCCL's word, "AllReduce"
  std::string algorithm, protocol;  ///< "RING", "LL"; "" = not said
  int rank = -1;                    ///< in the communicator; -1 = not said
  int ranks = 0, nodes = 0;
  std::int64_t pid = 0, sequence = -1;  ///< number among the collectives of its kind
  /// Of one rank, as NCCL counts: nccl-tests' size over the ranks for all_gather, reduce_scatter.
  /// Of Prometheus a range, as wide as its label's unit.
  double bytes_low = 0, bytes_high = 0;
  double time_us = 0;
  double busbw_GBps = 0;       ///< as written; 0 = not said
  std::int64_t dumped_us = 0;  ///< since 1970; 0 = not said
  bool on_gpu = true;          ///< the time is that of the GPU's clock
  bool is_mean = false;
  /// Of Prometheus: the labels, as written between braces.
  std::string labels;
};

struct InspectorNotes {
  std::int64_t calls = 0;
  std::int64_t messages = 0;  ///< sends and receives: not told
  std::int64_t dropped = 0;   ///< records that the plugin itself says it lost
  std::int64_t broken = 0;    ///< lines that could not be read
  int first_broken = 0;       ///< the first such line
  std::string trouble;        ///< what is wrong with it
  std::string version;        ///< of the format, "v4.2"
};

using TakeInspectorCall = std::function<void(InspectorCall)>;

/// Whether the beginning of a file is of such a kind.
bool begins_as_inspector_json(std::string_view text);
bool begins_as_inspector_metrics(std::string_view text);

/// Calls one after another; what cannot be read is counted. An object may span lines.
InspectorNotes read_inspector_json(std::string_view text, const TakeInspectorCall& take);
InspectorNotes read_inspector_file(const std::string& file, const TakeInspectorCall& take);
/// Samples of the exposition format, those of one series and time together.
InspectorNotes read_inspector_metrics(std::string_view text, const TakeInspectorCall& take);

/// Labels of a sample, `name="value"` between commas, with escapes undone. False where they are
/// none.
bool read_labels(std::string_view text, std::vector<std::pair<std::string, std::string>>& out);

}  // namespace fabricast
