#include "models/nccl/node/nic_fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "models/nccl/base/channel_graph.hpp"
#include "models/nccl/environment/ib_hca.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

using Pci = NodeDescription::Pci;
using Cpu = NodeDescription::Cpu;
using Net = NodeDescription::Net;

constexpr NcclVersion kByDistance{24, 3};
constexpr std::size_t kPortsMax = 2;  // NCCL_IB_MAX_DEVS_PER_NIC up to 2.23
constexpr std::size_t kNicsMax = 4;   // NCCL_NET_MAX_DEVS_PER_NIC
/// The distance of two ports of one card: between "the same device" and "behind one switch".
constexpr PathType kPort = PathType::nvl;

/// A NIC with all that stands above it.
struct NicPlace {
  const Net* net = nullptr;
  std::size_t cpu = 0;
  std::vector<const Pci*> above;  ///< from the CPU down; the last is the card
};

std::string_view without_function(std::string_view busid) {
  return busid.substr(0, busid.size() - std::min<std::size_t>(busid.size(), 1));
}

bool is_one_card(const Pci& a, const Pci& b) {
  return &a == &b || (!a.busid.empty() && a.busid.size() == b.busid.size() &&
                      without_function(a.busid) == without_function(b.busid));
}

/// Switches that two NICs have in common, from the CPU down.
std::size_t common_depth(const NicPlace& a, const NicPlace& b) {
  std::size_t depth = 0;
  while (depth < a.above.size() && depth < b.above.size() && a.above[depth] == b.above[depth])
    ++depth;
  return depth;
}

/// src/graph/topo.cc, ncclTopoGetPath.
PathType distance(const NicPlace& a, const NicPlace& b) {
  if (a.cpu != b.cpu) return PathType::sys;
  const std::size_t depth = common_depth(a, b);
  if (depth == a.above.size() || depth == b.above.size()) return kPort;
  if (is_one_card(*a.above[depth], *b.above[depth])) return kPort;
  if (depth == 0) return PathType::phb;
  const bool are_below = a.above.size() == depth + 1 && b.above.size() == depth + 1;
  return are_below ? PathType::pix : PathType::pxb;
}

std::uint64_t busid_number(const std::string& busid) {
  std::uint64_t out = 0;
  for (const char c : busid) {
    if (c == ':' || c == '.') continue;
    out = out << 4 | to_number<std::uint64_t>({&c, 1}, 16).value_or(0);
  }
  return out;
}
std::string busid_text(std::uint64_t number) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", number >> 20, number >> 12 & 0xff,
                     number >> 4 & 0xff, number & 0xf);
}

class Fusion {
 public:
  Fusion(const NodeDescription& node, const std::vector<int>& nics, EnvReader& env)
      : node_(node), env_(env) {
    out_.node = node;
    for (std::size_t cpu = 0; cpu < node.cpus.size(); ++cpu) {
      std::vector<const Pci*> above;
      find(node.cpus[cpu].children, cpu, nics, above);
    }
    placed_.resize(places_.size());
  }

  NicFusion fuse() {
    const bool allowed = env_.integer("NCCL_IB_MERGE_NICS").value_or(1) != 0;
    if (env_.version() < kByDistance) {
      if (allowed) fuse_ports();
    } else {
      fuse_named(allowed);
      if (allowed) fuse_near();
    }
    return joined();
  }

