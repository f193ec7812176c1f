#include <fmt/format.h>

#include <algorithm>

#include "models/io/algorithms/read_algorithm.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/studies/scenario/read_case.hpp"
#include "models/studies/scenario/read_concurrent.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr double kRatioMax = 1e6;

/// What runs in place of NCCL's own.
void read_algorithm(Reader& in, Scenario& scenario, BenchConfig& config) {
  if (!given(in, "algorithm_file")) return;
  scenario.algorithms.push_back(load_algorithm(resolved(in.text("algorithm_file"), scenario.file)));
  config.custom = &scenario.algorithms.back();
  config.collectives = {config.custom->collective};
  config.root = config.custom->root;
}

/// What a study heeds, above its cases or in one of them.
struct AskReader {
  Reader& in;
  Scenario& scenario;
  bool is_case;

  void operator()(BenchConfig& config) const {
    read_bench(in, scenario.file, config);
    read_algorithm(in, scenario, config);
  }
  void operator()(DecideConfig& config) const { read_decide(in, scenario.file, config); }
  void operator()(ConcurrentCase& config) const { read_concurrent_case(in, scenario.file, config); }
  void operator()(Work& work) const {
    if (is_case) {
      read_setup(in, scenario.file, work);
    } else {
      read_work(in, scenario.file, work);
    }
  }
};

CaseAsk new_ask(Study study) {
  switch (study) {
    case Study::bench:
      return BenchConfig();
    case Study::decide:
      return DecideConfig();
    case Study::concurrent:
      return ConcurrentCase();
    case Study::whatif:
      break;
  }
  return Work();
}

/// A key that another study, or a scenario above its cases, heeds is no misspelling.
void check_foreign(const Reader& in, Study study, bool is_case) {
  YamlNode nothing;
  nothing.kind = YamlNode::Kind::mapping;
  Reader probe(nothing, "");
  Scenario unused;
  for (const Study other : {Study::bench, Study::decide, Study::concurrent, Study::whatif}) {
    CaseAsk ask = new_ask(other);
    std::visit(AskReader{probe, unused, false}, ask);
  }
  for (const std::string& key : in.unasked()) {
    if (!probe.knows(key)) continue;
    if (is_case && study == Study::whatif)
      in.fail(key, "cases of study whatif differ by topology, fabric, nccl and environment",
              "say it above cases, for all of them");
    in.fail(key, fmt::format("means nothing to study {}{}", kStudyWords[study],
                             study == Study::decide ? ", which simulates nothing" : ""));
  }
}

std::optional<double> ratio(Reader& in, std::string_view key) {
  return given(in, key) ? std::optional(in.number(key, 0, kRatioMax)) : std::nullopt;
}

template <class T>
std::optional<T> optional(Reader& in, std::string_view key, T (Reader::*get)(std::string_view)) {
  return given(in, key) ? std::optional<T>((in.*get)(key)) : std::nullopt;
}

/// A name of NCCL's, by `from_text`.
template <class T>
std::optional<T> word(Reader& in, std::string_view key,
                      std::optional<T> (*from_text)(std::string_view),
                      const std::vector<std::string>& known) {
  if (!given(in, key)) return std::nullopt;
  const std::string text = in.text(key);
  const std::optional<T> value = from_text(text);
  if (!value) in.fail(key, fmt::format("unknown word \"{}\"", text), hint_nearest(text, known));
  return value;
}

