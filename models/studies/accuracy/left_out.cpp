#include "models/studies/accuracy/left_out.hpp"

namespace fabricast {

std::map<std::string, PartsCatalogue> left_out_catalogues(const Calibrated& calibrated,
                                                          const Measurements& measured) {
  std::map<std::string, PartsCatalogue> out;
  for (const MeasuredRun& run : measured.runs)
    if (calibrated.left_out.factors.contains(run.source) && !out.contains(run.source))
      out.emplace(run.source, catalogue_without(calibrated.left_out, run.source).parts());
  return out;
}

}  // namespace fabricast
