#pragma once
// What layouts of a plan must be like.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/training/calls/collective_times.hpp"
#include "models/training/model/layout.hpp"

namespace fabricast {

/// What LayoutWishes fixes, and of what it keeps groups within a room.
std::span<const std::string_view> fix_keys();
std::span<const std::string_view> within_keys();

class LayoutWishes {
 public:
  /// "tp=8" or "tp=8,pp=4", of fix_keys(). Throws Error.
  void fix(std::string_view text);
  /// "tp=node" or "ep=rack,pp=rack": groups of TP, CP, EP, DP, or neighbours of PP, that must not
  /// leave a node (or NVLink domain), or a rack of the fabric. Throws Error.
  void keep_within(std::string_view text);

  /// Only those that were asked for. Throws Error where none is left.
  std::vector<Layout> chosen_from(const std::vector<Layout>& layouts,
                                  const CollectiveTimes& collectives) const;

 private:
  struct Fixed {
    std::string key, value;
  };
  struct Within {
    std::string key;
    GroupShapes::Room room{};
  };
  std::vector<Fixed> fixed_;
  std::vector<Within> within_;
};

}  // namespace fabricast
