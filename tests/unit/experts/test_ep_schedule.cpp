// Goal: every token arrives at every rank that has experts of it, once, and comes back with each
// expert's weight summed once. Method: random shapes and imbalances; tokens are drawn one by one,
// and moved along the pieces that a schedule sends, in the order of their origin.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "models/experts/ep_schedule.hpp"
#include "models/io/topologies/load.hpp"

using namespace fabricast;

namespace {

/// All tokens of a draw, by origin, and where they go.
struct Tokens {
  int ranks, gpus;
  ExpertChoice choice;
  std::vector<std::vector<std::vector<int>>> experts;  ///< by origin and token
  TokenCounts counts;

  Tokens(const ExpertChoice& asked, int ranks_, int gpus_, int tokens, std::uint64_t seed)
      : ranks(ranks_), gpus(gpus_), choice(asked), counts(ranks_, gpus_) {
    ExpertDraw draw(choice, seed);
    experts.resize(static_cast<std::size_t>(ranks));
    for (int origin = 0; origin < ranks; ++origin) {
      for (int token = 0; token < tokens; ++token) {
        experts[static_cast<std::size_t>(origin)].push_back(draw.next());
        counts.add(origin, owners(origin, token));
      }
    }
  }
  std::vector<int> owners(int origin, int token) const {
    std::vector<int> out;
    for (const int e : experts[static_cast<std::size_t>(origin)][static_cast<std::size_t>(token)])
      out.push_back(rank_of_expert(e, choice.experts, ranks));
    return out;
  }
  /// In the order of the origin: those with experts on a rank, or on any rank of a node.
  std::vector<int> to_rank(int origin, int rank) const {
    return those(origin, [&](int owner) { return owner == rank; });
  }
  std::vector<int> to_node(int origin, int node) const {
    return those(origin, [&](int owner) { return owner / gpus == node; });
  }

 private:
  template <class Is>
  std::vector<int> those(int origin, Is is) const {
    std::vector<int> out;
    const auto all = static_cast<int>(experts[static_cast<std::size_t>(origin)].size());
    for (int token = 0; token < all; ++token)
      if (std::ranges::any_of(owners(origin, token), is)) out.push_back(token);
    return out;
  }
};

ExpertChoice random_choice(Random& random, int ranks) {
  ExpertChoice out;
  out.experts = ranks * (1 + static_cast<int>(random.below(6)));
  out.top_k =
      1 + static_cast<int>(random.below(static_cast<std::uint32_t>(std::min(out.experts, 9))));
  if (random.below(3) > 0) {  // uneven, some experts idle
    for (int i = 0; i < out.experts; ++i)
      out.weights.push_back(random.below(4) == 0 ? 0 : 1.0 / (1 + i));
    out.weights.front() = 1;
  }
  return out;
}

using Place = std::tuple<int, int, int>;  ///< rank, origin, token

/// Dispatch: how often each token arrives where.
std::map<Place, int> dispatched(const Tokens& tokens, const EpSchedule& schedule) {
  std::map<Place, int> arrived, forwarded;
  std::map<Place, int> at_middle;
  std::vector<EpPiece> inside;
  const auto move = [&](const EpPiece& piece, const std::vector<int>& list, auto& into) {
    for (std::int64_t i = piece.first; i < piece.first + piece.tokens; ++i)
      ++into[{piece.to, piece.origin, list.at(static_cast<std::size_t>(i))}];
  };
  bool two_stages = false;
  schedule.visit([&](const EpPiece& piece) { two_stages = two_stages || piece.forwarded; });
  schedule.visit([&](const EpPiece& piece) {
    if (two_stages && !piece.forwarded)
      move(piece, tokens.to_node(piece.origin, piece.to / tokens.gpus), at_middle);
  });
  schedule.visit([&](const EpPiece& piece) {
    if (two_stages && !piece.forwarded) return;
    const std::vector<int> list = tokens.to_rank(piece.origin, piece.to);
    if (two_stages) {
      CHECK(piece.from / tokens.gpus == piece.to / tokens.gpus);
      for (std::int64_t i = piece.first; i < piece.first + piece.tokens; ++i)
        CHECK(at_middle[{piece.from, piece.origin, list.at(static_cast<std::size_t>(i))}] == 1);
    }
    move(piece, list, arrived);
  });
  return arrived;
}

void check_dispatch(const Tokens& tokens, const EpSchedule& schedule) {
  const std::map<Place, int> arrived = dispatched(tokens, schedule);
  std::size_t expected = 0;
  for (int origin = 0; origin < tokens.ranks; ++origin) {
    for (int rank = 0; rank < tokens.ranks; ++rank) {
      for (const int token : tokens.to_rank(origin, rank)) {
        ++expected;
        const auto at = arrived.find({rank, origin, token});
        REQUIRE(at != arrived.end());
        CHECK(at->second == 1);
      }
    }
  }
  CHECK(arrived.size() == expected);
}

/// Combine: how often the weight of each expert of a token is in the sum that its origin gets.
/// Every rank adds up its own experts of a token, who forwards adds up the ranks of its node.
void check_combine(const Tokens& tokens, const EpSchedule& schedule) {
  std::map<Place, std::map<int, int>> at_middle, at_origin;  ///< expert -> times
  bool two_stages = false;
  schedule.visit([&](const EpPiece& piece) { two_stages = two_stages || piece.forwarded; });
  const auto bring = [&](const EpPiece& piece, auto& into) {
    const std::vector<int> list = tokens.to_rank(piece.origin, piece.from);
    for (std::int64_t i = piece.first; i < piece.first + piece.tokens; ++i) {
      const int token = list.at(static_cast<std::size_t>(i));
      const auto& experts =
          tokens.experts[static_cast<std::size_t>(piece.origin)][static_cast<std::size_t>(token)];
      for (const int expert : experts)
        if (rank_of_expert(expert, tokens.choice.experts, tokens.ranks) == piece.from)
          ++into[{piece.to, piece.origin, token}][expert];
    }
  };
  schedule.visit([&](const EpPiece& piece) {
    if (piece.forwarded == two_stages) bring(piece, two_stages ? at_middle : at_origin);
  });
  schedule.visit([&](const EpPiece& piece) {
    if (!two_stages || piece.forwarded) return;
    CHECK(piece.to == piece.origin);
    const std::vector<int> list = tokens.to_node(piece.origin, piece.from / tokens.gpus);
    for (std::int64_t i = piece.first; i < piece.first + piece.tokens; ++i) {
      const int token = list.at(static_cast<std::size_t>(i));
      for (const auto& [expert, times] : at_middle[{piece.from, piece.origin, token}])
        at_origin[{piece.to, piece.origin, token}][expert] += times;
    }
  });
  for (int origin = 0; origin < tokens.ranks; ++origin) {
    const auto& all = tokens.experts[static_cast<std::size_t>(origin)];
    for (std::size_t token = 0; token < all.size(); ++token) {
      const auto& sum = at_origin[{origin, origin, static_cast<int>(token)}];
      CHECK(sum.size() == all[token].size());
      for (const int expert : all[token]) {
        const auto at = sum.find(expert);
        REQUIRE(at != sum.end());
        CHECK(at->second == 1);
      }
    }
  }
}

}  // namespace

