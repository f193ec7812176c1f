#include "models/studies/whatif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "models/studies/mechanism.hpp"

namespace fabricast {

namespace {

constexpr std::uint32_t bit(std::size_t factor) { return 1U << factor; }

double factorial(int n) {
  double out = 1;
  for (int i = 2; i <= n; ++i) out *= i;
  return out;
}

std::string choice(const BenchRow& row) {
  const CollectiveRun& run = row.decided.run;
  if (!is_tuned(row.collective)) return fmt::format("{} channels", run.channels);
  return fmt::format("{} {}, {} channels", row.algorithm(), to_text(run.protocol), run.channels);
}

/// Every combination's blocks; the same rows in each.
class Combinations {
 public:
  Combinations(const BenchConfig& before, const std::vector<WhatifFactor>& factors,
               const PartsCatalogue& parts, const ForEach& for_each)
      : results_(std::size_t{1} << factors.size()) {
    for_each(results_.size(), [&](std::size_t mask) {
      BenchConfig config = with_factors(before, factors, static_cast<std::uint32_t>(mask));
      config.explain =
          std::popcount(mask) <= 1 || std::popcount(mask) + 1 >= static_cast<int>(factors.size());
      results_[mask] = run_bench(config, parts);
    });
  }

  const BenchResult& result(std::uint32_t mask) const { return results_[mask]; }
  const BenchBlock& block(std::uint32_t mask, std::size_t b) const {
    return results_[mask].blocks[b];
  }
  const BenchRow& row(std::uint32_t mask, std::size_t b, std::size_t r) const {
    return results_[mask].blocks[b].rows[r];
  }
  double us(std::uint32_t mask, std::size_t b, std::size_t r) const {
    return microseconds_of(row(mask, b, r).result.time);
  }

