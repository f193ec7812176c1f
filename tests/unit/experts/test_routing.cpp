// Goal: tokens choose experts as asked, and the counts are those of the tokens. Method: random
// shapes, each token looked at by itself; expected values of a draw without replacement by hand.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "models/experts/routing.hpp"

using namespace fabricast;

TEST_CASE("experts: a token has so many different experts, of so many groups") {
  Random random(7);
  for (int shape = 0; shape < 40; ++shape) {
    ExpertChoice choice;
    choice.groups = 1 + static_cast<int>(random.below(8));
    choice.experts = choice.groups * (1 + static_cast<int>(random.below(32)));
    choice.top_groups =
        1 + static_cast<int>(random.below(static_cast<std::uint32_t>(choice.groups)));
    const int reached = choice.experts / choice.groups * choice.top_groups;
    choice.top_k =
        1 + static_cast<int>(random.below(static_cast<std::uint32_t>(std::min(reached, 12))));
    if (random.below(2) == 1) {
      for (int i = 0; i < choice.experts; ++i) choice.weights.push_back(random.unit());
      choice.weights.front() = 1;
    }
    CAPTURE(shape);
    ExpertDraw draw(choice, 11);
    for (int token = 0; token < 50; ++token) {
      const std::vector<int>& experts = draw.next();
      CHECK(static_cast<int>(experts.size()) == choice.top_k);
      std::set<int> seen, groups;
      for (const int expert : experts) {
        CHECK(expert >= 0);
        CHECK(expert < choice.experts);
        seen.insert(expert);
        groups.insert(expert / (choice.experts / choice.groups));
      }
      CHECK(seen.size() == experts.size());
      CHECK(static_cast<int>(groups.size()) <= choice.top_groups);
    }
  }
}

// An expert that all weight lies on is everybody's first choice; the others then are walked to.
TEST_CASE("experts: weights of 0 but one leave the draw with an end") {
  ExpertChoice choice;
  choice.experts = 16;
  choice.top_k = 3;
  choice.weights.assign(16, 0);
  choice.weights[5] = 1;
  ExpertDraw draw(choice, 3);
  CHECK(draw.next() == std::vector<int>{5, 6, 7});
}

// 8 of 256 experts on 8 ranks: a rank has none of them with C(224,8) / C(256,8) = 0.3383, so a
// token goes to 8 * 0.6617 = 5.294 ranks; on 2 nodes to 2 * (1 - C(128,8) / C(256,8)) = 1.9930.
TEST_CASE("experts: copies of a token are those of a draw without replacement") {
  ExpertCall call;
  call.tokens = 4096;
  const TokenCounts one = count_tokens(call, 8, 8);
  CHECK(static_cast<double>(one.copies()) / (8 * 4096) == doctest::Approx(5.294).epsilon(0.005));
  const TokenCounts two = count_tokens(call, 16, 8);
  CHECK(static_cast<double>(two.node_copies()) / (16 * 4096) ==
        doctest::Approx(1.993).epsilon(0.002));
  std::int64_t pairs = 0;
  for (int from = 0; from < 16; ++from)
    for (int to = 0; to < 16; ++to) pairs += two.pairs(from, to);
  CHECK(pairs == 16 * 4096 * 8);
}

// 8 groups of 32 experts on 8 nodes, tokens of 4 groups: at most 4 nodes.
TEST_CASE("experts: group-limited routing keeps tokens on few nodes") {
  ExpertCall call;
  call.tokens = 1000;
  call.choice.groups = 8;
  const auto nodes = [&](int top_groups) {
    call.choice.top_groups = top_groups;
    return static_cast<double>(count_tokens(call, 64, 8).node_copies()) / 64'000;
  };
  CHECK(nodes(1) == 1);
  CHECK(nodes(4) > 3.5);
  CHECK(nodes(4) <= 4);
  CHECK(nodes(8) > 5);
}

TEST_CASE("experts: of many tokens a part is drawn, and counts for all") {
  ExpertCall call;
  call.tokens = 3 * kTokensDrawnMax;
  const TokenCounts all = count_tokens(call, 8, 8);
  call.tokens = kTokensDrawnMax;
  const TokenCounts drawn = count_tokens(call, 8, 8);
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to) CHECK(all.to_rank(from, to) == 3 * drawn.to_rank(from, to));
}
