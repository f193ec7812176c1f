#include "models/experts/routing.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace fabricast {
namespace {

constexpr int kTriesMax = 256;  ///< at an expert that is not taken yet, before they are walked

}  // namespace

ExpertDraw::ExpertDraw(const ExpertChoice& choice, std::uint64_t seed)
    : choice_(choice),
      random_(seed),
      is_open_(static_cast<std::size_t>(choice.groups), 1),
      is_taken_(static_cast<std::size_t>(choice.experts)) {
  assert(choice.experts % choice.groups == 0 && choice.top_k >= 1);
  assert(choice.top_k <= choice.experts / choice.groups * choice.top_groups);
  if (choice.weights.empty()) return;
  sums_.resize(choice.weights.size());
  std::partial_sum(choice.weights.begin(), choice.weights.end(), sums_.begin());
}

/// One of all experts, by weight.
int ExpertDraw::draw() {
  if (sums_.empty())
    return static_cast<int>(random_.below(static_cast<std::uint32_t>(choice_.experts)));
  const double point = random_.unit() * sums_.back();
  const auto at = std::upper_bound(sums_.begin(), sums_.end(), point);
  return std::min(choice_.experts - 1, static_cast<int>(at - sums_.begin()));
}

/// Experts in the order of their scores. The groups of the best single experts are those that come
/// first in it; once there are enough, experts of others are passed over.
const std::vector<int>& ExpertDraw::next() {
  experts_.clear();
  std::fill(is_open_.begin(), is_open_.end(), 0);
  const int size = choice_.experts / choice_.groups;
  int open = 0;
  const auto is_free = [&](int expert) {
    const bool in_group = is_open_[static_cast<std::size_t>(expert / size)] != 0;
    return is_taken_[static_cast<std::size_t>(expert)] == 0 &&
           (in_group || open < choice_.top_groups);
  };
  while (static_cast<int>(experts_.size()) < choice_.top_k) {
    int expert = draw();
    for (int tries = 1; !is_free(expert) && tries < kTriesMax; ++tries) expert = draw();
    while (!is_free(expert)) expert = (expert + 1) % choice_.experts;
    is_taken_[static_cast<std::size_t>(expert)] = 1;
    experts_.push_back(expert);
    char& group = is_open_[static_cast<std::size_t>(expert / size)];
    if (group == 0) ++open;
    group = 1;
  }
  for (const int expert : experts_) is_taken_[static_cast<std::size_t>(expert)] = 0;
  return experts_;
}

TokenCounts::TokenCounts(int ranks, int gpus_per_node) : ranks_(ranks), gpus_(gpus_per_node) {
  assert(ranks % gpus_per_node == 0);
  const auto all = static_cast<std::size_t>(ranks);
  to_rank_.resize(all * all);
  pairs_.resize(all * all);
  to_node_.resize(all * static_cast<std::size_t>(nodes()));
}

void TokenCounts::add(int from, const std::vector<int>& ranks_of_experts) {
  for (std::size_t i = 0; i < ranks_of_experts.size(); ++i) {
    const int to = ranks_of_experts[i];
    const auto before = ranks_of_experts.begin() + static_cast<std::ptrdiff_t>(i);
    ++pairs_[at(from, to, ranks_)];
    if (std::find(ranks_of_experts.begin(), before, to) != before) continue;
    ++to_rank_[at(from, to, ranks_)];
    const bool is_new = std::none_of(ranks_of_experts.begin(), before,
                                     [&](int other) { return other / gpus_ == to / gpus_; });
    if (is_new) ++to_node_[at(from, to / gpus_, nodes())];
  }
}

void TokenCounts::scale(std::int64_t tokens, std::int64_t drawn) {
  for (auto* table : {&to_rank_, &to_node_, &pairs_})
    for (std::int64_t& count : *table) count = (count * tokens + drawn / 2) / drawn;
}

std::int64_t TokenCounts::copies() const {
  return std::accumulate(to_rank_.begin(), to_rank_.end(), std::int64_t{0});
}
std::int64_t TokenCounts::node_copies() const {
  return std::accumulate(to_node_.begin(), to_node_.end(), std::int64_t{0});
}

TokenCounts count_tokens(const ExpertCall& call, int ranks, int gpus_per_node) {
  assert(call.choice.experts >= ranks);
  TokenCounts out(ranks, gpus_per_node);
  const auto drawn = static_cast<int>(std::min<std::int64_t>(
      {call.tokens, kTokensDrawnMax, std::max<std::int64_t>(kTokensDrawnInAll / ranks, 1)}));
  ExpertDraw draw(call.choice, call.seed);
  std::vector<int> owners;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int token = 0; token < drawn; ++token) {
      owners.clear();
      for (const int expert : draw.next())
        owners.push_back(rank_of_expert(expert, call.choice.experts, ranks));
      out.add(rank, owners);
    }
  }
  if (drawn < call.tokens) out.scale(call.tokens, drawn);
  return out;
}

double shares_reached(int shares, int experts, int top_k) {
  const double elsewhere = experts - static_cast<double>(experts) / shares;
  double none = 1;  // of its experts in a given share
  for (int i = 0; i < top_k; ++i) none *= std::max(0.0, elsewhere - i) / (experts - i);
  return shares * (1 - none);
}

}  // namespace fabricast
