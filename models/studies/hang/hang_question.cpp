#include "models/studies/hang/hang_question.hpp"

#include <fmt/format.h>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

HangScenario parse_hang_scenario(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("hang");
  HangScenario out;
  out.name = in.text("name");
  out.question = in.prose("question");
  out.layout = resolved(in.text("layout"), file);
  const std::string fault = in.text("fault");
  out.fault = placed(in.place("fault"), [&] { return parse_hang_fault(fault); });
  if (in.has("timeout")) out.timeout_s = static_cast<double>(in.duration("timeout").ps) / 1e12;
  const std::vector<std::string> kinds = {"ended", "mismatch", "cycle"};
  if (in.has("expect")) out.expect = kinds[in.choice("expect", kinds)];
  in.finish();
  return out;
}

HangAnswer run_hang_scenario(const HangScenario& scenario, const PartsCatalogue& parts,
                             std::vector<RankCall>* calls) {
  const CallsOfLayout made = calls_of_layout(scenario.layout, &scenario.fault, parts);
  HangAnswer out{scenario, made.step, find_hang(made), false};
  out.holds =
      scenario.expect.empty() ? !out.result.hangs() : is_as_expected(out.result, scenario.expect);
  if (calls != nullptr) *calls = made.calls;
  return out;
}

std::string hang_answer_text(const HangAnswer& answer) {
  const HangScenario& scenario = answer.scenario;
  std::string out = fmt::format("# {}: {}\n# {}\n# fault: {}\n", scenario.name, scenario.question,
                                answer.step, scenario.fault.text);
  out += hang_text(answer.result, scenario.timeout_s);
  if (!scenario.expect.empty())
    out += fmt::format("\nExpected: {}: {}\n", scenario.expect, answer.holds ? "holds" : "FAILS");
  return out;
}

}  // namespace fabricast
