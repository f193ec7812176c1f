#pragma once
// A tuner plugin by name or from its file.

#include <memory>
#include <string>

#include "models/nccl/tuner/tuner_plugin.hpp"

namespace fabricast {

/// Whose plugin reads a file.
enum class TunerReading : std::uint8_t {
  recognised,    ///< by what stands in it: NCCL's example or NCCLX
  nccl_example,  ///< one channel where no line matches
  fabricast,     ///< our own plugin: the same file, and calls that no line matches are left alone
  ncclx
};

/// `what`: a file; "nccl-example:FILE", "fabricast:FILE" or "ncclx:FILE"; "aws-ofi", on one of the
/// instances that it knows; "aws-ofi:p5.48xlarge", as if it were one. Throws Error.
std::unique_ptr<const TunerPlugin> load_tuner(const std::string& what, const TunerSite& site);

/// `file` is used in messages only. Throws Error with file and line.
std::unique_ptr<const TunerPlugin> parse_tuner(const std::string& text, const std::string& file,
                                               const TunerSite& site,
                                               TunerReading reading = TunerReading::recognised);

}  // namespace fabricast
