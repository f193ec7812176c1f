#pragma once
// The collective calls that a trace of PyTorch shows, each with the time that is predicted for it
// on a cluster: `fabricast step --calls`.

#include <optional>
#include <string>
#include <vector>

#include "models/io/imports/import_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"
#include "models/studies/shared/job.hpp"

namespace fabricast {

/// Equal calls of a trace.
struct TracedLine {
  TracedCall call;               ///< the first of them
  int times = 1;                 ///< how often
  int ranks = 0;                 ///< of its group
  std::int64_t bytes = 0;        ///< of the larger buffer of a rank, as nccl-tests counts
  std::optional<Duration> time;  ///< of one, predicted
  std::string why_not;           ///< there is no prediction
};

struct TracedResult {
  Job config;
  std::string file;
  int world_size = 0;
  std::vector<TracedLine> lines;  ///< in the trace's order
  Duration time;                  ///< of all calls, one after another
  std::string kernel_time;        ///< of NCCL's kernels, as the trace says; "" = not said
};

/// Throws Error where the file is no trace, or names no call.
TracedResult predict_calls(const ImportedFile& trace, const std::string& file, const Job& config,
                           const PartsCatalogue& parts);
std::string traced_text(const TracedResult& result);

}  // namespace fabricast
