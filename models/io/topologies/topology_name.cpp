#include "models/io/topologies/topology_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/io/topologies/read_fabric.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kCardPortsMax = 4;
constexpr int kAliasGpusMax = 128;
constexpr int kAliasNodesMax = 256;

int nics_from_text(const std::string& text) {
  const int count = to_number<int>(text).value_or(0);
  if (count < 1 || count > kNicsMax)
    throw Error(fmt::format("nics: \"{}\" is not a whole number from 1 to {}", text, kNicsMax));
  return count;
}

NetKind network_from_text(const std::string& text) {
  return placed({{}, 0, "network"}, [&] { return kNetKindWords.parse("word", text); });
}

void set(const std::string& key, const std::string& value, NodeChanges& out) {
  if (key == "nics") {
    out.nics = nics_from_text(value);
  } else if (key == "gpu") {
    out.gpu = value;
  } else if (key == "nic") {
    out.nic = value;
  } else if (key == "network") {
    out.network = network_from_text(value);
  } else {
    throw Error(fmt::format("a topology has no \"{}\" that could be changed", key),
                hint_nearest(key, {"nics", "gpu", "nic", "network"}));
  }
}

/// composed: {gpus: 8, gpu: H800_SXM, joined: nvswitch, nics: 8, nic: ConnectX-7}
NodeShape read_shape(Reader in) {
  NodeShape out;
  out.gpu = in.text("gpu");
  out.kind = in.choice("joined", kNodeKindWords);
  out.gpus = in.whole("gpus", 1, kAliasGpusMax);
  out.nics = in.whole("nics", 0, kNicsMax, 0);
  if (out.nics > 0) out.nic = in.text("nic");
  if (in.has("nic_rate")) out.nic_rate = in.bandwidth("nic_rate");
  out.ports = in.whole("ports", 1, kCardPortsMax, 1);
  if (in.has("network")) out.network = in.choice("network", kNetKindWords);
  out.peer_to_peer = in.flag("peer_to_peer", false);
  in.finish();
  return out;
}

TopologyAlias read_alias(const std::string& name, Reader& in) {
  TopologyAlias out;
  out.name = name;
  if (in.has("composed")) {
    out.composed = read_shape(in.child("composed"));
    out.is = to_text(*out.composed);
  } else {
    out.is = in.text("is");
  }
  out.nodes = in.whole("nodes", 1, kAliasNodesMax, 0);
  out.what = in.text("what");
  out.source = in.text("source");
  in.finish();
  return out;
}

struct SplitName {
  std::string base;
  std::vector<std::pair<std::string, std::string>> changes;  ///< key and value
};

/// "x:nics=4:gpu=B200_SXM" at its changes.
SplitName split(const std::string& text) {
  SplitName out{text, {}};
  while (true) {
    const std::size_t colon = out.base.rfind(':');
    const std::size_t equals = out.base.find('=', colon == std::string::npos ? 0 : colon);
    if (colon == std::string::npos || equals == std::string::npos) break;
    out.changes.emplace_back(out.base.substr(colon + 1, equals - colon - 1),
                             out.base.substr(equals + 1));
    out.base.resize(colon);
  }
  std::ranges::reverse(out.changes);
  return out;
}

}  // namespace

TopologyName parse_topology_name(const std::string& text) {
  const SplitName name = split(text);
  TopologyName out{name.base, {}};
  for (const auto& [key, value] : name.changes) set(key, value, out.changes);
  return out;
}

FabricName parse_fabric_name(const std::string& text) {
  const SplitName name = split(text);
  FabricName out{name.base, 0};
  for (const auto& [key, value] : name.changes) {
    if (key != "oversubscription")
      throw Error(fmt::format("a fabric has no \"{}\" that could be changed", key),
                  hint_nearest(key, {"oversubscription"}));
    const std::optional<double> ratio = finite_number(value);
    if (!ratio || *ratio < 1 || *ratio > kOversubscriptionMax)
      throw Error(fmt::format("oversubscription: \"{}\" is not a number from 1 to {}", value,
                              kOversubscriptionMax));
    out.oversubscription = *ratio;
  }
  return out;
}

std::string with_change(const std::string& name, const std::string& key, const std::string& value) {
  const SplitName had = split(name);
  std::string out = had.base;
  for (const auto& [own, text] : had.changes)
    if (own != key) out += fmt::format(":{}={}", own, text);
  return out + fmt::format(":{}={}", key, value);
}

std::string with_changes(const std::string& topology, const NodeChanges& changes) {
  std::string out = topology;
  if (!changes.gpu.empty()) out += ":gpu=" + changes.gpu;
  if (!changes.nic.empty()) out += ":nic=" + changes.nic;
  if (changes.network) out += fmt::format(":network={}", to_text(*changes.network));
  if (changes.nics > 0) out += fmt::format(":nics={}", changes.nics);
  return out;
}

std::vector<TopologyAlias> parse_aliases(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.choice("kind", {"aliases"});
  std::vector<TopologyAlias> out;
  for (auto& [name, alias] : in.table("aliases")) out.push_back(read_alias(name, alias));
  in.finish();
  return out;
}

std::vector<TopologyAlias> topology_aliases() {
  const std::string file = "aliases";
  return parse_aliases(find_embedded(embedded_topologies(), file)->yaml(), file);
}

std::string to_text(const TopologyAlias& alias) {
  return alias.nodes > 0 ? fmt::format("{} nodes of {}", alias.nodes, alias.is) : alias.is;
}

}  // namespace fabricast
