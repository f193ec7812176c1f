#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/io/read_algorithm.hpp"
#include "models/io/read_concurrent.hpp"
#include "models/io/reader.hpp"
#include "models/io/text_file.hpp"
#include "models/io/unit_text.hpp"
#include "models/io/words.hpp"
#include "models/studies/scenario.hpp"

namespace fabricast {

namespace {

constexpr int kGpusMax = 1 << 10;
constexpr int kSeedMax = 1 << 30;
constexpr double kRatioMax = 1e6;

/// Is the key there? Asking also makes it known, for the hint on a misspelt one.
bool given(Reader& in, std::string_view key) { return !in.text(key, "").empty(); }

/// A value that a parser of unit_text refuses gets the place of its key.
template <class Parse>
auto parsed(Reader& in, std::string_view key, Parse parse) {
  const std::string text = in.text(key);
  try {
    return parse(text);
  } catch (const Error& error) {
    in.fail(key, error.what());
  }
}

/// A path is meant relative to the scenario's folder, a preset's name is not.
std::string resolved(const std::string& name, const std::string& scenario_file) {
  const std::filesystem::path beside = std::filesystem::path(scenario_file).parent_path() / name;
  std::error_code ignored;
  return std::filesystem::is_regular_file(beside, ignored) ? beside.string() : name;
}

void read_environment(Reader& in, Environment& environment) {
  if (!in.has("environment")) {
    in.table("environment");  // makes the key known
    return;
  }
  Reader variables = in.child("environment");
  for (const std::string& name : variables.keys()) environment.set(name, variables.text(name));
}

/// A case's own replace those of the scenario.
void read_faults(Reader& in, Study study, std::vector<FaultSpec>& faults) {
  const std::vector<std::string> texts = in.texts("faults");
  if (!in.has("faults")) return;
  if (study == Study::decide)
    in.fail("faults", "means nothing to study decide, which simulates nothing");
  faults.clear();
  for (const std::string& text : texts) {
    try {
      faults.push_back(parse_fault(text));
    } catch (const Error& error) {
      in.fail("faults", error.what());
    }
  }
}

/// A case's own background traffic replaces that of the scenario.
void read_network(Reader& in, Study study, NetworkConfig& network) {
  if (given(in, "network"))
    network.rung = *rung_from_text(rung_words()[in.choice("network", rung_words())]);
  if (given(in, "routing"))
    network.routing = *routing_from_text(routing_words()[in.choice("routing", routing_words())]);
  network.seed =
      static_cast<std::uint64_t>(in.whole("seed", 0, kSeedMax, static_cast<int>(network.seed)));
  const std::vector<std::string> texts = in.texts("background");
  if (!in.has("background")) return;
  if (study == Study::decide)
    in.fail("background", "means nothing to study decide, which simulates nothing");
  network.background.clear();
  for (const std::string& text : texts) {
    try {
      network.background.push_back(parse_background(text));
    } catch (const Error& error) {
      in.fail("background", error.what());
    }
  }
}

/// `decide` simulates nothing: keys that only a simulation heeds are mistakes there.
void check_not_simulated(Reader& in, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (given(in, key)) in.fail(key, "means nothing to study decide, which simulates nothing");
  }
}

/// Keys that the study does not heed are mistakes.
void check_not_concurrent(Reader& in) {
  for (const char* key :
       {"algorithm_file", "report", "collective", "sizes", "gpus_per_process", "root", "explain",
        "split", "faults", "network", "routing", "seed", "background"}) {
    if (in.has(key))
      in.fail(key, "means nothing to study concurrent",
              "its groups say what they run: groups: [{name: TP, over: tp, collective: all_reduce, "
              "size: 64 MiB}]");
  }
}

/// What a case may say; what it does not say stays as in `config`.
void read_case(Reader& in, const std::string& file, Study study, BenchConfig& config) {
  if (study == Study::decide)
    check_not_simulated(in, {"algorithm_file", "fabric", "gpus_per_process", "datatype", "root",
                             "explain", "network", "routing", "seed", "split"});
  if (study == Study::concurrent) check_not_concurrent(in);
  if (given(in, "topology")) config.topology = resolved(in.text("topology"), file);
  if (given(in, "fabric")) config.fabric = resolved(in.text("fabric"), file);
  if (given(in, "nodes"))
    config.nodes = parsed(in, "nodes", [](auto& t) { return parse_counts(t, "nodes", kNodesMax); });
  config.gpus_per_node = in.whole("gpus_per_node", 1, kGpusMax, config.gpus_per_node);
  config.sharp = in.flag("sharp", config.sharp);
  config.gpus_per_process = in.whole("gpus_per_process", 1, kGpusMax, config.gpus_per_process);
  if (given(in, "nccl")) config.version = parsed(in, "nccl", nccl_version_from_text);
  if (given(in, "collective")) config.collectives = parsed(in, "collective", parse_collectives);
  if (given(in, "sizes")) config.sizes = parsed(in, "sizes", parse_sizes);
  if (given(in, "datatype")) {
    config.datatype = in.text("datatype");
    parsed(in, "datatype", datatype_bytes);
  }
  if (given(in, "algorithm_file")) {
    config.custom = load_algorithm(resolved(in.text("algorithm_file"), file));
    config.collectives = {config.custom->collective};
    config.root = config.custom->root;
  }
  if (given(in, "split")) config.split = parsed(in, "split", parse_split);
  config.root = in.whole("root", 0, kNodesMax, config.root);
  config.explain = in.flag("explain", config.explain);
  read_network(in, study, config.network);
  read_faults(in, study, config.faults);
  read_environment(in, config.environment);
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
  out.source = in.text("source", "");
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
  out.study = static_cast<Study>(in.choice("study", {"bench", "decide", "concurrent"}));
  out.file = file;
  out.name = in.text("name");
  out.question = in.text("question");
  out.summary = given(in, "report") && in.choice("report", {"full", "summary"}) == 1;
  if (in.has("parts")) out.parts = resolved(in.text("parts"), file);
  BenchConfig config;
  read_case(in, file, out.study, config);
  ConcurrentConfig concurrent;
  if (out.study == Study::concurrent) read_concurrent(in, concurrent);
  for (Reader& child : in.children("cases")) {
    ScenarioCase one{child.text("name"), config, concurrent};
    for (const ScenarioCase& other : out.cases)
      if (other.name == one.name)
        child.fail("name", fmt::format("two cases are named \"{}\"", one.name));
    read_case(child, file, out.study, one.config);
    if (out.study == Study::concurrent) read_concurrent(child, one.concurrent);
    child.finish();
    out.cases.push_back(std::move(one));
  }
  if (out.cases.empty()) out.cases.push_back({out.name, config, concurrent});
  for (const ScenarioCase& one : out.cases) {
    if (one.config.topology.empty())
      in.fail("", "missing key \"topology\"", "name a preset or a YAML file");
    if (out.study == Study::concurrent) {
      if (one.config.nodes.size() > 1)
        in.fail("nodes", "study concurrent takes one number of nodes", "write a case for each");
      if (one.concurrent.groups.empty())
        in.fail("", "missing key \"groups\"", "say what runs at the same time");
    } else if (one.config.sizes.empty())
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