TEST_CASE("experts: on one node every token arrives once, and its weights are summed once") {
  const PartsCatalogue parts = load_catalogue();
  Random random(5);
  for (int shape = 0; shape < 12; ++shape) {
    const int gpus = 2 + static_cast<int>(random.below(7));
    const Cluster cluster = load_cluster({"dgx-h100", 1, {}, false, gpus}, parts);
    const EpWays ways(cluster, gpus);
    const Tokens tokens(random_choice(random, gpus), gpus, gpus,
                        static_cast<int>(random.below(60)) + 1, random.next());
    CAPTURE(shape);
    DirectSchedule::Config config{ways, tokens.counts, EpPhase::dispatch, false, 64, 5, {},
                                  0,    false};
    check_dispatch(tokens, DirectSchedule(config));
    config.phase = EpPhase::combine;
    check_combine(tokens, DirectSchedule(config));
  }
}

// Kernels of NVLink domains forward to more GPUs than a batch of the exchange has lanes.
TEST_CASE("experts: between NVLink domains every token is forwarded once, and summed once") {
  const PartsCatalogue parts = load_catalogue();
  TopologyRequest request{"gb200-nvl72", 36, {}, false, 0};
  request.joins_domains = true;
  const Cluster cluster = load_cluster(request, parts);
  REQUIRE(cluster.nodes() == 2);
  Random random(7);
  for (const int gpus : {8, 9, 17, 24}) {
    const EpWays ways(cluster, gpus);
    const Tokens tokens(random_choice(random, 2 * gpus), 2 * gpus, gpus,
                        static_cast<int>(random.below(12)) + 1, random.next());
    CAPTURE(gpus);
    TwoStageSchedule::Config config{
        ways, tokens.counts, EpPhase::dispatch, 64, 1 + static_cast<int>(random.below(4)), {}};
    check_dispatch(tokens, TwoStageSchedule(config));
    config.phase = EpPhase::combine;
    check_combine(tokens, TwoStageSchedule(config));
  }
}

TEST_CASE("experts: between nodes every token is forwarded once, and its weights summed once") {
  const PartsCatalogue parts = load_catalogue();
  Random random(6);
  for (int shape = 0; shape < 12; ++shape) {
    const int nodes = shape == 0 ? 9 : 2 + static_cast<int>(random.below(4));
    const int gpus = shape == 0 ? 2 : 1 + static_cast<int>(random.below(8));
    const Cluster cluster = load_cluster({"dgx-h100", nodes, {}, false, gpus}, parts);
    const EpWays ways(cluster, gpus);
    const Tokens tokens(random_choice(random, nodes * gpus), nodes * gpus, gpus,
                        static_cast<int>(random.below(40)) + 1, random.next());
    CAPTURE(shape);
    TwoStageSchedule::Config config{
        ways, tokens.counts, EpPhase::dispatch, 64, 1 + static_cast<int>(random.below(6)), {}};
    check_dispatch(tokens, TwoStageSchedule(config));
    config.phase = EpPhase::combine;
    check_combine(tokens, TwoStageSchedule(config));
  }
}
