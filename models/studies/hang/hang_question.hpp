#pragma once
// A question in a file, `kind: hang`: a fault in the calls of one step of a layout.

#include <string>

#include "models/studies/hang/hang_layout.hpp"

namespace fabricast {

struct HangScenario {
  std::string name, question;
  std::string layout;  ///< file of `fabricast step`
  HangFault fault;
  double timeout_s = 600;
  std::string expect;  ///< "ended", "mismatch" or "cycle"; "" = nothing
};
/// A layout's path is relative to the file's folder. Throws Error.
HangScenario parse_hang_scenario(const std::string& text, const std::string& file);

struct HangAnswer {
  HangScenario scenario;
  std::string step;  ///< "one step of TITLE: TP 8, ..."
  HangResult result;
  bool holds = false;  ///< as expected; without an expectation: does not hang
};
/// `calls`: filled with those of the step, the fault in them. Throws Error.
HangAnswer run_hang_scenario(const HangScenario& scenario, const PartsCatalogue& parts,
                             std::vector<RankCall>* calls = nullptr);
std::string hang_answer_text(const HangAnswer& answer);

}  // namespace fabricast
