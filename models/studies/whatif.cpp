#include "models/studies/whatif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace fabricast {

namespace {

constexpr std::uint32_t bit(std::size_t factor) { return 1U << factor; }

double factorial(int n) {
  double out = 1;
  for (int i = 2; i <= n; ++i) out *= i;
  return out;
}

/// The work in every combination; the same rows in each.
class Combinations {
 public:
  Combinations(const Work& before, const std::vector<WhatifFactor>& factors,
               const PartsCatalogue& parts, const ForEach& for_each)
      : runs_(std::size_t{1} << factors.size()) {
    for_each(runs_.size(), [&](std::size_t index) {
      const auto mask = static_cast<std::uint32_t>(index);
      const bool explain =
          std::popcount(mask) <= 1 || std::popcount(mask) + 1 >= static_cast<int>(factors.size());
      runs_[index] = run_work(with_setup(before, with_factors(setup_of(before), factors, mask)),
                              parts, explain);
    });
    for (const WorkRun& run : runs_) check_same_rows(runs_.front(), run);
  }

  const WorkRun& run(std::uint32_t mask) const { return runs_[mask]; }
  double us(std::uint32_t mask, std::size_t row) const { return runs_[mask].rows[row].time_us; }

 private:
  std::vector<WorkRun> runs_;
};

Worth worth_of(const Combinations& all, std::size_t factors, std::size_t factor, std::size_t row) {
  const std::uint32_t whole = bit(factors) - 1, own = bit(factor);
  const auto gain = [&](std::uint32_t without) {
    return all.us(without, row) - all.us(without | own, row);
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
  out.mechanism = mechanism(all.run(0), all.run(own), row);
  if (out.mechanism.empty()) {
    out.mechanism = mechanism(all.run(whole & ~own), all.run(whole), row);
    if (!out.mechanism.empty()) out.mechanism = "with the others: " + out.mechanism;
  }
  return out;
}

void add_notes(std::vector<std::string>& notes, const std::string& name, const WorkRun& run) {
  for (const std::string& note : run.notes) {
    const std::string line = fmt::format("{}: {}", name, note);
    if (std::ranges::find(notes, line) == notes.end()) notes.push_back(line);
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
      if (after->empty()) return fmt::format("the topology's own fabric instead of {}", *before);
      return fmt::format("fabric {} instead of {}", *after,
                         before->empty() ? "the topology's own" : *before);
  }
  if (!after) return fmt::format("{} unset (was {})", name, *before);
  if (!before) return fmt::format("{}={}", name, *after);
  return fmt::format("{}={} (was {})", name, *after, *before);
}

std::vector<WhatifFactor> factors_between(const Setup& before, const Setup& after) {
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

Setup with_factors(Setup before, const std::vector<WhatifFactor>& factors, std::uint32_t mask) {
  Setup& out = before;
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
  return before;
}

WhatifResult run_whatif(const Work& before, const Work& after, const PartsCatalogue& parts,
                        const ForEach& for_each) {
  WhatifResult out;
  out.factors = factors_between(setup_of(before), setup_of(after));
  const Combinations all(before, out.factors, parts, for_each);
  const std::size_t factors = out.factors.size();
  out.runs = std::size_t{1} << factors;
  const WorkRun &first = all.run(0), &last = all.run(bit(factors) - 1);
  for (std::size_t r = 0; r < first.rows.size(); ++r) {
    WhatifRow& row = out.rows.emplace_back();
    row.before = first.rows[r];
    row.after = last.rows[r];
    row.mechanism = mechanism(first, last, r);
    for (std::size_t i = 0; i < factors; ++i) row.worths.push_back(worth_of(all, factors, i, r));
  }
  add_notes(out.notes, "before", first);
  add_notes(out.notes, "after", last);
  return out;
}

double WhatifTable::total_us(std::size_t run) const {
  double out = 0;
  for (const WorkRow& row : runs[run].rows) out += row.time_us;
  return out;
}

WhatifTable compare_all(const std::vector<NamedWork>& works, const PartsCatalogue& parts,
                        const ForEach& for_each) {
  WhatifTable out;
  out.runs.resize(works.size());
  for_each(works.size(),
           [&](std::size_t i) { out.runs[i] = run_work(works[i].work, parts, true); });
  for (std::size_t i = 0; i < works.size(); ++i) {
    out.names.push_back(works[i].name);
    check_same_rows(out.runs.front(), out.runs[i]);
    add_notes(out.notes, works[i].name, out.runs[i]);
  }
  return out;
}

}  // namespace fabricast