Expectation read_expectation(Reader& in) {
  Expectation out;
  out.place = in.place();
  out.in_case = in.text("case", "");
  out.over = in.text("over", "");
  std::vector<std::string> collectives;
  for (const Collective c : kAllCollectives) collectives.emplace_back(to_text(c));
  std::vector<std::string> algorithms;
  for (const Algorithm a : kAllAlgorithms) algorithms.emplace_back(to_text(a));
  out.collective = word(in, "collective", collective_from_text, collectives);
  if (given(in, "nodes")) out.nodes = in.whole("nodes", 1, kNodesMax);
  out.size = in.bytes("size");
  out.busbw_at_least = optional(in, "busbw_at_least", &Reader::bandwidth);
  out.busbw_at_most = optional(in, "busbw_at_most", &Reader::bandwidth);
  out.time_at_least = optional(in, "time_at_least", &Reader::duration);
  out.time_at_most = optional(in, "time_at_most", &Reader::duration);
  out.busbw_ratio_at_least = ratio(in, "busbw_ratio_at_least");
  out.busbw_ratio_at_most = ratio(in, "busbw_ratio_at_most");
  out.algorithm = word(in, "algorithm", algorithm_from_text, algorithms);
  out.protocol = word(in, "protocol", protocol_from_text, {"LL", "LL128", "Simple"});
  out.limiting_link = in.text("limiting_link", "");
  out.because = in.text("because", "");
  out.measured_busbw = optional(in, "measured_busbw", &Reader::bandwidth);
  out.measured_time = optional(in, "measured_time", &Reader::duration);
  out.measured_busbw_ratio = ratio(in, "measured_busbw_ratio");
  out.source = in.prose("source", "");
  in.finish();
  return out;
}

/// Bounds that fit together, and at least one.
void check_bounds(const Reader& in, const Expectation& e) {
  const bool ratio = e.busbw_ratio_at_least || e.busbw_ratio_at_most || e.measured_busbw_ratio;
  const bool measured = e.measured_busbw || e.measured_time || e.measured_busbw_ratio;
  if (measured && e.source.empty()) in.fail_missing("source", "say who measured it: an address");
  if (!measured && !e.source.empty())
    in.fail("source", "belongs to a measured figure",
            "add measured_busbw, measured_time or measured_busbw_ratio");
  if (e.measured_busbw_ratio && *e.measured_busbw_ratio == 0)
    in.fail("measured_busbw_ratio", "must be above 0");
  if (ratio && e.over.empty()) in.fail("", "a ratio needs \"over\": the case to compare with");
  if (!ratio && !e.over.empty())
    in.fail("over", "compares nothing",
            "add busbw_ratio_at_least, busbw_ratio_at_most or measured_busbw_ratio");
  if (!ratio && !measured && !e.busbw_at_least && !e.busbw_at_most && !e.time_at_least &&
      !e.time_at_most && !e.algorithm && !e.protocol && e.limiting_link.empty())
    in.fail("", "nothing is expected", "add a bound like busbw_at_most: 48 GB/s");
  const auto crossed = [](const auto& low, const auto& high) {
    return low && high && *low > *high;
  };
  if (crossed(e.busbw_at_least, e.busbw_at_most) || crossed(e.time_at_least, e.time_at_most) ||
      crossed(e.busbw_ratio_at_least, e.busbw_ratio_at_most))
    in.fail("", "at_least is above at_most: this can never hold");
}

/// That one row of them is meant.
template <class Config>
void check_run(const Reader& in, const Expectation& e, const Config& config) {
  const auto contains = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (!e.collective && config.collectives.size() > 1)
    in.fail("", fmt::format("{} collectives are run: say which", config.collectives.size()));
  if (e.collective && !contains(config.collectives, *e.collective))
    in.fail("collective", fmt::format("{} is not run", to_text(*e.collective)));
  if (!e.nodes && config.nodes.size() > 1)
    in.fail("", fmt::format("{} numbers of nodes are run: say which", config.nodes.size()));
  if (e.nodes && !config.nodes.empty() && !contains(config.nodes, *e.nodes))
    in.fail("nodes", fmt::format("{} nodes are not run", *e.nodes));
  if (!contains(config.sizes, e.size))
    in.fail("size", fmt::format("{} is not run", to_text(e.size)), "name one of the sizes");
}

