#include "models/studies/questions/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "models/io/formats/question_kinds.hpp"
#include "models/io/formats/reader.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/compare/read_compare.hpp"
#include "models/studies/hang/hang_question.hpp"
#include "models/studies/hang/hang_report.hpp"
#include "models/studies/rules/rules_text.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/serving/served.hpp"
#include "models/studies/training/plan_question.hpp"
#include "models/studies/training/training_reports.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

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

Question ask_scenario(const std::string& text, const std::string& file) {
  const auto asked = std::make_shared<const Scenario>(parse_scenario(text, file));
  Question out;
  for (const ScenarioCase& one : asked->cases) out.jobs.push_back(one.job());
  out.answer = [asked](const ForEach& for_each, const Progress& progress) {
    ScenarioResult result = run_scenario(*asked, load_parts(asked->parts), progress, for_each);
    const bool holds = result.holds();
    Answer answer = views_of(std::move(result), scenario_text, scenario_report);
    answer.holds = holds;
    return answer;
  };
  return out;
}

Question ask_step(const std::string& text, const std::string& file) {
  StepConfig asked = parse_step(text, file);
  asked.trace = true;
  const Job job = asked;
  return {{}, {job}, [asked = std::move(asked)](const ForEach& for_each, const Progress&) {
            return views_of(run_step(asked, load_parts(), for_each), step_text,
                            [](const StepResult& result) { return step_report(result); });
          }};
}

Question ask_plan(const std::string& text, const std::string& file) {
  const auto asked = std::make_shared<const PlanQuestion>(parse_plan_question(text, file));
  Question out;
  for (const NamedConfig& one : asked->configs) out.jobs.push_back(one.config);
  out.answer = [asked](const ForEach& for_each, const Progress& progress) {
    return views_of(run_plans(asked->configs, load_parts(), asked->limits, progress, for_each),
                    plan_text, plan_report);
  };
  return out;
}

Question ask_serve(const std::string& text, const std::string& file) {
  ServeConfig asked = parse_serve(text, file);
  const Job job = asked.site;
  return {{}, {job}, [asked = std::move(asked)](const ForEach& for_each, const Progress& progress) {
            return views_of(run_served({asked}, load_parts(), for_each, progress), served_text,
                            served_report);
          }};
}

Question ask_hang(const std::string& text, const std::string& file) {
  const auto asked = std::make_shared<const HangScenario>(parse_hang_scenario(text, file));
  Question out;
  out.jobs = {load_step(asked->layout)};
  out.answer = [asked](const ForEach&, const Progress&) {
    HangAnswer found = run_hang_scenario(*asked, load_parts());
    const bool holds = found.holds;
    Answer answer = views_of(std::move(found), hang_answer_text, [](const HangAnswer& one) {
      return hang_report(one.result, one.scenario.timeout_s);
    });
    answer.holds = holds;
    return answer;
  };
  return out;
}

Question ask_rules(const std::string& text, const std::string& file) {
  const auto asked = std::make_shared<const RuleFile>(parse_rules(text, file, {}));
  Question out;
  out.jobs = jobs_of(*asked);
  out.answer = [asked](const ForEach& for_each, const Progress&) {
    RulesRun run{"", run_rules(*asked, load_parts(asked->parts), for_each), {}};
    const bool holds = expectations_text(run.result).empty();
    Answer answer = views_of(
        std::move(run),
        [](const RulesRun& one) {
          return rules_text(one.result, false) + expectations_text(one.result);
        },
        [](const RulesRun& one) { return rules_report({one}); });
    answer.holds = holds;
    return answer;
  };
  return out;
}

Question ask_compare(const std::string& text, const std::string& file) {
  const auto asked = std::make_shared<const CompareAsk>(parse_compare(text, file));
  Question out;
  out.jobs = compared_jobs(*asked);
  out.answer = [asked](const ForEach& for_each, const Progress&) {
    CompareResult result = run_compare(*asked, load_parts(asked->parts), for_each);
    return views_of(
        std::move(result),
        [](const CompareResult& one) { return compare_text(one, load_bands(one.ask.parts)); },
        [](const CompareResult& one) { return compare_report(one, load_bands(one.ask.parts)); });
  };
  return out;
}

Question ask(QuestionKind kind, const std::string& text, const std::string& file) {
  switch (kind) {
    case QuestionKind::scenario:  // study: bench, decide, concurrent, whatif
      return ask_scenario(text, file);
    case QuestionKind::step:
      return ask_step(text, file);
    case QuestionKind::plan:
      return ask_plan(text, file);
    case QuestionKind::serve:
      return ask_serve(text, file);
    case QuestionKind::hang:
      return ask_hang(text, file);
    case QuestionKind::rules:
      return ask_rules(text, file);
    case QuestionKind::compare:
      return ask_compare(text, file);
  }
  return {};
}

/// Of many questions.
void refuse_sweep(const YamlNode& tree, const Reader& in, const std::string& file) {
  const auto key = std::ranges::find(tree.keys, "kind");
  if (key == tree.keys.end()) return;
  if (tree.items[static_cast<std::size_t>(key - tree.keys.begin())].text != "sweep") return;
  in.fail("kind", "this is a file of kind sweep, not of one question",
          fmt::format("fabricast sweep {}", shell_word(file)));
}

}  // namespace

Question parse_question(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  refuse_sweep(tree, in, file);
  const QuestionKind kind = in.choice("kind", kQuestionKindWords);
  Question out = ask(kind, text, file);
  out.kind = kQuestionKindWords[kind];
  out.answer = [answer = std::move(out.answer), file](const ForEach& for_each,
                                                      const Progress& progress) {
    return placed(Place{file, 0, {}}, [&] { return answer(for_each, progress); });
  };
  return out;
}

}  // namespace fabricast
