#pragma once
// Regions of the plane of bytes and ranks, as aws-ofi-nccl has them: polygons in the logarithms of
// both (src/tuner/nccl_ofi_regions.cpp; its commit is in aws-ofi.yaml). Floats are the plugin's own
// doubles; a point counts as on an edge up to its tolerance.

#include <span>

namespace fabricast {

/// A call, or a corner: 0 bytes is where the plane begins.
struct PlanePoint {
  double bytes = 0, ranks = 0;
};

/// Where the line from `a` through `b`, straight in the logarithms, leaves the plane that ends at
/// `end`: at its bytes or at its ranks, whichever comes first. REQUIRES: all parts > 0; a != b.
PlanePoint beyond(PlanePoint a, PlanePoint b, PlanePoint end);

/// Inside, or on an edge. A polygon without area has edges only. `end` as above. REQUIRES: two
/// corners or more.
bool covers(std::span<const PlanePoint> corners, PlanePoint at, PlanePoint end);

}  // namespace fabricast
