#include "models/studies/scenario/read_case.hpp"

#include <fmt/format.h>

#include "models/io/formats/text_file.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr int kGpusMax = 1 << 10;
constexpr int kSeedMax = 1 << 30;

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
  for (const std::string& text : texts)
    faults.push_back(placed(in.place("faults"), [&] { return parse_fault(text); }));
}

/// A case's own background traffic replaces that of the scenario.
void read_network(Reader& in, Study study, NetworkConfig& network) {
  if (given(in, "network")) network.rung = in.choice("network", kRungWords);
  if (given(in, "routing")) network.routing = in.choice("routing", kRoutingWords);
  network.seed =
      static_cast<std::uint64_t>(in.whole("seed", 0, kSeedMax, static_cast<int>(network.seed)));
  const std::vector<std::string> texts = in.texts("background");
  if (!in.has("background")) return;
  if (study == Study::decide)
    in.fail("background", "means nothing to study decide, which simulates nothing");
  network.background.clear();
  for (const std::string& text : texts)
    network.background.push_back(
        placed(in.place("background"), [&] { return parse_background(text); }));
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

}  // namespace

void check_not_simulated(Reader& in, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (given(in, key)) in.fail(key, "means nothing to study decide, which simulates nothing");
  }
}

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
  if (given(in, "split")) config.split = parsed(in, "split", parse_split);
  config.root = in.whole("root", 0, kNodesMax, config.root);
  config.explain = in.flag("explain", config.explain);
  read_network(in, study, config.network);
  read_faults(in, study, config.faults);
  read_environment(in, config.environment);
}

}  // namespace fabricast
