#pragma once
// What NCCL's log says it chose, beside what `decide` says for a topology.

#include <string>
#include <vector>

#include "models/io/imports/import_file.hpp"
#include "models/io/report/report.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/types.hpp"

namespace fabricast {

struct ComparedChoice {
  LoggedChoice logged;
  std::string decided;  ///< "Ring LL x4", or why there is none
  bool agrees = false;
};

/// The job is the log's: release, settings, nodes, ranks. `nodes` = 0: as the log says. Throws
/// Error when the topology does not fit it.
std::vector<ComparedChoice> compare_choices(const ImportedFile& log, const std::string& topology,
                                            int nodes, const PartsCatalogue& parts);
std::string compared_text(const std::vector<ComparedChoice>& compared, const std::string& topology);
/// A row for each choice, "compared".
ReportTable compared_table(const std::vector<ComparedChoice>& compared);

}  // namespace fabricast
