// fabricast_ask_readers: what the readers of YAML ask of a file, for schemas.py. Each line of the
// input is a question {"kind", "file", "text"} in JSON, each line of the output an answer:
// {"error": text or null, "asked": [[mapping, key, type, there, min, max, words], ...]}.

#include <cstdio>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "models/io/algorithms/read_algorithm.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/io/formats/key_record.hpp"
#include "models/io/report/report.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/read_fabric.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "models/io/tuners/aws_ofi.hpp"
#include "models/io/workloads/load_engines.hpp"
#include "models/io/workloads/load_kernels.hpp"
#include "models/io/workloads/load_serving.hpp"
#include "models/io/workloads/load_serving_pools.hpp"
#include "models/io/workloads/load_step_fits.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/io/workloads/load_workloads.hpp"
#include "models/studies/accuracy/read_recipe.hpp"
#include "models/studies/compare/read_compare.hpp"
#include "models/studies/hang/hang_question.hpp"
#include "models/studies/placement/placement.hpp"
#include "models/studies/rules/rules.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "models/studies/sweep/sweep.hpp"
#include "models/studies/training/plan_question.hpp"
#include "models/studies/training/serve.hpp"
#include "models/studies/upgrade/read_targets.hpp"

using namespace fabricast;

namespace {

void read_fabric_file(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"fabric"});
  read_fabric(in, load_parts());
}

using Read = void (*)(const std::string& text, const std::string& file);

/// A reader of whole files for each kind: the same that the program has.
const std::map<std::string, Read> kReaders = {
    {"algorithm", [](auto& t, auto& f) { parse_algorithm(t, f); }},
    {"aliases", [](auto& t, auto& f) { parse_aliases(t, f); }},
    {"aws-ofi", [](auto& t, auto& f) { parse_aws_ofi(t, f); }},
    {"calibrated", [](auto& t, auto& f) { parse_calibrated(t, f); }},
    {"calibration", [](auto& t, auto& f) { parse_recipe(t, f); }},
    {"cluster", [](auto& t, auto& f) { parse_cluster(t, f, {}, load_parts()); }},
    {"compare", [](auto& t, auto& f) { parse_compare(t, f); }},
    {"engines", [](auto& t, auto& f) { parse_engines(t, f); }},
    {"experts", [](auto& t, auto& f) { parse_expert_kernels(t, f); }},
    {"fabric", read_fabric_file},
    {"frameworks", [](auto& t, auto& f) { parse_frameworks(t, f); }},
    {"gpus", [](auto& t, auto& f) { parse_compute(t, f); }},
    {"hang", [](auto& t, auto& f) { parse_hang_scenario(t, f); }},
    {"kernels", [](auto& t, auto& f) { parse_kernels(t, f); }},
    {"model", [](auto& t, auto& f) { parse_transformer(t, f); }},
    {"neighbour", [](auto& t, auto& f) { parse_neighbour(t, f); }},
    {"node", [](auto& t, auto& f) { parse_node_type(t, f); }},
    {"parts",
     [](auto& t, auto& f) {
       const PartsCatalogue base = load_parts();
       parse_parts(t, f, &base);
     }},
    {"plan", [](auto& t, auto& f) { parse_plan_question(t, f); }},
    {"prices", [](auto& t, auto& f) { parse_own_prices(t, f, load_prices(), load_parts()); }},
    {"rules", [](auto& t, auto& f) { parse_rules(t, f, {}); }},
    {"scenario", [](auto& t, auto& f) { parse_scenario(t, f); }},
    {"serve", [](auto& t, auto& f) { parse_serve(t, f); }},
    {"step_fits", [](auto& t, auto& f) { parse_step_fits(t, f); }},
    {"serving", [](auto& t, auto& f) { parse_serving(t, f); }},
    {"serving_pools", [](auto& t, auto& f) { parse_serving_pools(t, f); }},
    {"step", [](auto& t, auto& f) { parse_step(t, f); }},
    {"sweep", [](auto& t, auto& f) { parse_sweep(t, f); }},
    {"targets", [](auto& t, auto& f) { parse_upgrade_targets(t, f, {}); }},
    {"variables", [](auto& t, auto& f) { parse_variables(t, f); }},
};

/// Each once; the keys of other files that the reader opens are left out.
Json asked_of(const KeyRecord& record, const std::string& file) {
  Json out = Json::array();
  const auto all = [](const AskedKey& a) {
    return std::tie(a.mapping, a.key, a.type, a.is_there, a.min, a.max, a.words);
  };
  const auto before = [&](const AskedKey* a, const AskedKey* b) { return all(*a) < all(*b); };
  std::set<const AskedKey*, decltype(before)> seen(before);
  for (const AskedKey& one : record.asked()) {
    if (one.file == file && seen.insert(&one).second)
      out.push_back({one.mapping, one.key, one.type, one.is_there, one.min, one.max, one.words});
  }
  return out;
}

Json answer(const Json& question) {
  const std::string file = question.at("file");
  Json error;
  const KeyRecord record;
  try {
    kReaders.at(question.at("kind"))(question.at("text"), file);
  } catch (const Error& refused) {
    error = refused.what();
  }
  return {{"error", error}, {"asked", asked_of(record, file)}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(Json::parse(line)).dump() << std::endl;
  return 0;
}
