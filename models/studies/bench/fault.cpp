#include "models/studies/bench/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>

#include "models/studies/bench/link_names.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr const char* kFaultGrammar =
    "write: link NAME rate 50%, nic node3:mlx5_0 down 2s, link NAME flap 10s 90%, "
    "gpu node0:gpu3 speed 80%, node node1 gdr off";

class FaultReader {
 public:
  explicit FaultReader(std::string_view text) : words_(words_of(text)) {
    spec_.text = std::string(trimmed(text));
  }

  FaultSpec read() {
    if (words_.size() < 3)
      throw Error(fmt::format("\"{}\" is no fault", spec_.text), kFaultGrammar);
    using Part = FaultSpec::Part;
    spec_.part = word<Part>(
        words_[0],
        {{"link", Part::link}, {"nic", Part::nic}, {"gpu", Part::gpu}, {"node", Part::node}});
    using Effect = FaultSpec::Effect;
    // "slow" is what "speed" was called before.
    constexpr std::array<std::pair<const char*, Effect>, 6> kEffects = {{{"rate", Effect::rate},
                                                                         {"speed", Effect::slow},
                                                                         {"slow", Effect::slow},
                                                                         {"down", Effect::down},
                                                                         {"flap", Effect::flap},
                                                                         {"gdr", Effect::gdr_off}}};
    // The name may have blanks in it: the last word that is an effect ends it.
    std::size_t at = words_.size() - 1;
    const auto effect_at = [&](std::size_t i) {
      return std::ranges::find_if(kEffects, [&](auto& e) { return words_[i] == e.first; });
    };
    while (at > 1 && effect_at(at) == kEffects.end()) --at;
    if (at < 2)
      throw Error(fmt::format("\"{}\": what is wrong with it?", spec_.text), kFaultGrammar);
    spec_.effect = effect_at(at)->second;
    for (std::size_t i = 1; i < at; ++i) spec_.name += (i > 1 ? " " : "") + words_[i];
    arguments_.assign(words_.begin() + static_cast<std::ptrdiff_t>(at) + 1, words_.end());
    read_effect();
    if (!arguments_.empty())
      throw Error(fmt::format("\"{}\": unexpected \"{}\"", spec_.text, arguments_.front()),
                  kFaultGrammar);
    return spec_;
  }

 private:
  template <class T>
  static T word(const std::string& text, std::initializer_list<std::pair<const char*, T>> known) {
    std::vector<std::string> names;
    for (const auto& [name, value] : known) {
      if (text == name) return value;
      names.emplace_back(name);
    }
    throw Error(fmt::format("\"{}\" is no part", text), hint_nearest(text, names));
  }

  std::string take(const char* what) {
    if (arguments_.empty())
      throw Error(fmt::format("\"{}\": {} is missing", spec_.text, what), kFaultGrammar);
    std::string out = arguments_.front();
    arguments_.erase(arguments_.begin());
    return out;
  }

  /// "at 5ms", if it stands next.
  std::optional<Instant> start() {
    if (arguments_.empty() || arguments_.front() != "at") return std::nullopt;
    take("at");
    return Instant{parse_duration(take("a time after \"at\"")).ps};
  }

  void read_effect() {
    using Part = FaultSpec::Part;
    using Effect = FaultSpec::Effect;
    if ((spec_.part == Part::gpu) != (spec_.effect == Effect::slow) ||
        (spec_.part == Part::node) != (spec_.effect == Effect::gdr_off))
      throw Error(fmt::format("\"{}\": a GPU has a speed; links and NICs have a rate, are down or "
                              "flap; of a node gdr is off",
                              spec_.text),
                  kFaultGrammar);
    switch (spec_.effect) {
      case FaultSpec::Effect::rate:
      case FaultSpec::Effect::slow:
        spec_.share = share_of(take("a share like 50%"));
        return;
      case FaultSpec::Effect::down:
        if (!arguments_.empty() && arguments_.front() != "at")
          spec_.outage.length = positive(take("a time"));
        spec_.outage.first = start().value_or(Instant{});
        return;
      case FaultSpec::Effect::flap: {
        spec_.outage.period = positive(take("a period like 10s"));
        const double up = share_of(take("the share of the period that it is up, like 90%"));
        const auto up_ps = std::llround(up * static_cast<double>(spec_.outage.period.ps));
        spec_.outage.length = spec_.outage.period - Duration{up_ps};
        if (spec_.outage.length.ps <= 0)
          throw Error(fmt::format("\"{}\": it is never down", spec_.text));
        spec_.outage.first = start().value_or(Instant{up_ps});
        return;
      }
      case FaultSpec::Effect::gdr_off:
        if (const std::string state = take("off"); state != "off")
          throw Error(fmt::format("\"{}\": gdr is off, not \"{}\"", spec_.text, state),
                      kFaultGrammar);
        return;
    }
  }

  Duration positive(const std::string& text) const {
    const Duration time = parse_duration(text);
    if (time.ps <= 0) throw Error(fmt::format("\"{}\": {} is no time", spec_.text, text));
    return time;
  }

  std::vector<std::string> words_, arguments_;
  FaultSpec spec_;
};

/// The number of "node3".
int host_of(const FaultSpec& spec, std::string_view name, const Cluster& cluster) {
  const bool is_node = name.starts_with("node");
  const int host = is_node ? to_number<int>(name.substr(4)).value_or(-1) : -1;
  if (host < 0)
    throw Error(fmt::format("\"{}\": \"{}\" is no node", spec.text, name),
                "write it like node0, and its parts like node0:mlx5_0 or node0:gpu3");
  if (host >= cluster.hosts())
    throw Error(fmt::format("\"{}\": there is no node{}: there are {} (node0..node{})", spec.text,
                            host, cluster.hosts(), cluster.hosts() - 1));
  return host;
}

