#pragma once
// How the switches of a fabric are joined: the links between them and the shortest ways from leaf
// to leaf. All of it is arithmetic on numbers, nothing is stored per link.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fabricast {

/// Where a NIC is plugged in.
struct FabricPort {
  std::uint32_t leaf = 0, port = 0;
};

enum class SwitchTier : std::uint8_t { leaf, spine, core };

struct FabricSwitch {
  SwitchTier tier = SwitchTier::leaf;
  std::uint32_t index = 0;

  bool operator==(const FabricSwitch&) const = default;
};

/// One direction of a cable between two switches.
struct FabricTrunk {
  FabricSwitch from, to;
};

class FabricLayout {
 public:
  virtual ~FabricLayout() = default;
  virtual std::unique_ptr<FabricLayout> clone() const = 0;

  virtual std::uint32_t switches(SwitchTier tier) const = 0;
  std::uint32_t leaves() const { return switches(SwitchTier::leaf); }
  /// Trunks are numbered from 0.
  virtual std::uint64_t trunks() const = 0;
  virtual FabricTrunk trunk(std::uint32_t id) const = 0;
  virtual std::string name(FabricSwitch which) const = 0;

  /// How many equal links each switch on the way picks from; empty when there is nothing to pick.
  /// A way is a number below their product: pick 0 + choices 0 x (pick 1 + choices 1 x ...).
  /// REQUIRES here and below: from != to.
  virtual std::vector<std::uint32_t> choices(std::uint32_t from, std::uint32_t to) const = 0;
  /// The trunks of a way, behind what is in `out`.
  virtual void add_trunks(std::uint32_t from, std::uint32_t to, std::uint32_t way,
                          std::vector<std::uint32_t>& out) const = 0;
  /// The trunk that plays the same part so many leaves further back in every plane. REQUIRES: a
  /// fat-tree; whole pods where there are several; it exists.
  virtual std::uint32_t moved_back(std::uint32_t trunk, std::uint32_t leaves) const = 0;
  /// The way of static routing, by destination (D-mod-K).
  virtual std::uint32_t static_way(std::uint32_t from, FabricPort to) const = 0;

  /// Adaptive routing takes the equal links that a switch picks from as one: a pool. Numbered from
  /// 0; none where it is not modelled so (a dragonfly).
  virtual std::uint32_t pools() const { return 0; }
  struct Pool {
    std::uint32_t first = 0;  ///< the first of its trunks, which have consecutive numbers
    std::uint32_t width = 1;  ///< how many they are
  };
  virtual Pool pool(std::uint32_t) const { return {}; }
  virtual std::uint32_t pool_of(std::uint32_t /*trunk*/) const { return 0; }
  virtual std::uint32_t pool_moved_back(std::uint32_t, std::uint32_t /*leaves*/) const { return 0; }
};

/// Folded Clos of two tiers or three. A leaf has one link to each spine of its pod; spine s of
/// every pod has one link to each of its cores, s x core_links .. With one pod there are no cores.
struct FatTreeSize {
  bool rails = false;        ///< leaves are called by plane and index
  std::uint32_t planes = 1;  ///< leaf = plane x leaves_per_plane + index
  std::uint32_t leaves_per_plane = 0;
  std::uint32_t spines_per_pod = 0;  ///< 0 with a single leaf
  std::uint32_t pod_leaves = 0;      ///< of one plane in a pod
  std::uint32_t core_links = 0;      ///< of a spine; 0 = two tiers
};
std::unique_ptr<FabricLayout> make_fat_tree(const FatTreeSize& size);

/// Groups of switches, all joined with each other inside a group; every pair of groups is joined by
/// the same number of cables, spread over the switches. Shortest ways only: into the group's switch
/// with the cable, over, and on. Kim et al., Technology-Driven, Highly-Scalable Dragonfly Topology,
/// ISCA 2008; detours through a third group (Valiant) are not modelled.
struct DragonflySize {
  std::uint32_t groups = 0, group_switches = 0;
  std::uint32_t cables_per_pair = 0;  ///< of groups
  std::uint32_t global_ports = 0;     ///< of a switch
};
std::unique_ptr<FabricLayout> make_dragonfly(const DragonflySize& size);

/// Owns a layout and copies it when copied; may be empty.
class LayoutHolder {
 public:
  LayoutHolder() = default;
  LayoutHolder(std::unique_ptr<FabricLayout> layout) : layout_(std::move(layout)) {}
  LayoutHolder(const LayoutHolder& other) : layout_(other ? other->clone() : nullptr) {}
  LayoutHolder(LayoutHolder&&) = default;
  LayoutHolder& operator=(LayoutHolder other) {
    layout_ = std::move(other.layout_);
    return *this;
  }

  explicit operator bool() const { return layout_ != nullptr; }
  const FabricLayout* operator->() const { return layout_.get(); }
  const FabricLayout& operator*() const { return *layout_; }

 private:
  std::unique_ptr<FabricLayout> layout_;
};

}  // namespace fabricast
