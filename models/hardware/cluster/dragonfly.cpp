#include <fmt/format.h>

#include <cassert>

#include "models/hardware/cluster/fabric_layout.hpp"

namespace fabricast {
namespace {

class Dragonfly final : public FabricLayout {
 public:
  explicit Dragonfly(const DragonflySize& size)
      : size_(size),
        local_(std::uint64_t{size.groups} * size.group_switches * (size.group_switches - 1)) {}

  std::unique_ptr<FabricLayout> clone() const override {
    return std::make_unique<Dragonfly>(*this);
  }

  std::uint32_t switches(SwitchTier tier) const override {
    return tier == SwitchTier::leaf ? size_.groups * size_.group_switches : 0;
  }

  std::uint64_t trunks() const override {
    return local_ + std::uint64_t{size_.groups} * (size_.groups - 1) * size_.cables_per_pair;
  }

  FabricTrunk trunk(std::uint32_t id) const override {
    const std::uint32_t others = size_.group_switches - 1;
    if (id < local_) {
      const std::uint32_t from = id / others, first = from - from % size_.group_switches;
      const std::uint32_t to = unskipped(id % others, from - first);
      return {leaf(from), leaf(first + to)};
    }
    const auto far = static_cast<std::uint32_t>(id - local_);
    const std::uint32_t cable = far % size_.cables_per_pair, pair = far / size_.cables_per_pair;
    const std::uint32_t from = pair / (size_.groups - 1);
    const std::uint32_t to = unskipped(pair % (size_.groups - 1), from);
    return {leaf(gateway(from, to, cable)), leaf(gateway(to, from, cable))};
  }

  std::string name(FabricSwitch which) const override {
    return fmt::format("switch{}.{}", which.index / size_.group_switches,
                       which.index % size_.group_switches);
  }

  std::vector<std::uint32_t> choices(std::uint32_t from, std::uint32_t to) const override {
    if (group(from) == group(to)) return {};
    return {size_.cables_per_pair};
  }

  void add_trunks(std::uint32_t from, std::uint32_t to, std::uint32_t way,
                  std::vector<std::uint32_t>& out) const override {
    assert(from != to);
    const std::uint32_t a = group(from), b = group(to);
    if (a == b) return add_local(from, to, out);
    add_local(from, gateway(a, b, way), out);
    const std::uint32_t pair = a * (size_.groups - 1) + skipped(b, a);
    out.push_back(static_cast<std::uint32_t>(local_) + pair * size_.cables_per_pair + way);
    add_local(gateway(b, a, way), to, out);
  }

  std::uint32_t moved_back(std::uint32_t, std::uint32_t) const override {
    assert(false && "groups of a dragonfly are not alike");
    return 0;
  }

  std::uint32_t static_way(std::uint32_t from, FabricPort to) const override {
    if (group(from) == group(to.leaf)) return 0;
    return (to.leaf + to.port) % size_.cables_per_pair;
  }

 private:
  static FabricSwitch leaf(std::uint32_t index) { return {SwitchTier::leaf, index}; }
  /// Numbers of the others, when one is left out, and back.
  static std::uint32_t skipped(std::uint32_t i, std::uint32_t out) { return i < out ? i : i - 1; }
  static std::uint32_t unskipped(std::uint32_t i, std::uint32_t out) { return i < out ? i : i + 1; }

  std::uint32_t group(std::uint32_t leaf) const { return leaf / size_.group_switches; }

  /// The switch of `group` that has cable number `cable` to the other group: cables take the global
  /// ports of a group in turn, first all groups once, then all again.
  std::uint32_t gateway(std::uint32_t group, std::uint32_t other, std::uint32_t cable) const {
    const std::uint32_t port = cable * (size_.groups - 1) + skipped(other, group);
    return group * size_.group_switches + port / size_.global_ports;
  }

  void add_local(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& out) const {
    if (from == to) return;
    const std::uint32_t first = group(from) * size_.group_switches;
    out.push_back(from * (size_.group_switches - 1) + skipped(to - first, from - first));
  }

  DragonflySize size_;
  std::uint64_t local_;  ///< trunks inside groups
};

}  // namespace

std::unique_ptr<FabricLayout> make_dragonfly(const DragonflySize& size) {
  return std::make_unique<Dragonfly>(size);
}

}  // namespace fabricast
