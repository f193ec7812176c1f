#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "models/io/reader.hpp"
#include "models/io/unit_text.hpp"
#include "models/io/words.hpp"
#include "models/studies/scenario.hpp"

namespace fabricast {

namespace {

constexpr int kNodesMax = 1 << 20;
constexpr int kGpusMax = 1 << 10;
constexpr double kRatioMax = 1e6;

/// A value that a parser of unit_text refuses gets the place of its key.
template <class Parse>
auto parsed(Reader& in, std::string_view key, Parse parse) {
  const std::string text = in.text(key);
  try {
    return parse(text);
  } catch (const Error& error) {
    const std::string what = error.what();
    const std::size_t hint = what.find("\nhint: ");
    in.fail(key, what.substr(0, hint),
            hint == std::string::npos ? std::string() : what.substr(hint + 7));
  }
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.emplace_back(trimmed(word));
  return out;
}

std::vector<Collective> collectives(const std::string& text) {
  std::vector<Collective> out;
  for (const std::string& name : split(text)) {
    const auto collective = collective_from_text(name);
    if (!collective) {
      std::vector<std::string> known;
      for (const Collective c : kAllCollectives) known.emplace_back(to_text(c));
      throw Error(fmt::format("unknown collective \"{}\"", name), hint_nearest(name, known));
    }
    out.push_back(*collective);
  }
  return out;
}

/// A path is meant relative to the scenario's folder, a preset's name is not.
std::string resolved(const std::string& name, const std::string& scenario_file) {
  const std::filesystem::path beside = std::filesystem::path(scenario_file).parent_path() / name;
  return std::filesystem::is_regular_file(beside) ? beside.string() : name;
}

/// What a case may say; what it does not say stays as in `config`.
void read_case(Reader& in, const std::string& file, BenchConfig& config) {
  if (in.has("topology")) config.topology = resolved(in.text("topology"), file);
  if (in.has("fabric")) config.fabric = resolved(in.text("fabric"), file);
  if (in.has("nodes"))
    config.nodes = parsed(in, "nodes", [](auto& t) { return parse_counts(t, "nodes", kNodesMax); });
  if (in.has("gpus_per_node")) config.gpus_per_node = in.whole("gpus_per_node", 1, kGpusMax);
  if (in.has("gpus_per_process"))
    config.gpus_per_process = in.whole("gpus_per_process", 1, kGpusMax);
  if (in.has("nccl"))
    config.version = parsed(in, "nccl", [](auto& t) { return nccl_version_from_text(t); });
  if (in.has("collective")) config.collectives = parsed(in, "collective", collectives);
  if (in.has("sizes")) config.sizes = parsed(in, "sizes", [](auto& t) { return parse_sizes(t); });
  if (in.has("datatype")) {
    config.datatype = in.text("datatype");
    parsed(in, "datatype", [](auto& t) { return datatype_bytes(t); });
  }
  config.root = in.whole("root", 0, kNodesMax, config.root);
  if (in.has("environment")) {
    Reader environment = in.child("environment");
    for (const std::string& name : environment.keys())
      config.environment.set(name, environment.text(name));
  }
}

template <class T>
std::optional<T> optional(Reader& in, std::string_view key, T (Reader::*get)(std::string_view)) {
  return in.has(key) ? std::optional<T>((in.*get)(key)) : std::nullopt;
}

Expectation read_expectation(Reader& in) {
  Expectation out;
  out.place = in.place();
  out.in_case = in.text("case", "");
  out.over = in.text("over", "");
  if (in.has("collective")) out.collective = parsed(in, "collective", collectives).front();
  if (in.has("nodes")) out.nodes = in.whole("nodes", 1, kNodesMax);
  out.size = in.bytes("size");
  out.busbw_at_least = optional(in, "busbw_at_least", &Reader::bandwidth);
  out.busbw_at_most = optional(in, "busbw_at_most", &Reader::bandwidth);
  out.time_at_least = optional(in, "time_at_least", &Reader::duration);
  out.time_at_most = optional(in, "time_at_most", &Reader::duration);
  if (in.has("busbw_ratio_at_least"))
    out.busbw_ratio_at_least = in.number("busbw_ratio_at_least", 0, kRatioMax);
  if (in.has("busbw_ratio_at_most"))
    out.busbw_ratio_at_most = in.number("busbw_ratio_at_most", 0, kRatioMax);
  if (in.has("algorithm")) {
    out.algorithm = algorithm_from_text(in.text("algorithm"));
    if (!out.algorithm) in.fail("algorithm", "unknown algorithm", "write Ring or Tree");
  }
  if (in.has("protocol")) {
    out.protocol = protocol_from_text(in.text("protocol"));
    if (!out.protocol) in.fail("protocol", "unknown protocol", "write LL, LL128 or Simple");
  }
  out.limiting_link = in.text("limiting_link", "");
  out.because = in.text("because", "");
  if (out.over.empty() && (out.busbw_ratio_at_least || out.busbw_ratio_at_most))
    in.fail("", "a ratio needs `over`: the case to compare with");
  in.finish();
  return out;
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"scenario"});
  in.choice("study", {"bench"});
  Scenario out;
  out.file = file;
  out.name = in.text("name");
  out.question = in.text("question");
  BenchConfig config;
  read_case(in, file, config);
  for (Reader& child : in.children("cases")) {
    ScenarioCase one{child.text("name"), config};
    for (const ScenarioCase& other : out.cases)
      if (other.name == one.name)
        child.fail("name", fmt::format("two cases are named \"{}\"", one.name));
    read_case(child, file, one.config);
    child.finish();
    out.cases.push_back(std::move(one));
  }
  if (out.cases.empty()) out.cases.push_back({out.name, config});
  for (Reader& child : in.children("expect")) out.expectations.push_back(read_expectation(child));
  in.finish();
  for (const ScenarioCase& one : out.cases) {
    if (one.config.topology.empty())
      in.fail("topology", "is missing", "name a preset or a YAML file");
    if (one.config.sizes.empty())
      in.fail("sizes", "is missing", "write sizes like 8B..1GiB or 1MiB,64MiB");
  }
  return out;
}

Scenario load_scenario(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(Place{file, 0, {}}, "cannot be read", "give the path of a scenario file");
  std::ostringstream text;
  text << in.rdbuf();
  return parse_scenario(text.str(), file);
}

}  // namespace fabricast
