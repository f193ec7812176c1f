#include "models/kernels/kernel_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr double kMxfp4 = 0.5 + 1.0 / 32, kNvfp4 = 0.5 + 1.0 / 16, kInt4 = 0.5 + 2.0 / 128;

const std::map<std::string, Operands, std::less<>>& all_operands() {
  static const std::map<std::string, Operands, std::less<>> all = {
      {"bfloat16", {2, 2, MathBits::bits16, false}},
      {"float16", {2, 2, MathBits::bits16, false}},
      {"fp8", {1, 1, MathBits::bits8, true}},
      {"fp8_block", {1, 1, MathBits::bits8, true}},
      {"nvfp4", {kNvfp4, kNvfp4, MathBits::bits4, true}},
      {"sq", {1, 1, MathBits::bits8, true}},
      {"int8_wo", {2, 1, MathBits::bits16, false}},
      {"int4_wo", {2, kInt4, MathBits::bits16, false}},
      {"w4a16_mxfp4", {2, kMxfp4, MathBits::bits16, false}},
      {"w4a8_mxfp4_mxfp8", {1 + 1.0 / 32, kMxfp4, MathBits::bits8, true}}};
  return all;
}

/// Rows of every expert, the busiest ones first, of 8 bytes each.
std::vector<double> rows_of_experts(double tokens, int topk, int experts, double skew) {
  const double rows = tokens * topk, e = experts;
  const double low = rows > e ? 1 : 0.01;
  const double high = std::max(rows > e ? 0.8 * tokens : 2, 1.01 * low);
  const double power = 1 - skew;
  std::vector<double> out;
  for (int i = 0; i < experts; ++i) {
    const double share = (i + 0.5) / e;
    const double at = std::abs(power) < 1e-9
                          ? low * std::pow(high / low, share)
                          : std::pow(share * (std::pow(high, power) - std::pow(low, power)) +
                                         std::pow(low, power),
                                     1 / power);
    out.push_back(at);
  }
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& one : out) one = std::min(std::round(one / sum * rows), tokens);
  return out;
}

/// As much of rank 0 as `own` experts are, when every expert has the same.
ExpertLoads even_loads(double rows, int experts, double own) {
  ExpertLoads out;
  out.rows = rows * own / experts;
  out.hit = std::min(own, std::max(1.0, std::round(out.rows)));
  const double each = std::max(1.0, out.rows / out.hit);
  out.rows = each * out.hit;
  for (std::size_t i = 0; i < kExpertTiles.size(); ++i)
    out.tiles[i] = out.hit * std::ceil(each / kExpertTiles[i]);
  return out;
}

}  // namespace

Operands operands_of(std::string_view dtype) {
  const auto& all = all_operands();
  if (const auto at = all.find(dtype); at != all.end()) return at->second;
  std::vector<std::string> names;
  for (const auto& [name, unused] : all) names.push_back(name);
  throw Error(fmt::format("unknown dtype \"{}\"", dtype), hint_nearest(std::string(dtype), names));
}

ExpertLoads expert_loads(double tokens, int topk, int experts, int ranks, double skew) {
  const auto own = static_cast<std::size_t>(std::max(1, experts / ranks));
  if (skew <= 0) return even_loads(tokens * topk, experts, static_cast<double>(own));
  std::vector<double> rows = rows_of_experts(tokens, topk, experts, skew);
  constexpr int kOrders = 3;
  ExpertLoads out;
  Random random(static_cast<std::uint64_t>(experts));
  for (int order = 0; order < kOrders; ++order) {
    for (std::size_t i = rows.size(); i > 1; --i)
      std::swap(rows[i - 1], rows[random.below(static_cast<std::uint32_t>(i))]);
    std::size_t busiest = 0;
    double most = -1;
    for (std::size_t at = 0; at + own <= rows.size(); at += own) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(at);
      const double sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(own), 0.0);
      if (sum > most) most = sum, busiest = at;
    }
    out.rows += most / kOrders;
    for (std::size_t e = busiest; e < busiest + own; ++e) {
      if (rows[e] > 0) out.hit += 1.0 / kOrders;
      for (std::size_t i = 0; i < kExpertTiles.size(); ++i)
        out.tiles[i] += std::ceil(rows[e] / kExpertTiles[i]) / kOrders;
    }
  }
  out.hit = std::max(out.hit, 1.0);
  return out;
}

ExpertLoads random_loads(double tokens, int topk, int experts, int ranks) {
  const double own = std::max(1.0, static_cast<double>(experts) / ranks);
  const double none = std::pow(1 - static_cast<double>(topk) / experts, tokens);
  ExpertLoads out;
  out.rows = tokens * topk / ranks;
  out.hit = std::max(1.0, own * (1 - none));
  out.rows = std::max(out.rows, out.hit);
  for (std::size_t i = 0; i < kExpertTiles.size(); ++i)
    out.tiles[i] = out.hit * std::ceil(out.rows / out.hit / kExpertTiles[i]);
  return out;
}

}  // namespace fabricast
