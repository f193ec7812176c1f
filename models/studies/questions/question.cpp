#include "models/studies/questions/question.hpp"

#include <array>
#include <memory>

#include "models/io/formats/reader.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/hang/hang_question.hpp"
#include "models/studies/hang/hang_report.hpp"
#include "models/studies/rules/rules_text.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/training/plan_question.hpp"
#include "models/studies/training/training_reports.hpp"

namespace fabricast {

namespace {

struct Source {
  const std::string &text, &file;
};

using Progress = std::function<void(double)>;

/// The views of a result, which is kept as long as they are.
template <class Result, class Page, class MakeReport>
Answer views_of(Result result, Page page, MakeReport report) {
  const auto kept = std::make_shared<const Result>(std::move(result));
  Answer out;
  out.page = [kept, page] { return page(*kept); };
  out.report = [kept, report] { return report(*kept); };
  return out;
}

Answer answer_scenario(const Source& source, const ForEach&, const Progress& progress) {
  const Scenario scenario = parse_scenario(source.text, source.file);
  ScenarioResult result = run_scenario(scenario, load_parts(scenario.parts), progress);
  const bool holds = result.holds();
  Answer out = views_of(std::move(result), scenario_text, scenario_report);
  out.holds = holds;
  for (const ScenarioCase& one : scenario.cases) out.jobs.push_back(one.job());
  return out;
}

Answer answer_step(const Source& source, const ForEach&, const Progress&) {
  const StepConfig asked = parse_step(source.text, source.file);
  Answer out = views_of(run_step(asked, load_parts("")), step_text,
                        [](const StepResult& result) { return step_report(result); });
  out.jobs = {asked};
  return out;
}

Answer answer_plan(const Source& source, const ForEach&, const Progress& progress) {
  const PartsCatalogue parts = load_parts("");
  const PlanQuestion asked = parse_plan_question(source.text, source.file, parts);
  Answer out =
      views_of(run_plans(asked.configs, parts, asked.limits, progress), plan_text, plan_report);
  for (const NamedConfig& one : asked.configs) out.jobs.push_back(one.config);
  return out;
}

Answer answer_serve(const Source& source, const ForEach&, const Progress&) {
  const ServeConfig asked = parse_serve(source.text, source.file);
  Answer out = views_of(run_serve(asked, load_parts("")), serve_text, serve_report);
  out.jobs = {asked.site};
  return out;
}

Answer answer_hang(const Source& source, const ForEach&, const Progress&) {
  HangAnswer answer =
      run_hang_scenario(parse_hang_scenario(source.text, source.file), load_parts(""));
  const bool holds = answer.holds;
  Answer out = views_of(std::move(answer), hang_answer_text, [](const HangAnswer& one) {
    return hang_report(one.result, one.scenario.timeout_s);
  });
  out.holds = holds;
  return out;
}

Answer answer_rules(const Source& source, const ForEach& for_each, const Progress&) {
  RuleFile rules = parse_rules(source.text, source.file, {});
  const PartsCatalogue parts = load_parts(rules.parts);
  RulesRun run{"", run_rules(std::move(rules), parts, for_each), {}};
  const bool holds = expectations_text(run.result).empty();
  Answer out = views_of(
      std::move(run),
      [](const RulesRun& one) {
        return rules_text(one.result, false) + expectations_text(one.result);
      },
      [](const RulesRun& one) { return rules_report({one}); });
  out.holds = holds;
  return out;
}

struct Kind {
  std::string_view word;  ///< of the key `kind`
  Answer (*answer)(const Source&, const ForEach&, const Progress&);
};

constexpr std::array kKinds = {
    Kind{"scenario", answer_scenario},  // study: bench, decide, concurrent, whatif
    Kind{"step", answer_step},         Kind{"plan", answer_plan},   Kind{"serve", answer_serve},
    Kind{"hang", answer_hang},         Kind{"rules", answer_rules},
};

}  // namespace

std::vector<std::string> question_kinds() {
  std::vector<std::string> out;
  for (const Kind& kind : kKinds) out.emplace_back(kind.word);
  return out;
}

Answer answer_question(const std::string& text, const std::string& file, const ForEach& for_each,
                       const std::function<void(double)>& progress) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  const Kind& kind = kKinds[in.choice("kind", question_kinds())];
  return kind.answer({text, file}, for_each, progress);
}

}  // namespace fabricast