  NicFusion fuse_rails() {
    rails_ = true;
    std::map<const Pci*, std::vector<std::size_t>> beside;
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (const Pci* const at = switch_of(places_[i])) beside[at].push_back(i);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Pci* const at = placed_[i] ? nullptr : switch_of(places_[i]);
      if (at == nullptr) continue;
      const std::vector<std::size_t>& all = beside[at];
      const std::size_t size =
          std::clamp<std::size_t>(all.size() / gpus_below(at->children).size(), 1, kNicsMax);
      for (std::size_t first = 0; first < all.size(); first += size)
        place({all.begin() + static_cast<std::ptrdiff_t>(first),
               all.begin() + static_cast<std::ptrdiff_t>(std::min(first + size, all.size()))});
    }
    return joined();
  }

 private:
  NicFusion joined() {
    for (const NicPlace& place : places_) out_.nics.push_back(place.net->dev);
    for (const std::vector<std::size_t>& group : groups_) join(group);
    return std::move(out_);
  }

  static std::vector<const Pci*> gpus_below(const std::vector<Pci>& children) {
    std::vector<const Pci*> out;
    for (const Pci& pci : children) {
      if (pci.gpu) out.push_back(&pci);
      for (const Pci* const gpu : gpus_below(pci.children)) out.push_back(gpu);
    }
    return out;
  }

  /// The last one above the NIC with a GPU below it; null: there is none.
  static const Pci* switch_of(const NicPlace& place) {
    for (auto at = place.above.rbegin(); at != place.above.rend(); ++at)
      if (!gpus_below((*at)->children).empty()) return *at;
    return nullptr;
  }

  /// The link of a card that stands for so many: a generation more, then twice the lanes, for every
  /// doubling, as far as the GPU has them.
  static void widen(Pci& card, std::size_t nics, const Pci& gpu) {
    constexpr std::array<std::string_view, 6> speeds = {"2.5 GT/s PCIe",  "5.0 GT/s PCIe",
                                                        "8.0 GT/s PCIe",  "16.0 GT/s PCIe",
                                                        "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
    const auto at = [&](const std::string& speed) { return std::ranges::find(speeds, speed); };
    auto own = at(card.link_speed);
    const auto most = at(gpu.link_speed);
    if (own == speeds.end() || most == speeds.end()) return;
    for (; nics > 1 && own < most; nics /= 2) ++own;
    card.link_speed = *own;
    for (; nics > 1 && 2 * card.link_width <= gpu.link_width; nics /= 2) card.link_width *= 2;
  }

  void find(const std::vector<Pci>& children, std::size_t cpu, const std::vector<int>& nics,
            std::vector<const Pci*>& above) {
    for (const Pci& pci : children) {
      above.push_back(&pci);
      if (pci.nic) {
        for (const Net& net : pci.nic->nets)
          if (std::ranges::find(nics, net.dev) != nics.end()) places_.push_back({&net, cpu, above});
      }
      busids_.insert(pci.busid);
      find(pci.children, cpu, nics, above);
      above.pop_back();
    }
  }

  void place(const std::vector<std::size_t>& group) {
    for (const std::size_t i : group) placed_[i] = true;
    if (group.size() > 1) groups_.push_back(group);
  }

  bool is_alike(std::size_t a, std::size_t b) const {
    return places_[a].net->network == places_[b].net->network;
  }

  /// In order, each with the first before it that has room.
  void fuse_ports() {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto fits = [&](const std::vector<std::size_t>& group) {
        const NicPlace &a = places_[group.front()], &b = places_[i];
        return group.size() < kPortsMax && is_one_card(*a.above.back(), *b.above.back()) &&
               a.net->guid == b.net->guid && is_alike(group.front(), i);
      };
      const auto known = std::ranges::find_if(groups, fits);
      if (known == groups.end()) {
        groups.push_back({i});
      } else {
        known->push_back(i);
      }
    }
    for (const std::vector<std::size_t>& group : groups) place(group);
  }

  /// Groups separated by semicolons, whole names by commas.
  void fuse_named(bool allowed) {
    constexpr std::string_view name = "NCCL_NET_FORCE_MERGE";
    std::string_view rest = env_.text(name).value_or("");
    while (!rest.empty()) {
      const std::string_view text = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(text.size() + 1, rest.size()));
      if (text.empty()) continue;
      std::vector<std::size_t> group;
      const IbHcaFilter filter("=" + std::string(text));
      for (std::size_t i = 0; i < places_.size(); ++i)
        if (filter.selects(places_[i].net->name, places_[i].net->port)) group.push_back(i);
      const auto refuse = [&](const std::string& what) {
        env_.refuse(name, what, "NCCL refuses it; " + known());
      };
      std::size_t named = 0;
      for (std::size_t from = 0; from < text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        if (comma > from) ++named;
        from = comma + 1;
      }
      if (group.size() != named)
        refuse(fmt::format("\"{}\" names {} NICs, {} of which {} there", text, named, group.size(),
                           group.size() == 1 ? "is" : "are"));
      if (named > kNicsMax)
        refuse(fmt::format("\"{}\" names {} NICs, {} at most become one", text, named, kNicsMax));
      if (named > 1 && !allowed) refuse("NCCL_IB_MERGE_NICS=0 forbids that");
      for (const std::size_t i : group) {
        if (placed_[i]) refuse(fmt::format("{} is named twice", places_[i].net->name));
        if (!is_alike(group.front(), i))
          refuse(fmt::format("\"{}\" names InfiniBand and Ethernet", text));
      }
      place(group);
    }
  }

  std::string known() const {
    std::string out = node_.name + " has:";
    for (const NicPlace& place : places_) out += " " + place.net->name;
    return out;
  }

  PathType level() {
    constexpr std::string_view name = "NCCL_NET_MERGE_LEVEL";
    const auto value = env_.text(name);
    if (!value) return kPort;
    constexpr std::array<std::pair<std::string_view, PathType>, 8> words = {
        {{"LOC", PathType::loc},
         {"PORT", kPort},
         {"PIX", PathType::pix},
         {"PXB", PathType::pxb},
         {"P2C", PathType::p2c},
         {"PXN", PathType::pxn},
         {"PHB", PathType::phb},
         {"SYS", PathType::sys}}};
    for (const auto& [word, type] : words)
      if (value->starts_with(word)) return type;
    env_.warn(name, "no level that NCCL knows; it takes LOC, so that nothing is fused");
    return PathType::loc;
  }

  /// The first that is left with all that are near enough to it, as far as there is room. Where the
  /// network refuses them, the first stays alone.
  void fuse_near() {
    const PathType farthest = level();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (placed_[i]) continue;
      std::vector<std::size_t> group = {i};
      for (std::size_t j = 0; j < places_.size() && group.size() < kNicsMax; ++j) {
        if (j != i && !placed_[j] && distance(places_[i], places_[j]) <= farthest)
          group.push_back(j);
      }
      const bool alike = std::ranges::all_of(group, [&](std::size_t j) { return is_alike(i, j); });
      place(alike ? group : std::vector{i});
    }
  }

  /// Puts the one NIC where NCCL does: ports of one function stay there; else below the switch that
  /// they have in common, as a card of its own like the first, or at their CPU.
  void join(const std::vector<std::size_t>& group) {
    const NicPlace& first = places_[group.front()];
    std::size_t depth = first.above.size();
    Net joined = *first.net;
    joined.name.clear();
    joined.speed_mbps = 0;
    std::vector<int>& members = out_.groups.emplace_back();
    for (const std::size_t i : group) {
      const NicPlace& place = places_[i];
      if (place.cpu != first.cpu)
        throw Error(fmt::format("fusing NICs of several sockets ({} and {}) is not modelled",
                                first.net->name, place.net->name),
                    "NCCL_NET_MERGE_LEVEL=PHB stays within a socket");
      depth = std::min(depth, common_depth(first, place));
      members.push_back(place.net->dev);
      joined.name += (joined.name.empty() ? "" : "+") + place.net->name;
      joined.speed_mbps += place.net->speed_mbps;
    }
    std::erase_if(out_.nics, [&](int dev) {
      return dev != joined.dev && std::ranges::find(members, dev) != members.end();
    });
    remove(out_.node.cpus[first.cpu].children, members);
    std::vector<Pci>* children = &out_.node.cpus[first.cpu].children;
    const bool stays = depth == first.above.size() || rails_ || env_.version() < kByDistance;
    const std::size_t down = stays ? first.above.size() - 1 : depth;
    for (std::size_t i = 0; i < down; ++i)
      children = &std::ranges::find(*children, first.above[i]->busid, &Pci::busid)->children;
    if (stays) {
      Pci& card = *std::ranges::find(*children, first.above.back()->busid, &Pci::busid);
      if (!card.nic) card.nic.emplace();
      card.nic->nets.push_back(joined);
      if (rails_) widen(card, group.size(), *gpus_below(switch_of(first)->children).front());
      return;
    }
    Pci card;
    if (depth > 0) {
      card = *first.above.back();
      card.children.clear();
      std::uint64_t number = busid_number(card.busid);
      do {
        card.busid = busid_text(++number);
      } while (!busids_.insert(card.busid).second);
    }
    card.nic = NodeDescription::Nic{{joined}};
    children->push_back(std::move(card));
  }

  /// The cards stay, as places that others are below of may hang on them; without nets they vanish.
  static void remove(std::vector<Pci>& children, const std::vector<int>& devs) {
    for (Pci& pci : children) {
      if (pci.nic)
        std::erase_if(pci.nic->nets, [&](const Net& net) {
          return std::ranges::find(devs, net.dev) != devs.end();
        });
      remove(pci.children, devs);
    }
  }

  const NodeDescription& node_;
  EnvReader& env_;
  std::vector<NicPlace> places_;  ///< NICs that are used
  std::vector<bool> placed_;      ///< alone or in a group
  bool rails_ = false;            ///< of a plugin
  std::set<std::string> busids_;
  std::vector<std::vector<std::size_t>> groups_;
  NicFusion out_;
};

}  // namespace

NicFusion fuse_nics(const NodeDescription& node, const std::vector<int>& nics, EnvReader& env) {
  return Fusion(node, nics, env).fuse();
}

NicFusion fuse_rails(const NodeDescription& node, const std::vector<int>& nics, EnvReader& env) {
  return Fusion(node, nics, env).fuse_rails();
}

}  // namespace fabricast
