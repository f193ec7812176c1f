#include "models/nccl/base/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "sim/base/error.hpp"

namespace fabricast {
namespace {

[[noreturn]] void refuse(const std::vector<int>& numbers, const char* how) {
  throw Error(fmt::format("the {}: {} is not", how, fmt::join(numbers, ", ")));
}

void check_nodes(const std::vector<int>& nodes) {
  if (nodes.empty()) throw Error("a communicator needs a node");
  std::vector<int> sorted = nodes;
  std::ranges::sort(sorted);
  if (sorted.front() < 0 || std::ranges::adjacent_find(sorted) != sorted.end())
    refuse(nodes, "nodes of a communicator are counted from 0, each once");
}

void check_gpus(const std::vector<int>& gpus) {
  if (gpus.empty()) throw Error("a communicator needs a GPU");
  if (gpus.front() < 0 || std::ranges::adjacent_find(gpus, std::greater_equal()) != gpus.end())
    refuse(gpus, "GPUs of a communicator are counted from 0, in ascending order, each once");
}

std::vector<int> counted_up(int count) {
  std::vector<int> out(static_cast<std::size_t>(std::max(count, 0)));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

Members::Members(std::vector<int> nodes, std::vector<int> gpus)
    : nodes_(std::move(nodes)), gpus_(std::move(gpus)) {
  check_nodes(nodes_);
  check_gpus(gpus_);
}

Members Members::first(int nodes, int gpus_per_node) {
  return {counted_up(nodes), counted_up(gpus_per_node)};
}

Members Members::of_job(std::span<const int> ranks, int gpus_per_node) {
  std::vector<int> nodes, gpus;
  for (const int rank : ranks) {
    if (nodes.empty() || nodes.back() != rank / gpus_per_node)
      nodes.push_back(rank / gpus_per_node);
    if (nodes.size() == 1) gpus.push_back(rank % gpus_per_node);
  }
  Members out(std::move(nodes), std::move(gpus));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int place = static_cast<int>(i), node = ranks[i] / gpus_per_node;
    const bool fits = place < out.ranks() && node == out.node(place) &&
                      ranks[i] % gpus_per_node == out.gpu(place);
    if (fits && (place + 1 < static_cast<int>(ranks.size()) || place + 1 == out.ranks())) continue;
    constexpr std::size_t named = 12;
    throw Error(fmt::format("ranks {}{}: not the same GPUs of node{} and of node{}",
                            fmt::join(ranks.first(std::min(named, ranks.size())), ", "),
                            ranks.size() > named ? ", ..." : "", out.nodes_.front(), node),
                "a communicator with other GPUs on another node is not simulated yet");
  }
  return out;
}

Members Members::split(int groups) const {
  assert(groups > 0 && gpus_per_host() % groups == 0);
  Members out = *this;
  out.groups_ = groups;
  return out;
}

int Members::rank(int node, int gpu) const {
  // Nodes are in ascending order but where somebody maps ranks by hand.
  auto at = std::ranges::lower_bound(nodes_, node);
  if (at == nodes_.end() || *at != node) at = std::ranges::find(nodes_, node);
  const auto local = std::ranges::lower_bound(gpus_, gpu);
  assert(at != nodes_.end() && *at == node && local != gpus_.end() && *local == gpu);
  return static_cast<int>((at - nodes_.begin()) * gpus_per_host() + (local - gpus_.begin()));
}

}  // namespace fabricast
