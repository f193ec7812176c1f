#pragma once
// The tuner of AWS's net plugin, aws-ofi-nccl. What it asks for is data: aws-ofi.yaml.

#include <memory>
#include <string>
#include <vector>

#include "models/io/formats/yaml_tree.hpp"
#include "models/io/tuners/plane.hpp"
#include "models/nccl/tuner/tuner_plugin.hpp"

namespace fabricast {

/// What calls in the polygon take.
struct TunerRegion {
  TunerPair pair;
  std::vector<PlanePoint> corners;
};

struct AwsOfiCalls {
  Collective collective = Collective::all_reduce;
  int ranks_per_node = 0;  ///< exactly
  std::vector<TunerRegion> regions;
};

struct AwsOfiPlatform {
  std::vector<std::string> instances;  ///< "p5.48xlarge"
  std::vector<std::string> nodes;      ///< "H100_SXM5 EFA_v2", one for each instance
  bool tree_channels = false;          ///< counts those of Tree LL128, 8 ranks per node
  bool pat_channels = false;           ///< counts those of PAT, one rank per node
  std::vector<AwsOfiCalls> calls;
};

struct AwsOfiTuner {
  PlanePoint end;  ///< largest bytes and ranks
  int nodes_min = 0;
  std::vector<AwsOfiPlatform> platforms;
};

/// Throws Error with file and line.
AwsOfiTuner parse_aws_ofi(const YamlText& text, const std::string& file);
/// The one that was built in.
AwsOfiTuner load_aws_ofi();

/// `instance`: "" = the one that the site is. Throws Error where that is none, or the release has
/// no interface that the plugin offers.
std::unique_ptr<const TunerPlugin> aws_ofi_plugin(AwsOfiTuner tuner, const std::string& instance,
                                                  const TunerSite& site);

}  // namespace fabricast
