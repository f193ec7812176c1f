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

/// The training step that study whatif changes the setup of, and what its layout file says of it.
void read_step(Reader& in, Scenario& scenario, BenchConfig& config) {
  if (!given(in, "layout")) return;
  for (const char* key : {"collective", "sizes", "nodes", "gpus_per_node"})
    if (in.has(key)) in.fail(key, "means nothing beside layout, which says what runs, and on what");
  scenario.step = load_step(resolved(in.text("layout"), scenario.file));
  static_cast<Job&>(config) = *scenario.step;
}

/// What runs in place of NCCL's own.
void read_algorithm(Reader& in, Scenario& scenario, BenchConfig& config) {
  if (!given(in, "algorithm_file")) return;
  scenario.algorithms.push_back(load_algorithm(resolved(in.text("algorithm_file"), scenario.file)));
  config.custom = &scenario.algorithms.back();
  config.collectives = {config.custom->collective};
  config.root = config.custom->root;
}

/// Keys that say what is asked for, or that this study does not heed.
void check_setup(Reader& in, bool is_case) {
  for (const char* key : {"algorithm_file", "faults", "network", "routing", "seed", "background",
                          "split", "report", "explain", "expect"})
    if (in.has(key)) in.fail(key, "is not heeded by study whatif");
  if (!is_case) return;
  for (const char* key : {"collective", "sizes", "datatype", "root", "layout"})
    if (in.has(key)) in.fail(key, "cases of study whatif do the same work", "say it above cases");
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
  if (measured && e.source.empty())
    in.fail("", "missing key \"source\"", "say who measured it: an address");
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
  const BenchConfig& config =
      cases[name.empty() ? 0 : static_cast<std::size_t>(found - names.begin())].config;

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

void read_expectations(Reader& in, Scenario& scenario) {
  for (Reader& child : in.children("expect")) {
    if (scenario.study == Study::concurrent) {
      scenario.expectations.push_back(read_concurrent_expectation(child, scenario.cases));
      continue;
    }
    if (scenario.study == Study::decide) check_not_simulated(child, {"limiting_link"});
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
  in.choice("kind", {"scenario"});
  Scenario out;
  out.study = in.choice("study", enum_words<Study>("bench", "decide", "concurrent", "whatif"));
  out.file = file;
  out.name = in.text("name");
  out.question = in.prose("question");
  out.summary = given(in, "report") && in.choice("report", {"full", "summary"}) == 1;
  if (in.has("parts")) out.parts = resolved(in.text("parts"), file);
  BenchConfig config;
  if (out.study == Study::whatif) {
    check_setup(in, false);
    read_step(in, out, config);
  }
  read_case(in, file, out.study, config);
  read_algorithm(in, out, config);
  ConcurrentConfig concurrent;
  if (out.study == Study::concurrent) read_concurrent(in, concurrent);
  for (Reader& child : in.children("cases")) {
    ScenarioCase one{child.text("name"), config, concurrent};
    for (const ScenarioCase& other : out.cases)
      if (other.name == one.name)
        child.fail("name", fmt::format("two cases are named \"{}\"", one.name));
    if (out.study == Study::whatif) check_setup(child, true);
    read_case(child, file, out.study, one.config);
    read_algorithm(child, out, one.config);
    if (out.study == Study::concurrent) read_concurrent(child, one.concurrent);
    child.finish();
    out.cases.push_back(std::move(one));
  }
  if (out.cases.empty()) out.cases.push_back({out.name, config, concurrent});
  if (out.study == Study::whatif && out.cases.size() < 2)
    in.fail("cases", "study whatif compares two setups or more", "the first one is before");
  for (const ScenarioCase& one : out.cases) {
    if (one.config.topology.empty())
      in.fail("", "missing key \"topology\"", "name a preset or a YAML file");
    if (out.study == Study::concurrent) {
      if (one.config.nodes.size() > 1)
        in.fail("nodes", "study concurrent takes one number of nodes", "write a case for each");
      if (one.concurrent.groups.empty())
        in.fail("", "missing key \"groups\"", "say what runs at the same time");
    } else if (one.config.sizes.empty() && !out.step)
      in.fail("", "missing key \"sizes\"", "write sizes like 8B..1GiB or 1MiB,64MiB");
  }
  read_expectations(in, out);
  in.finish();
  return out;
}

Scenario load_scenario(const std::string& file) {
  return parse_scenario(read_text_file(file, "give the path of a scenario file"), file);
}

}  // namespace fabricast
