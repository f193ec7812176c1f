#include <fmt/format.h>

#include <cassert>

#include "models/hardware/cluster/fabric_layout.hpp"

namespace fabricast {
namespace {

class FatTree final : public FabricLayout {
 public:
  explicit FatTree(const FatTreeSize& size)
      : size_(size),
        leaves_(size.planes * size.leaves_per_plane),
        pods_(size.core_links > 0 ? (size.leaves_per_plane + size.pod_leaves - 1) / size.pod_leaves
                                  : 1),
        spines_(pods_ * size.spines_per_pod) {}

  std::unique_ptr<FabricLayout> clone() const override { return std::make_unique<FatTree>(*this); }

  std::uint32_t switches(SwitchTier tier) const override {
    switch (tier) {
      case SwitchTier::leaf:
        return leaves_;
      case SwitchTier::spine:
        return spines_;
      case SwitchTier::core:
        return size_.spines_per_pod * size_.core_links;
    }
    return 0;
  }

  std::uint64_t trunks() const override {
    return 2 * (std::uint64_t{leaves_} * size_.spines_per_pod +
                std::uint64_t{spines_} * size_.core_links);
  }

  FabricTrunk trunk(std::uint32_t id) const override {
    const std::uint32_t low = leaves_ * size_.spines_per_pod;
    if (id < 2 * low) {
      const std::uint32_t cable = id % low;
      const FabricSwitch leaf{SwitchTier::leaf, cable / size_.spines_per_pod};
      const FabricSwitch spine{SwitchTier::spine, pod_of(leaf.index) * size_.spines_per_pod +
                                                      cable % size_.spines_per_pod};
      return id < low ? FabricTrunk{leaf, spine} : FabricTrunk{spine, leaf};
    }
    const std::uint32_t high = spines_ * size_.core_links;
    const std::uint32_t cable = (id - 2 * low) % high;
    const FabricSwitch spine{SwitchTier::spine, cable / size_.core_links};
    const FabricSwitch core{
        SwitchTier::core,
        spine.index % size_.spines_per_pod * size_.core_links + cable % size_.core_links};
    return id - 2 * low < high ? FabricTrunk{spine, core} : FabricTrunk{core, spine};
  }

  std::string name(FabricSwitch which) const override {
    switch (which.tier) {
      case SwitchTier::leaf:
        if (!size_.rails) return fmt::format("leaf{}", which.index);
        return fmt::format("leaf{}.{}", which.index / size_.leaves_per_plane,
                           which.index % size_.leaves_per_plane);
      case SwitchTier::spine:
        if (pods_ == 1) return fmt::format("spine{}", which.index);
        return fmt::format("spine{}.{}", which.index / size_.spines_per_pod,
                           which.index % size_.spines_per_pod);
      case SwitchTier::core:
        return fmt::format("core{}", which.index);
    }
    return {};
  }

  std::vector<std::uint32_t> choices(std::uint32_t from, std::uint32_t to) const override {
    if (pod_of(from) == pod_of(to)) return {size_.spines_per_pod};
    return {size_.spines_per_pod, size_.core_links};
  }

  void add_trunks(std::uint32_t from, std::uint32_t to, std::uint32_t way,
                  std::vector<std::uint32_t>& out) const override {
    assert(from != to);
    const std::uint32_t low = leaves_ * size_.spines_per_pod;
    const std::uint32_t spine = way % size_.spines_per_pod;
    out.push_back(from * size_.spines_per_pod + spine);
    if (pod_of(from) != pod_of(to)) {
      const std::uint32_t core = way / size_.spines_per_pod;
      const auto cable = [&](std::uint32_t leaf) {
        return (pod_of(leaf) * size_.spines_per_pod + spine) * size_.core_links + core;
      };
      out.push_back(2 * low + cable(from));
      out.push_back(2 * low + spines_ * size_.core_links + cable(to));
    }
    out.push_back(low + to * size_.spines_per_pod + spine);
  }

  std::uint32_t moved_back(std::uint32_t trunk, std::uint32_t leaves) const override {
    const std::uint32_t low = leaves_ * size_.spines_per_pod;
    if (trunk < 2 * low) return trunk - leaves * size_.spines_per_pod;
    return trunk - leaves / size_.pod_leaves * size_.spines_per_pod * size_.core_links;
  }

  std::uint32_t static_way(std::uint32_t from, FabricPort to) const override {
    const std::uint32_t spine = to.port % size_.spines_per_pod;
    if (pod_of(from) == pod_of(to.leaf)) return spine;
    const std::uint32_t plane = to.leaf / size_.leaves_per_plane;
    const std::uint32_t in_pod =
        plane * size_.pod_leaves + to.leaf % size_.leaves_per_plane % size_.pod_leaves;
    return spine + size_.spines_per_pod * (in_pod % size_.core_links);
  }

  // Of each leaf the links to its spines, then those back; of each pod those of its spines to the
  // cores, then those back.
  std::uint32_t pools() const override {
    if (size_.spines_per_pod == 0) return 0;
    return 2 * leaves_ + (size_.core_links > 0 ? 2 * pods_ : 0);
  }
  Pool pool(std::uint32_t id) const override {
    const std::uint32_t of_leaf = size_.spines_per_pod, of_pod = of_leaf * size_.core_links;
    if (id < 2 * leaves_) return {id * of_leaf, of_leaf};
    return {2 * leaves_ * of_leaf + (id - 2 * leaves_) * of_pod, of_pod};
  }
  std::uint32_t pool_of(std::uint32_t trunk) const override {
    const std::uint32_t of_leaf = size_.spines_per_pod, low = 2 * leaves_ * of_leaf;
    if (trunk < low) return trunk / of_leaf;
    return 2 * leaves_ + (trunk - low) / (of_leaf * size_.core_links);
  }
  std::uint32_t pool_moved_back(std::uint32_t id, std::uint32_t leaves) const override {
    return id - (id < 2 * leaves_ ? leaves : leaves / size_.pod_leaves);
  }

 private:
  std::uint32_t pod_of(std::uint32_t leaf) const {
    return size_.core_links == 0 ? 0 : leaf % size_.leaves_per_plane / size_.pod_leaves;
  }

  FatTreeSize size_;
  std::uint32_t leaves_, pods_, spines_;
};

}  // namespace

std::unique_ptr<FabricLayout> make_fat_tree(const FatTreeSize& size) {
  return std::make_unique<FatTree>(size);
}

}  // namespace fabricast
