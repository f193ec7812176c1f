#pragma once
// The study behind `fabricast validate nccl-tests`: what is predicted for runs that somebody
// measured. Config, code and result; scores are in validate_score.hpp, texts in validate_text.hpp.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/bands/bands.hpp"
#include "models/nccl/peer_kernels/peer_costs.hpp"
#include "models/studies/accuracy/map_run.hpp"
#include "models/studies/shared/for_each.hpp"
#include "sim/base/error.hpp"
#include "text/enum_words.hpp"

namespace fabricast {

enum class Predictor : std::uint8_t {
  simulation,
  nccl_model,  ///< the time that NCCL's tuner expects of its choice
  alpha_beta   ///< fitted: models/studies/accuracy/alpha_beta.hpp
};
inline constexpr auto kPredictorWords =
    enum_words<Predictor>("simulation", "nccl-model", "alpha-beta");
constexpr std::string_view to_text(Predictor predictor) { return kPredictorWords[predictor]; }

struct ValidateConfig {
  Measurements measured;
  Predictor predictor = Predictor::simulation;
  /// A call that takes more slices than this is extrapolated.
  std::int64_t slices_max = 0;
  /// A message counts as the slices that take as long; else its chunks do, as in fits.
  bool weighs_messages = false;
  BandTable bands;    ///< of simulations; empty = none
  PeerCosts kernels;  ///< of runs with registered buffers; none: they are left out
  /// By source_key: the catalogue of a fit that has not seen its runs.
  std::map<std::string, PartsCatalogue> left_out;
  /// By source_key: the bands of what the other sources measured.
  std::map<std::string, std::vector<LeftOutBand>> left_out_bands;
};

/// How a time came about.
enum class Method : std::uint8_t {
  none,          ///< there is no prediction
  simulated,     ///< every rank
  extrapolated,  ///< from smaller sizes or numbers of nodes
  nccl_model,
  alpha_beta
};
inline constexpr auto kMethodWords =
    enum_words<Method>("none", "simulated", "extrapolated", "nccl-model", "alpha-beta");
constexpr std::string_view to_text(Method method) { return kMethodWords[method]; }

/// The prediction of one measured point, in the order of Measurements::points.
struct Prediction {
  Method method = Method::none;
  double time_us = 0;
  double lower_us = 0, upper_us = 0;     ///< 80 % band; 0 = none
  std::string_view algorithm, protocol;  ///< NCCL's spelling, "none" for sends and receives
  int channels = 0;
  std::string_view band_basis{};  ///< what the band rests on, a word for Known
  bool by_launches = false;       ///< the host's launches decide the time
  double left_out_us = 0;         ///< by a fit that has not seen the run's source; 0 = none
  double left_out_lower_us = 0,
         left_out_upper_us = 0;  ///< 80 % band of the other sources; 0 = none
  std::string_view left_out_basis{};
};

struct ValidateResult {
  Predictor predictor{};
  std::int64_t slices_max = 0;
  Measurements measured;
  std::vector<Prediction> predictions;
  std::map<std::size_t, Error> left_out;  ///< run -> why nothing is predicted for it
  std::map<std::string, int> notes;       ///< what was assumed -> of how many runs
  std::size_t calls = 0;                  ///< that were simulated: different ones
};

/// These points, with only the runs that they belong to.
Measurements subset(const Measurements& all, const std::vector<std::size_t>& points);

/// Runs that cannot be mapped or that NCCL refuses are left out with the reason.
ValidateResult run_validate(ValidateConfig config, const PartsCatalogue& parts,
                            const ForEach& for_each);

}  // namespace fabricast
