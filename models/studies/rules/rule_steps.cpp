#include <algorithm>

#include "models/studies/rules/rule_answers.hpp"
#include "models/studies/training/serve.hpp"
#include "models/studies/training/step.hpp"

namespace fabricast::rule_answers {

namespace {

double us(Duration time) { return microseconds_of(time); }

double share(double part, double whole) { return 100 * part / whole; }

/// Seconds of a step in which its slowest stage waits for others.
double communication(const StepBreakdown& parts) {
  return parts.busy.tensor + parts.busy.context + parts.busy.expert + us(parts.data) * 1e-6;
}

double figure_of(std::string_view word, const StepResult& result) {
  const StepBreakdown& parts = result.step.breakdown;
  const double time = us(result.step.time);
  if (word == "time") return time;
  if (word == "data_time") return us(parts.data);
  if (word == "data_share") return share(us(parts.data), time);
  if (word == "communication_share") return share(communication(parts) * 1e6, time);
  if (word == "contention_share") return share(parts.busy.contention * 1e6, time);
  if (word == "mfu") return 100 * result.mfu;
  if (!result.cost) throw Error("no price is known of these GPUs", "say `price` in the file");
  return result.cost->million_tokens;
}

/// Against another step.
double saved(std::string_view word, const StepResult& base, const StepResult& with) {
  const double before = us(base.step.time);
  if (word == "time_saved") return share(before - us(with.step.time), before);
  return share((base.step.breakdown.busy.contention - with.step.breakdown.busy.contention) * 1e6,
               before);
}

}  // namespace

CheckOutcome step_figure(const RuleCheck& check, const PartsCatalogue& parts) {
  const StepResult with = run_step(load_step(check.file), parts);
  if (check.over.empty()) return only(point_of(check, figure_of(check.figure.word, with), {}));
  const StepResult base = run_step(load_step(check.over), parts);
  return only(point_of(check, saved(check.figure.word, base, with), {}));
}

CheckOutcome serve_figure(const RuleCheck& check, const PartsCatalogue& parts) {
  const ServeResult result = run_serve(load_serve(check.file), parts);
  const ServeTime& token = result.decode;
  const std::string& word = check.figure.word;
  const double figure = word == "token_time"           ? token.total() * 1e6
                        : word == "communication_time" ? token.communication() * 1e6
                        : word == "communication_share"
                            ? share(token.communication(), token.total())
                            : result.prefill.total() * 1e6;
  return only(point_of(check, figure, {}));
}

}  // namespace fabricast::rule_answers
