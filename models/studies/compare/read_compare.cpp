#include "models/studies/compare/read_compare.hpp"

#include <fmt/format.h>

#include "models/hardware/node/node_changes.hpp"
#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/shared/read_job.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

/// The items of a text with commas; none where the key is missing.
std::vector<std::string> listed(Reader& in, const char* key) {
  return comma_words(in.text(key, ""));
}

std::vector<std::string> named(Reader& in, const char* key, const std::string& file,
                               void (*check)(const std::string&)) {
  std::vector<std::string> out;
  for (const std::string& name : listed(in, key)) {
    out.push_back(resolved(name, file));
    placed(in.place(key), [&] { check(out.back()); });
  }
  return out;
}

template <class Parse>
auto placed_text(Reader& in, const char* key, const std::string& otherwise, Parse parse) {
  const std::string text = in.text(key, otherwise);
  return placed(in.place(key), [&] { return parse(text); });
}

}  // namespace

std::vector<bool> parse_on_off(const std::string& text) {
  std::vector<bool> out;
  for (const std::string_view word : comma_items(text)) {
    if (word != "on" && word != "off" && word != "true" && word != "false")
      throw Error(fmt::format("\"{}\" is neither on nor off", word));
    out.push_back(word == "on" || word == "true");
  }
  return out;
}

CompareAsk parse_compare(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("compare");
  CompareAsk out;
  (void)in.prose("title", "");
  (void)in.text("topology");  // which may not lack
  out.topologies = named(in, "topology", file, check_topology_name);
  out.fabrics = named(in, "fabric", file, check_fabric_name);
  if (in.has("nics"))
    out.nics =
        placed_text(in, "nics", "", [](auto& t) { return parse_counts(t, "nics", kNicsMax); });
  if (in.has("sharp")) out.sharp = placed_text(in, "sharp", "", parse_on_off);
  for (const std::string& release : listed(in, "nccl"))
    out.versions.push_back(
        placed(in.place("nccl"), [&] { return nccl_version_from_text(release); }));
  out.nodes =
      placed_text(in, "nodes", "1", [](auto& t) { return parse_counts(t, "nodes", kNodesMax); });
  out.collectives =
      placed_text(in, "collective", "all_reduce", [](auto& t) { return parse_collectives(t); });
  out.sizes = placed_text(in, "sizes", "1GiB", [](auto& t) { return parse_sizes(t); });
  read_environment(in, out.environment);
  if (in.has("layout"))
    out.step = placed_text(in, "layout", "", [&](auto& t) { return load_step(resolved(t, file)); });
  out.gpus_per_node = read_gpus_per_node(in);
  if (in.has("parts")) out.parts = resolved(in.text("parts"), file);
  const std::string prices = in.text("prices", "");
  out.prices = load_prices(prices.empty() ? "" : resolved(prices, file), load_parts(out.parts));
  in.finish();
  return out;
}

}  // namespace fabricast