class Breaker {
 public:
  Breaker(int gpus_per_node, Cluster& cluster, Faults& faults)
      : gpus_(gpus_per_node), cluster_(cluster), faults_(faults) {}

  void apply(const FaultSpec& spec) {
    if (spec.part == FaultSpec::Part::node) return;
    if (spec.part == FaultSpec::Part::gpu) {
      const auto [node, device] = device_of(spec);
      std::vector<std::string> known;
      for (int gpu = 0; gpu < gpus_; ++gpu) {
        const auto vertex = cluster_.node().gpus()[static_cast<std::size_t>(gpu)].vertex;
        known.push_back(cluster_.node().vertex(vertex).name);
      }
      const int gpu = index(spec, "GPU that takes part", device, known);
      slow_down(node * gpus_ + gpu, spec.share);
      return;
    }
    for (const LinkId link :
         spec.part == FaultSpec::Part::nic ? links_of_nic(spec) : find_links(cluster_, spec.name))
      break_link(spec, link);
  }

 private:
  /// What is slow twice is slower still, as it is with rates.
  void slow_down(int rank, double share) {
    const auto known = std::ranges::find(faults_.gpus, rank, &Faults::SlowGpu::rank);
    if (known == faults_.gpus.end()) {
      faults_.gpus.push_back({rank, share});
    } else {
      known->speed *= share;
    }
  }

  void break_link(const FaultSpec& spec, LinkId link) {
    if (spec.effect == FaultSpec::Effect::rate) {
      const auto whole = static_cast<double>(cluster_.link(link).rate.bytes_per_s);
      cluster_.set_rate(link, {std::max(std::llround(whole * spec.share), 1LL)});
    } else if (cluster_.is_trunk(link) && cluster_.pools_cables()) {
      throw Error(
          fmt::format("\"{}\": while {} is down, adaptive routing takes the cables beside it",
                      spec.text, cluster_.link_name(link)),
          "give it a rate, like 1%, or ask for --routing static, where bytes are lost");
    } else if (cluster_.is_fabric_link(link)) {
      if (std::ranges::find(faults_.outages, link, &Faults::LinkOutage::link) !=
          faults_.outages.end())
        throw Error(fmt::format("\"{}\": {} is down at other times already", spec.text,
                                cluster_.link_name(link)),
                    "one outage for each link");
      faults_.outages.push_back({link, spec.outage});
    } else {
      throw Error(fmt::format("\"{}\": {} is inside a node", spec.text, cluster_.link_name(link)),
                  "a link of the network can go down and come back; without an NVLink or PCIe link "
                  "a job ends");
    }
  }

  /// Its port: what it sends and what it receives.
  std::vector<LinkId> links_of_nic(const FaultSpec& spec) const {
    const auto [host, device] = device_of(spec);
    std::vector<std::string> known;
    const int trays = cluster_.node().trays(), node = host / trays;
    const std::span<const NicInfo> nics = cluster_.node().nics_of(host % trays);
    for (const NicInfo& nic : nics) known.push_back(nic.name);
    const int nic = index(spec, "NIC", device, known);
    if (cluster_.nodes() == 1)
      throw Error(fmt::format("\"{}\": one {} alone does not use its NICs", spec.text,
                              cluster_.hosts() == 1 ? "node" : "NVLink domain"),
                  "ask for more --nodes");
    const VertexId vertex = nics[static_cast<std::size_t>(nic)].vertex;
    const int other = (node + 1) % cluster_.nodes();
    return {cluster_.fabric_route(node, vertex, other, vertex).front(),
            cluster_.fabric_route(other, vertex, node, vertex).back()};
  }

  /// The host and the device of "node3:mlx5_0" or "node3: mlx5_0".
  std::pair<int, std::string> device_of(const FaultSpec& spec) const {
    const std::size_t colon = spec.name.find(':');
    if (colon == std::string::npos || !spec.name.starts_with("node"))
      throw Error(fmt::format("\"{}\": \"{}\" names no device of a node", spec.text, spec.name),
                  "write it like node0:mlx5_0 or node0:gpu3");
    return {host_of(spec, std::string_view(spec.name).substr(0, colon), cluster_),
            std::string(trimmed(std::string_view(spec.name).substr(colon + 1)))};
  }

  static int index(const FaultSpec& spec, const char* what, const std::string& name,
                   const std::vector<std::string>& known) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw Error(fmt::format("\"{}\": \"{}\" is no {}", spec.text, name, what),
                  hint_nearest(name, known));
    return static_cast<int>(found - known.begin());
  }

  int gpus_;
  Cluster& cluster_;
  Faults& faults_;
};

}  // namespace

FaultSpec parse_fault(std::string_view text) { return FaultReader(text).read(); }

bool withhold_gdr(const std::vector<FaultSpec>& specs, Cluster& cluster) {
  for (const FaultSpec& spec : specs) {
    if (spec.part != FaultSpec::Part::node) continue;
    if (cluster.hosts() != cluster.nodes())
      throw Error(fmt::format("\"{}\": nodes are hosts of NVLink domains here", spec.text),
                  "NCCL_MNNVL_ENABLE=0 makes every host a node of its own");
    cluster.withhold_gdr(host_of(spec, spec.name, cluster));
  }
  return !cluster.offers_gdr_everywhere();
}

void apply_faults(const std::vector<FaultSpec>& specs, int gpus_per_node, Cluster& cluster,
                  Faults& faults) {
  Breaker breaker(gpus_per_node, cluster, faults);
  for (const FaultSpec& spec : specs) breaker.apply(spec);
}

}  // namespace fabricast
