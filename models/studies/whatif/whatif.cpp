#include "models/studies/whatif/whatif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "models/nccl/base/releases.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {

namespace {

constexpr std::uint32_t bit(std::size_t factor) { return 1U << factor; }

/// The work in every combination of changes; the same rows in each. Some may be refused.
class Combinations {
 public:
  /// `times`: nothing is explained, and all calls are on one machine. Null: explained.
  Combinations(const Work& before, const std::vector<WhatifFactor>& factors,
               const PartsCatalogue& parts, const ForEach& for_each, KnownCalls* times)
      : factors_(factors.size()),
        is_explained_(times == nullptr),
        runs_(std::size_t{1} << factors.size()),
        refusals_(runs_.size()) {
    std::vector<KnownCalls*> known(runs_.size(), times);
    for (std::uint32_t mask = 0; is_explained_ && mask <= whole(); ++mask) {
      const Job job = with_factors(job_of(before), factors, mask);
      known[mask] = &known_
                         .try_emplace({job.topology, job.fabric, job.version, explains(mask)},
                                      KnownCalls::Kept::all)
                         .first->second;
    }
    for_each(runs_.size(), [&](std::size_t index) {
      const auto mask = static_cast<std::uint32_t>(index);
      Work work = with_job(before, with_factors(job_of(before), factors, mask));
      // Of the others no notes are told.
      if (auto* bench = std::get_if<BenchConfig>(&work); bench && mask != 0 && mask != whole())
        bench->routing_note = false;
      try {
        runs_[index] = run_work(work, parts, explains(mask), *known[index]);
      } catch (const Error& refusal) {
        if (mask == 0 || mask == whole()) throw;
        refusals_[index] = refusal.reason();
      }
    });
    for (const auto& run : runs_)
      if (run) check_same_rows(*runs_.front(), *run);
    count_orders();
  }

  std::uint32_t whole() const { return bit(factors_) - 1; }
  /// "" where nothing is explained. REQUIRES: neither is refused.
  std::string mechanism_of(std::uint32_t from, std::uint32_t to, std::size_t row) const {
    return is_explained_ ? mechanism(*runs_[from], *runs_[to], row) : std::string{};
  }
  /// Nothing where it is refused.
  const std::optional<WorkRun>& run(std::uint32_t mask) const { return runs_[mask]; }
  /// Why, without a hint.
  const std::string& refusal(std::uint32_t mask) const { return refusals_[mask]; }

  /// What the factor saves on top of the others.
  std::optional<double> gain(std::uint32_t others, std::size_t factor, std::size_t row) const {
    const auto &without = runs_[others], &with = runs_[others | bit(factor)];
    if (!without || !with) return std::nullopt;
    return without->rows[row].time_us - with->rows[row].time_us;
  }

  /// Shapley's value: the mean gain over all orders in which no step is refused.
  std::optional<double> mean_gain(std::size_t factor, std::size_t row) const {
    const double orders = orders_to_[whole()];
    if (orders == 0) return std::nullopt;
    double out = 0;
    for (std::uint32_t mask = 0; mask <= whole(); ++mask) {
      if ((mask & bit(factor)) != 0) continue;
      const double share = orders_to_[mask] * orders_from_[mask | bit(factor)] / orders;
      if (share > 0) out += *gain(mask, factor, row) * share;
    }
    return out;
  }

 private:
  /// What changes with one factor, alone or as the last one, is told why.
  bool explains(std::uint32_t mask) const {
    return is_explained_ &&
           (std::popcount(mask) <= 1 || std::popcount(mask) + 1 >= static_cast<int>(factors_));
  }

  /// In how many orders a combination is reached from none, and all from it.
  void count_orders() {
    orders_to_.assign(runs_.size(), 0);
    orders_from_.assign(runs_.size(), 0);
    orders_to_[0] = orders_from_[whole()] = 1;
    for (std::uint32_t mask = 1; mask <= whole(); ++mask)
      for (std::size_t i = 0; runs_[mask] && i < factors_; ++i)
        if ((mask & bit(i)) != 0) orders_to_[mask] += orders_to_[mask & ~bit(i)];
    for (std::uint32_t mask = whole(); mask-- > 0;)
      for (std::size_t i = 0; runs_[mask] && i < factors_; ++i)
        if ((mask & bit(i)) == 0) orders_from_[mask] += orders_from_[mask | bit(i)];
  }

