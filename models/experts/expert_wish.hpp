#pragma once
// Whose kernels bring the tokens of a model to their experts, as a file about a model says it.

#include <optional>
#include <string>
#include <vector>

#include "models/experts/expert_call.hpp"

namespace fabricast {

struct ExpertWish {
  EpMode mode{};
  int sms = 24;  ///< where the mode takes_sms()
  /// Of what is dispatched; nothing = what the question takes by itself.
  std::optional<EpDatatype> dispatched;
  // How experts are chosen, as in ExpertChoice:
  std::string load = "uniform";  ///< as it was asked for
  std::vector<double> weights;
  int groups = 1, top_groups = 1;

  /// A call of a layer with so many experts.
  ExpertCall call(int experts, int top_k, int hidden, EpDatatype otherwise) const {
    ExpertCall out;
    out.choice = {experts, top_k, groups, top_groups, weights};
    out.hidden = hidden;
    out.dispatched = dispatched.value_or(otherwise);
    out.sms = sms;
    return out;
  }
};

}  // namespace fabricast
