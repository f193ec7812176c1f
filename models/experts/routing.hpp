#pragma once
// Which tokens go where: experts of every token, drawn, and what follows from them for each pair of
// ranks. Experts lie on ranks in order: rank r has the experts from r * experts / ranks on.

#include <cstdint>
#include <functional>
#include <vector>

#include "models/experts/expert_call.hpp"
#include "sim/base/random.hpp"

namespace fabricast {

/// Draws the experts of tokens one after another.
class ExpertDraw {
 public:
  /// REQUIRES: 1 <= top_k <= experts of top_groups groups; groups divides experts; weights empty or
  /// one for each expert, none below 0, at least one above.
  ExpertDraw(const ExpertChoice& choice, std::uint64_t seed);
  /// top_k different experts, in the order of the draw.
  const std::vector<int>& next();

 private:
  int draw();

  ExpertChoice choice_;
  Random random_;
  std::vector<double> sums_;  ///< of weights, up to each expert; empty = alike
  std::vector<int> experts_;
  std::vector<char> is_open_;   ///< by group: it is one of those that the token goes to
  std::vector<char> is_taken_;  ///< by expert
};

/// Tokens by sending rank and where they go. A token goes to a rank once, and to a node once,
/// however many of its experts are there.
class TokenCounts {
 public:
  TokenCounts(int ranks, int gpus_per_node);

  int ranks() const { return ranks_; }
  int gpus_per_node() const { return gpus_; }
  int nodes() const { return ranks_ / gpus_; }
  std::int64_t to_rank(int from, int to) const { return to_rank_[at(from, to, ranks_)]; }
  std::int64_t to_node(int from, int node) const { return to_node_[at(from, node, nodes())]; }
  /// Pairs of a token and one of its experts there.
  std::int64_t pairs(int from, int to) const { return pairs_[at(from, to, ranks_)]; }

  void add(int from, const std::vector<int>& ranks_of_experts);
  /// As if each rank had `tokens` in place of `drawn`, rounded.
  void scale(std::int64_t tokens, std::int64_t drawn);
  /// Of all ranks together.
  std::int64_t copies() const;
  std::int64_t node_copies() const;

 private:
  static std::size_t at(int from, int to, int columns) {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(columns) +
           static_cast<std::size_t>(to);
  }

  int ranks_, gpus_;
  std::vector<std::int64_t> to_rank_, to_node_, pairs_;
};

/// The rank that has an expert.
constexpr int rank_of_expert(int expert, int experts, int ranks) {
  return static_cast<int>(static_cast<std::int64_t>(expert) * ranks / experts);
}

/// So many tokens of a rank are drawn; of more, what these do counts for all.
inline constexpr int kTokensDrawnMax = 8192;
inline constexpr std::int64_t kTokensDrawnInAll = 1 << 20;

/// REQUIRES: what ExpertDraw does; experts >= ranks; gpus_per_node divides ranks.
TokenCounts count_tokens(const ExpertCall& call, int ranks, int gpus_per_node);

/// Of so many equal shares of all experts (nodes, GPUs), those that have some of a token's `top_k`,
/// drawn without repetition: the expected number.
double shares_reached(int shares, int experts, int top_k);

}  // namespace fabricast
