#pragma once
// The file of the tuner that is built into NCCLX (NCCLX_TUNER_CONFIG_FILE), as CSV and as JSON.
// Facts: comms/ncclx/meta/tuner of meta-pytorch/torchcomms: README.md and JsonConfigParse.h at
// commit 46726f150b106a360db0de3c86d3e1bebd0d8ba3, CsvConfigParse.h at
// e978d02401eaa74dd727a7098fb5e9b85a2c706c and 6c6862790373098e30cd93e2c98dcef3374c2676,
// ConfigParse.h at 021fd85c2a62d8fb206f5e81b6858d0bd3bc3dda, Int64Range.cc at
// 4b337fe02244c8894c0c8006a0d35d1da7fd406c, whose MetaTuner.h says that numPipeOps and regBuff are
// no longer in files.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/tuner/tuner_plugin.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

/// Whole numbers: "*", "8", "[0,1048576]", "(1,)". Both ends belong to it.
struct WholeRange {
  std::int64_t min = INT64_MIN, max = INT64_MAX;

  bool has(std::int64_t number) const { return min <= number && number <= max; }
  bool operator==(const WholeRange&) const = default;
};
/// Throws Error.
WholeRange parse_range(std::string_view text);

struct NcclxRule {
  Place place;
  Collective collective = Collective::all_reduce;
  WholeRange bytes_per_rank;  ///< of the larger buffer, over all ranks; rounded down
  TunerPair pair;
  int channels = -1;  ///< -1: NCCL's own
  WholeRange nodes, ranks_per_node;
  int operations = -1, registered = -1;  ///< any
};

struct NcclxRules {
  std::vector<NcclxRule> rules;
  std::vector<std::string> notes;
};
/// Strict, as NCCLX is: it fails where a line is wrong. Throw Error with file and line.
NcclxRules parse_ncclx_csv(const std::string& text, const std::string& file);
NcclxRules parse_ncclx_json(const std::string& text, const std::string& file);

/// Commas inside brackets are part of a field.
std::vector<std::string_view> ncclx_fields(std::string_view line);

/// Throws Error where the release is older than the interface that NCCLX's tuner needs.
std::unique_ptr<const TunerPlugin> ncclx_tuner(NcclxRules rules, std::string file,
                                               const TunerSite& site);

}  // namespace fabricast