 private:
  std::vector<BenchResult> results_;
};

Worth worth_of(const Combinations& all, std::size_t factors, std::size_t factor, std::size_t b,
               std::size_t r) {
  const std::uint32_t whole = bit(factors) - 1, own = bit(factor);
  const auto gain = [&](std::uint32_t without) {
    return all.us(without, b, r) - all.us(without | own, b, r);
  };
  Worth out;
  out.alone_us = gain(0);
  out.in_order_us = gain(own - 1);
  out.last_us = gain(whole & ~own);
  const int n = static_cast<int>(factors);
  for (std::uint32_t mask = 0; mask <= whole; ++mask) {
    if ((mask & own) != 0) continue;
    const int before = std::popcount(mask);
    out.shapley_us += gain(mask) * factorial(before) * factorial(n - before - 1) / factorial(n);
  }
  const auto change = [&](std::uint32_t from, std::uint32_t to) {
    return mechanism(all.block(from, b), all.row(from, b, r), all.block(to, b), all.row(to, b, r));
  };
  out.mechanism = change(0, own);
  if (out.mechanism.empty()) {
    out.mechanism = change(whole & ~own, whole);
    if (!out.mechanism.empty()) out.mechanism = "with the others: " + out.mechanism;
  }
  return out;
}

WhatifRow row_of(const Combinations& all, std::size_t factors, std::size_t b, std::size_t r) {
  const std::uint32_t whole = bit(factors) - 1;
  const BenchRow &before = all.row(0, b, r), &after = all.row(whole, b, r);
  WhatifRow out;
  out.collective = before.collective;
  out.nodes = before.nodes;
  out.ranks = before.ranks;
  out.size = before.requested;
  out.before_us = microseconds_of(before.result.time);
  out.after_us = microseconds_of(after.result.time);
  out.before_busbw = before.busbw();
  out.after_busbw = after.busbw();
  out.before_choice = choice(before);
  out.after_choice = choice(after);
  out.mechanism = mechanism(all.block(0, b), before, all.block(whole, b), after);
  for (std::size_t i = 0; i < factors; ++i) out.worths.push_back(worth_of(all, factors, i, b, r));
  return out;
}

/// Work that one of them rounds down to nothing would leave rows without a partner.
void check_same_work(const Combinations& all, std::size_t factors) {
  const auto rows = [](const BenchResult& result) {
    std::vector<std::tuple<Collective, int, std::int64_t>> out;
    for (const BenchBlock& block : result.blocks) {
      for (const BenchRow& row : block.rows)
        out.emplace_back(row.collective, row.ranks, row.requested.count);
    }
    return out;
  };
  const auto expected = rows(all.result(0));
  for (std::uint32_t mask = 1; mask < bit(factors); ++mask) {
    if (rows(all.result(mask)) != expected)
      throw Error("before and after are not the same work: other numbers of ranks or sizes",
                  "give --gpus-per-node and --nodes such that both have as many ranks");
  }
}

}  // namespace

std::string WhatifFactor::text() const {
  switch (kind) {
    case Kind::variable:
      break;
    case Kind::version:
      return fmt::format("NCCL {} instead of {}", *after, *before);
    case Kind::topology:
      return fmt::format("topology {} instead of {}", *after, *before);
    case Kind::fabric:
      return fmt::format("fabric {} instead of {}", after->empty() ? "of the topology" : *after,
                         before->empty() ? "of the topology" : *before);
  }
  if (!after) return fmt::format("{} unset (was {})", name, *before);
  if (!before) return fmt::format("{}={}", name, *after);
  return fmt::format("{}={} (was {})", name, *after, *before);
}

std::vector<WhatifFactor> factors_between(const BenchConfig& before, const BenchConfig& after) {
  std::vector<WhatifFactor> out;
  using Kind = WhatifFactor::Kind;
  const auto differ = [&](Kind kind, const std::string& a, const std::string& b) {
    if (a != b) out.push_back({kind, {}, a, b});
  };
  differ(Kind::topology, before.topology, after.topology);
  differ(Kind::fabric, before.fabric, after.fabric);
  differ(Kind::version, std::string(to_text(before.version)), std::string(to_text(after.version)));
  const auto value = [](const Environment& environment, const std::string& name) {
    const auto text = environment.get(name);
    return text ? std::optional<std::string>(*text) : std::nullopt;
  };
  for (const auto& [name, text] : after.environment.variables()) {
    const auto old = value(before.environment, name);
    if (old != text) out.push_back({Kind::variable, name, old, text});
  }
  for (const auto& [name, text] : before.environment.variables()) {
    if (!after.environment.get(name)) out.push_back({Kind::variable, name, text, std::nullopt});
  }
  if (out.empty()) throw Error("before and after are the same: nothing to compare");
  if (out.size() > kFactorsMax) {
    throw Error(fmt::format("{} things differ: their {} combinations are too many, at most {} "
                            "things",
                            out.size(), std::uint64_t{1} << out.size(), kFactorsMax),
                "move what matters less into both of them");
  }
  return out;
}

BenchConfig with_factors(const BenchConfig& before, const std::vector<WhatifFactor>& factors,
                         std::uint32_t mask) {
  BenchConfig out = before;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if ((mask & bit(i)) == 0) continue;
    const WhatifFactor& factor = factors[i];
    switch (factor.kind) {
      case WhatifFactor::Kind::topology:
        out.topology = *factor.after;
        break;
      case WhatifFactor::Kind::fabric:
        out.fabric = *factor.after;
        break;
      case WhatifFactor::Kind::version:
        out.version = nccl_version_from_text(*factor.after);
        break;
      case WhatifFactor::Kind::variable:
        if (factor.after) {
          out.environment.set(factor.name, *factor.after);
        } else {
          out.environment.unset(factor.name);
        }
        break;
    }
  }
  return out;
}

WhatifResult run_whatif(const BenchConfig& before, const BenchConfig& after,
                        const PartsCatalogue& parts, const ForEach& for_each) {
  WhatifResult out;
  out.factors = factors_between(before, after);
  const Combinations all(before, out.factors, parts, for_each);
  check_same_work(all, out.factors.size());
  out.runs = std::size_t{1} << out.factors.size();
  const std::uint32_t whole = bit(out.factors.size()) - 1;
  for (std::size_t b = 0; b < all.result(0).blocks.size(); ++b) {
    for (std::size_t r = 0; r < all.block(0, b).rows.size(); ++r)
      out.rows.push_back(row_of(all, out.factors.size(), b, r));
  }
  for (const std::uint32_t mask : {0U, whole}) {
    for (const std::string& note : all.result(mask).notes) {
      const std::string line = (mask == 0 ? "before: " : "after: ") + note;
      if (std::ranges::find(out.notes, line) == out.notes.end()) out.notes.push_back(line);
    }
  }
  return out;
}

}  // namespace fabricast
