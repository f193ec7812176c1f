#pragma once
// workloads/step_fits.yaml: what published steps say of running jobs, with all of them and with
// each source left out; and how far off the predictions of such steps are.

#include <map>
#include <string>
#include <vector>

#include "models/io/workloads/load_workloads.hpp"
#include "models/training/model/step_factors.hpp"

namespace fabricast {

/// Four of five published steps whose source the fit had not seen lie in these shares of the
/// prediction.
struct StepBand {
  double low = 1, high = 1;  ///< low <= 1 <= high
  bool known = false;        ///< GPU generation with precision, and framework, are in the fit
  bool experts = false;
  int cases = 0, sources = 0;
  std::string basis() const;  ///< "same framework and GPU generation: 244 steps of 4 sources"
};

struct StepFit {
  StepFactors factors;
  std::vector<StepBand> bands;
};

struct StepFits {
  StepFit all;
  std::map<std::string, StepFit> without;  ///< by source
  /// The fit that has not seen the source.
  const StepFit& unseen(const std::string& source) const {
    const auto found = without.find(source);
    return found == without.end() ? all : found->second;
  }
};

/// Are the framework and what the GPU computes in the fit?
bool is_known(const StepFit& fit, const GpuCompute& gpu, const Framework& framework,
              Precision precision);
StepBand find_band(const StepFit& fit, bool known, bool experts);
/// The band of a prediction.
StepBand find_band(const StepFit& fit, const GpuCompute& gpu, const Framework& framework,
                   Precision precision, bool experts);

/// The file that ships.
const StepFits& load_step_fits();
StepFits parse_step_fits(const YamlText& text, const std::string& file);
std::string step_fits_yaml(const StepFits& fits);

/// workloads/gpus.yaml and frameworks.yaml before any fit; load_compute() and load_frameworks()
/// have that of all sources applied.
ComputeCatalogue unfitted_compute();
FrameworkCatalogue unfitted_frameworks();

}  // namespace fabricast
