// Goal: what a message costs a proxy: by bytes, hands and pieces, and by what the host copies.
// Method: each figure alone, closed forms worked out by hand.

#include <doctest/doctest.h>

#include "sim/links/post_cost.hpp"

using namespace fabricast;

TEST_CASE("post costs: pieces for several hands, and what large messages cost more") {
  PostCost cost{nanoseconds(500), {2'000'000'000}};
  CHECK(cost.busy(Bytes{0}) == nanoseconds(500));
  CHECK(cost.busy(Bytes{65'536}) == nanoseconds(500 + 32'768));
  cost.hands = 4;
  cost.piece = Bytes{65'536};
  CHECK(cost.busy(Bytes{65'536}) == nanoseconds(500 + 32'768));   // one piece is one hand's
  CHECK(cost.busy(Bytes{102'400}) == nanoseconds(500 + 25'600));  // two of 50 KiB
  CHECK(cost.busy(Bytes{262'144}) == nanoseconds(500 + 32'768));
  CHECK(cost.busy(Bytes{1 << 20}) == nanoseconds(500 + 131'072));  // four hands, no more
  cost.large = Bytes{65'536};
  cost.large_post = nanoseconds(70);
  cost.large_delay = nanoseconds(9);
  CHECK(cost.busy(Bytes{65'536}) == nanoseconds(500 + 32'768));
  CHECK(cost.delay(Bytes{65'536}) == Duration{});
  CHECK(cost.busy(Bytes{65'537}) > nanoseconds(500 + 70 + 16'384));
  CHECK(cost.delay(Bytes{65'537}) == nanoseconds(9));
}

TEST_CASE("post costs: what the host copies, up to a size at a rate, above it for a while") {
  PostCost cost{nanoseconds(500)};
  cost.large = Bytes{16'384};
  cost.large_post = nanoseconds(70);
  cost.copied = Bytes{4'096};
  cost.copied_post = nanoseconds(6'000);
  cost.near_copy = {4'000'000'000};
  CHECK(cost.busy(Bytes{4'096}) == nanoseconds(500 + 1'024));
  CHECK(cost.busy(Bytes{4'097}) == nanoseconds(500 + 6'000));
  CHECK(cost.busy(Bytes{16'384}) == nanoseconds(500 + 6'000));
  CHECK(cost.busy(Bytes{16'385}) == nanoseconds(500 + 70));  // read by the NIC itself
}
