#include "models/studies/bench/network.hpp"

#include <fmt/format.h>

#include "models/hardware/networks/refusals.hpp"
#include "models/nccl/environment/faults.hpp"
#include "models/nccl/environment/ib_settings.hpp"
#include "models/studies/bench/link_names.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"

namespace fabricast {

namespace {

constexpr const char* kTrafficGrammar =
    "write: uplinks 40%, trunks 40% sl 1, or the name of a link: leaf0.0 -> spine3 40%";
// About a minute of work, and 2 GB of flows.
constexpr std::uint64_t kPacketsMax = 100'000'000;
constexpr std::uint64_t kFlowsMax = 20'000'000;

bool climbs(const Cluster& cluster, LinkId link) {
  return cluster.link_from(link).which.tier < cluster.link_to(link).which.tier;
}

std::vector<LinkId> links_of(const Cluster& cluster, const BackgroundSpec& spec) {
  const bool up = spec.links == "uplinks", down = spec.links == "downlinks";
  std::vector<LinkId> out;
  if (!up && !down && spec.links != "trunks") {
    out = find_links(cluster, spec.links);
    for (const LinkId link : out) {
      if (!cluster.is_fabric_link(link))
        throw Error(fmt::format("\"{}\": {} is inside a node", spec.text, cluster.link_name(link)),
                    "background traffic is that of other nodes, on links of the fabric");
    }
    return out;
  }
  for (std::uint32_t id = index_of(cluster.first_fabric_link()); id < cluster.cables(); ++id) {
    const LinkId link{id};
    if (!cluster.is_trunk(link)) continue;
    if ((up && !climbs(cluster, link)) || (down && climbs(cluster, link))) continue;
    out.push_back(link);
  }
  if (out.empty())
    throw Error(fmt::format("\"{}\": the fabric has no {}", spec.text, spec.links),
                "a single leaf has none: name a port, like leaf0.0 -> node1: mlx5_0");
  return out;
}

std::uint8_t priority_of(const Cluster& cluster, int number) {
  const auto known = cluster.fabric().classes.find(number);
  return known == cluster.fabric().classes.end() ? std::uint8_t{0}
                                                 : static_cast<std::uint8_t>(known->second);
}

void add_background(const BackgroundSpec& spec, const Cluster& cluster, NetworkPlan& plan) {
  const bool ethernet = cluster.fabric().leaf.is_ethernet();
  if (spec.number && spec.by_traffic_class != ethernet)
    throw Error(fmt::format("\"{}\": the fabric is {}", spec.text,
                            ethernet ? "Ethernet: it has traffic classes (tc)"
                                     : "InfiniBand: it has service levels (sl)"));
  const std::uint8_t priority = priority_of(cluster, spec.number.value_or(0));
  for (const LinkId link : links_of(cluster, spec)) {
    double share = spec.share;
    for (const BackgroundLoad& other : plan.background)
      if (other.link == link) share += other.share;
    if (share >= 1)
      throw Error(fmt::format("\"{}\": {} would be full of background traffic", spec.text,
                              cluster.link_name(link)),
                  "leave something: less than 100% on each link");
    plan.background.push_back({link, spec.share, priority});
  }
}

}  // namespace

BackgroundSpec parse_background(std::string_view text) {
  BackgroundSpec spec;
  std::vector<std::string> words = words_of(text);
  for (const std::string& word : words) spec.text += (spec.text.empty() ? "" : " ") + word;
  const auto refuse = [&] {
    throw Error(fmt::format("\"{}\" is no background traffic", spec.text), kTrafficGrammar);
  };
  if (words.size() >= 2 && (words[words.size() - 2] == "sl" || words[words.size() - 2] == "tc")) {
    spec.by_traffic_class = words[words.size() - 2] == "tc";
    const std::string& digits = words.back();
    const int number = to_number<int>(digits).value_or(-1);
    const int most = spec.by_traffic_class ? 255 : 15;
    if (number < 0 || number > most)
      throw Error(fmt::format("\"{}\": {} {} is not from 0 to {}", spec.text,
                              words[words.size() - 2], digits, most));
    spec.number = number;
    words.resize(words.size() - 2);
  }
  if (words.size() < 2) refuse();
  spec.share = share_of(words.back());
  words.pop_back();
  for (const std::string& word : words) spec.links += (spec.links.empty() ? "" : " ") + word;
  return spec;
}

namespace {

/// Of a fabric that was named; "" where its switches are of the NICs' kind. TCP goes over any.
std::string other_kind_note(const Cluster& cluster) {
  const auto& nics = cluster.node().nics();
  if (cluster.fabric().is_default || nics.empty()) return {};
  const NetKind network = nics.front().part.network;
  const FabricSwitchPart& leaf = cluster.fabric().leaf;
  if (network == NetKind::sockets || link_layer_of(network) == leaf.link_layer) return {};
  return fmt::format("The nodes' NICs are for {} ({}), the fabric's leaf {} is {}.",
                     kLinkLayerNames[link_layer_of(network)], to_text(network), leaf.name,
                     kLinkLayerNames[leaf.link_layer]);
}

}  // namespace

NetworkPlan plan_network(const NetworkConfig& config, const Cluster& cluster,
                         const Environment& environment, NcclVersion version,
                         std::vector<std::string>& notes) {
  NetworkPlan plan;
  plan.rung = config.rung;
  plan.routing = cluster.fabric().routing;
  plan.pooled = cluster.pools_cables();
  plan.seeds = {config.seed, config.seed + 1};
  const auto ib = read_ib_settings(environment, version, notes);
  if (cluster.nodes() == 1) {
    // Nothing crosses the fabric: only the fluid differs from the chunk rung.
    if (!config.background.empty())
      throw Error("background traffic meets nothing: one node alone does not use the fabric",
                  "ask for more --nodes");
    if (plan.rung != Rung::flow) plan.rung = Rung::chunk;
    plan.routing = Routing::by_destination;
    return plan;
  }
  if (std::string note = other_kind_note(cluster); !note.empty()) notes.push_back(std::move(note));
  plan.queue_pairs = ib.queue_pairs;
  plan.split = ib.split;
  const bool ethernet = cluster.fabric().leaf.is_ethernet();
  const int number = ethernet ? ib.traffic_class : ib.service_level;
  plan.priority = priority_of(cluster, number);
  for (const BackgroundSpec& spec : config.background) add_background(spec, cluster, plan);
  if (number != 0 && !plan.background.empty() && !cluster.fabric().classes.contains(number))
    notes.push_back(fmt::format("{}={}: the fabric gives it no priority of its own.",
                                ethernet ? "NCCL_IB_TC" : "NCCL_IB_SL", number));
  if (!plan.background.empty() && plan.rung == Rung::chunk) refuse(Refused::background_on_chunk);
  if (plan.rung == Rung::packet) {
    std::vector<std::string> repeated;
    plan.retry = ib_retry(environment, version, repeated);
  }
  return plan;
}

std::string network_text(const NetworkPlan& plan, const Cluster& cluster) {
  if (plan.far_ways() == FarWays::by_destination) return "";
  std::string out = fmt::format("{}, {} routing", to_text(plan.rung), to_text(plan.routing));
  if (plan.rung == Rung::packet)
    out += cluster.fabric().leaf.is_ethernet()
               ? (cluster.fabric().dcqcn ? ", pauses and DCQCN" : ", pauses")
               : ", credits";
  if (plan.queue_pairs > 1)
    out += fmt::format(", {} queue pairs per connection{}", plan.queue_pairs,
                       plan.split ? " with slices split over them" : "");
  if (!plan.background.empty())
    out += fmt::format(", background on {}",
                       counted(static_cast<std::int64_t>(plan.background.size()), "link"));
  return out;
}

std::string static_instead(const Cluster& cluster) {
  const Routing routing = cluster.fabric().routing;
  const bool pools =
      routing == Routing::adaptive && cluster.fabric().kind != FabricConfig::Kind::dragonfly;
  if (routing == Routing::by_destination || pools) return "";
  return fmt::format("fabric {} has {} routing: these collectives take static routes.",
                     cluster.fabric().name, to_text(routing));
}

std::uint64_t packets_passed_on(const Cluster& cluster, const RunFacts& on_chunk) {
  const std::int64_t payload = cluster.fabric().leaf.packet_payload.count;
  std::int64_t out = 0;
  for (const LinkLoad& load : on_chunk.links) {
    if (cluster.is_fabric_link(load.link)) out += (load.carried.count / payload + 1) * load.copies;
  }
  return static_cast<std::uint64_t>(out);
}

void check_size(Rung rung, const Cluster& cluster, const RunFacts& on_chunk, int copies) {
  if (rung == Rung::chunk) return;
  const auto alike = static_cast<std::uint64_t>(copies);
  if (rung == Rung::flow) {
    const std::uint64_t flows = on_chunk.events / alike;
    if (flows <= kFlowsMax) return;
    throw Error(fmt::format("the flow rung would have {} million flows: at most {} million",
                            flows / 1'000'000, kFlowsMax / 1'000'000),
                "smaller --sizes or fewer --nodes, or --network chunk");
  }
  const std::uint64_t packets = packets_passed_on(cluster, on_chunk) / alike;
  if (packets <= kPacketsMax) return;
  throw Error(fmt::format("the packet rung would have {} million packets to pass on (packets times "
                          "links): at most {} million",
                          packets / 1'000'000, kPacketsMax / 1'000'000),
              "smaller --sizes or fewer --nodes, or --network flow");
}

}  // namespace fabricast