/// What an expectation speaks of must be one thing that its case runs.
void check_subject(const Reader& in, const Expectation& e, std::string_view key,
                   const std::string& name, const std::vector<ScenarioCase>& cases) {
  std::vector<std::string> names;
  for (const ScenarioCase& one : cases) names.push_back(one.name);
  if (name.empty() && cases.size() > 1)
    in.fail(key, fmt::format("{} cases are run: say which", cases.size()),
            hint_nearest(name, names));
  const auto found = std::find(names.begin(), names.end(), name);
  if (!name.empty() && found == names.end())
    in.fail(key, fmt::format("no case is named \"{}\"", name), hint_nearest(name, names));
  const CaseAsk& ask =
      cases[name.empty() ? 0 : static_cast<std::size_t>(found - names.begin())].ask;
  if (const auto* simulated = std::get_if<BenchConfig>(&ask)) check_run(in, e, *simulated);
  if (const auto* decided = std::get_if<DecideConfig>(&ask)) check_run(in, e, *decided);
}

/// Says what it asks, and on what.
void check_whole(const Reader& in, const ScenarioCase& one) {
  if (one.job().topology.empty()) in.fail_missing("topology", "name a preset or a YAML file");
  if (const auto* groups = std::get_if<ConcurrentCase>(&one.ask)) {
    if (groups->asked.groups.empty()) in.fail_missing("groups", "say what runs at the same time");
    return;
  }
  const auto* simulated = std::get_if<BenchConfig>(&one.ask);
  if (const auto* work = std::get_if<Work>(&one.ask)) simulated = std::get_if<BenchConfig>(work);
  const auto* decided = std::get_if<DecideConfig>(&one.ask);
  if ((simulated != nullptr && simulated->sizes.empty()) ||
      (decided != nullptr && decided->sizes.empty()))
    in.fail_missing("sizes", "write sizes like 8B..1GiB or 1MiB,64MiB");
}

void read_expectations(Reader& in, Scenario& scenario) {
  for (Reader& child : in.children("expect")) {
    if (scenario.study == Study::concurrent) {
      scenario.expectations.push_back(read_concurrent_expectation(child, scenario.cases));
      continue;
    }
    if (scenario.study == Study::whatif) child.fail("", "study whatif takes no expectations");
    if (scenario.study == Study::decide && given(child, "limiting_link"))
      child.fail("limiting_link", "means nothing to study decide, which simulates nothing");
    const Expectation e = read_expectation(child);
    check_bounds(child, e);
    check_subject(child, e, "case", e.in_case, scenario.cases);
    if (!e.over.empty()) check_subject(child, e, "over", e.over, scenario.cases);
    scenario.expectations.push_back(e);
  }
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("scenario");
  Scenario out;
  out.study = in.choice("study", kStudyWords);
  out.file = file;
  out.name = in.text("name");
  out.question = in.prose("question");
  const bool has_rows = out.study == Study::bench || out.study == Study::decide;
  out.summary = has_rows && given(in, "report") && in.choice("report", {"full", "summary"}) == 1;
  if (in.has("parts")) out.parts = resolved(in.text("parts"), file);
  CaseAsk common = new_ask(out.study);
  std::visit(AskReader{in, out, false}, common);
  check_foreign(in, out.study, false);
  for (Reader& child : in.children("cases")) {
    ScenarioCase one{child.text("name"), common, child.place()};
    for (const ScenarioCase& other : out.cases)
      if (other.name == one.name)
        child.fail("name", fmt::format("two cases are named \"{}\"", one.name));
    std::visit(AskReader{child, out, true}, one.ask);
    check_foreign(child, out.study, true);
    child.finish();
    out.cases.push_back(std::move(one));
  }
  if (out.cases.empty()) out.cases.push_back({out.name, common, Place{file, 0, {}}});
  for (ScenarioCase& one : out.cases) one.job().parts = out.parts;
  if (out.study == Study::whatif && out.cases.size() < 2)
    in.fail("cases", "study whatif compares two setups or more", "the first one is before");
  for (const ScenarioCase& one : out.cases) check_whole(in, one);
  read_expectations(in, out);
  in.finish();
  return out;
}

Scenario load_scenario(const std::string& file) {
  return parse_scenario(read_text_file(file, "give the path of a scenario file"), file);
}

}  // namespace fabricast