  std::size_t factors_;
  bool is_explained_;
  std::vector<std::optional<WorkRun>> runs_;
  std::vector<std::string> refusals_;
  std::vector<double> orders_to_, orders_from_;  ///< by combination
  /// What combinations on one machine have in common; explained or not.
  std::map<std::tuple<std::string, std::string, NcclVersion, bool>, KnownCalls> known_;
};

/// Runs of the same work, on the same machine or on two.
std::optional<RatioBand> ratio_band(const WorkRun& before, const WorkRun& after, std::size_t row,
                                    bool is_same_machine, const BandTable& bands) {
  const WorkRow &a = before.rows[row], &b = after.rows[row];
  if (!a.collective || a.time_us <= 0) return std::nullopt;
  const double ratio = b.time_us / a.time_us;
  if (is_same_machine) return change_band(bands, size_range(a.size), ratio);
  const auto first = band_of(before, row, bands), second = band_of(after, row, bands);
  if (!first || !second) return std::nullopt;
  return machines_band(*first, *second, ratio);
}

bool is_same_machine(const Job& a, const Job& b) {
  return a.topology == b.topology && a.fabric == b.fabric;
}

Worth worth_of(const Combinations& all, std::size_t factor, std::size_t row, bool is_same_machine,
               const BandTable& bands) {
  const std::uint32_t own = bit(factor), others = all.whole() & ~own;
  Worth out;
  out.alone_us = all.gain(0, factor, row);
  out.in_order_us = all.gain(own - 1, factor, row);
  out.last_us = all.gain(others, factor, row);
  out.shapley_us = all.mean_gain(factor, row);
  if (out.alone_us) {
    out.mechanism = all.mechanism_of(0, own, row);
    const auto ratio = ratio_band(*all.run(0), *all.run(own), row, is_same_machine, bands);
    const double before_us = all.run(0)->rows[row].time_us;
    if (ratio) {
      out.alone_low_us = before_us * (1 - ratio->upper);
      out.alone_high_us = before_us * (1 - ratio->lower);
    }
  }
  if (out.mechanism.empty() && out.last_us) {
    out.mechanism = all.mechanism_of(others, all.whole(), row);
    if (!out.mechanism.empty()) out.mechanism = "with the others: " + out.mechanism;
  }
  return out;
}

/// "with NCCL_ALGO=Ring alone nothing is simulated: ", then why.
std::string refused_note(const std::vector<WhatifFactor>& factors, std::uint32_t mask,
                         const std::string& refusal) {
  std::string made;
  for (std::size_t i = 0; i < factors.size(); ++i)
    if ((mask & bit(i)) != 0)
      made += fmt::format("{}{}", made.empty() ? "" : ", ", factors[i].text());
  return fmt::format("with {} alone nothing is simulated: {}", made, refusal);
}

void add_notes(std::vector<std::string>& notes, const std::string& name, const WorkRun& run) {
  for (const std::string& note : run.notes) add_once(notes, fmt::format("{}: {}", name, note));
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

std::vector<WhatifFactor> factors_between(const Job& before, const Job& after) {
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

Job with_factors(Job before, const std::vector<WhatifFactor>& factors, std::uint32_t mask) {
  Job& out = before;
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

namespace {

WhatifResult whatif(const Work& before, const Work& after, const PartsCatalogue& parts,
                    const BandTable& bands, const ForEach& for_each, KnownCalls* times) {
  WhatifResult out;
  out.factors = factors_between(job_of(before), job_of(after));
  const Combinations all(before, out.factors, parts, for_each, times);
  const std::size_t factors = out.factors.size();
  const WorkRun &first = *all.run(0), &last = *all.run(all.whole());
  std::vector<std::string> refused;
  for (std::uint32_t mask = 0; mask <= all.whole(); ++mask) {
    if (all.run(mask)) {
      ++out.runs;
    } else {
      refused.push_back(refused_note(out.factors, mask, all.refusal(mask)));
    }
  }
  for (std::size_t r = 0; r < first.rows.size(); ++r) {
    WhatifRow& row = out.rows.emplace_back();
    row.before = first.rows[r];
    row.after = last.rows[r];
    row.mechanism = all.mechanism_of(0, all.whole(), r);
    row.ratio = ratio_band(first, last, r, is_same_machine(job_of(before), job_of(after)), bands);
    for (std::size_t i = 0; i < factors; ++i) {
      const Job changed = with_factors(job_of(before), out.factors, bit(i));
      row.worths.push_back(worth_of(all, i, r, is_same_machine(job_of(before), changed), bands));
    }
  }
  add_notes(out.notes, "before", first);
  add_notes(out.notes, "after", last);
  constexpr std::size_t kNamed = 3;
  if (refused.size() > kNamed) {
    const std::size_t more = refused.size() - kNamed;
    refused.resize(kNamed);
    refused.push_back(
        fmt::format("nor with {} more of the {} combinations", more, std::size_t{1} << factors));
  }
  for (std::string& note : refused) out.notes.push_back(std::move(note) + ".");
  return out;
}

}  // namespace

WhatifResult run_whatif(const Work& before, const Work& after, const PartsCatalogue& parts,
                        const BandTable& bands, const ForEach& for_each) {
  return whatif(before, after, parts, bands, for_each, nullptr);
}

WhatifResult run_whatif(const Work& before, const Work& after, const PartsCatalogue& parts,
                        const BandTable& bands, const ForEach& for_each, KnownCalls& times) {
  return whatif(before, after, parts, bands, for_each, &times);
}

double WhatifTable::total_us(std::size_t run) const {
  double out = 0;
  for (const WorkRow& row : runs[run].rows) out += row.time_us;
  return out;
}

WhatifTable compare_all(const std::vector<NamedWork>& works, const PartsCatalogue& parts,
                        const BandTable& bands, const ForEach& for_each) {
  WhatifTable out;
  out.runs.resize(works.size());
  for_each(works.size(),
           [&](std::size_t i) { out.runs[i] = run_work(works[i].work, parts, true); });
  for (std::size_t i = 0; i < works.size(); ++i) {
    out.names.push_back(works[i].name);
    check_same_rows(out.runs.front(), out.runs[i]);
    const bool same = is_same_machine(job_of(works.front().work), job_of(works[i].work));
    auto& ratios = out.ratios.emplace_back();
    for (std::size_t row = 0; row < out.runs[i].rows.size(); ++row)
      ratios.push_back(ratio_band(out.runs.front(), out.runs[i], row, same, bands));
    add_notes(out.notes, works[i].name, out.runs[i]);
  }
  return out;
}

}  // namespace fabricast
