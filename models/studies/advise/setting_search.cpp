#include "models/studies/advise/setting_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace fabricast {

namespace {

constexpr double kNotAllowed = std::numeric_limits<double>::infinity();
constexpr std::size_t kPairedValues = 2;  ///< of each variable, that are tried in pairs

using Key = std::vector<std::pair<std::string, std::string>>;

/// The order of variables does not matter.
Key key_of(const Environment& environment) {
  Key out(environment.variables().begin(), environment.variables().end());
  std::ranges::sort(out);
  return out;
}

/// `environment` with one variable as it was at the start.
Environment restored(Environment environment, const Environment& start, const std::string& name) {
  if (const auto value = start.get(name)) {
    environment.set(name, std::string(*value));
  } else {
    environment.unset(name);
  }
  return environment;
}

class Search {
 public:
  Search(const Environment& start, const std::vector<SettingMove>& moves,
         const std::function<RowTimes(const Environment&)>& times, const SearchRules& rules,
         const ForEach& for_each)
      : start_(start), moves_(moves), times_(times), rules_(rules), for_each_(for_each) {}

  FoundSettings run() {
    ask({start_});
    Environment best = start_;
    // Each round takes a gain of `least` or more, so there are not many.
    for (const bool all : {false, true}) {
      while (const auto better = step_from(best, all)) best = *better;
    }
    drop_lines(best);
    FoundSettings out{best, 0, {}, known(start_)};
    std::vector<Environment> alone;
    for (const SettingMove& move : moves_) alone.push_back(with_move(start_, move));
    ask(alone);
    for (const Environment& one : alone) out.alone.push_back(known(one));
    out.tried = known_.size();
    return out;
  }

 private:
  /// Makes them known.
  void ask(const std::vector<Environment>& environments) {
    std::vector<const Environment*> unknown;
    std::vector<RowTimes*> answers;
    for (const Environment& one : environments) {
      const auto [place, is_new] = known_.try_emplace(key_of(one));
      if (!is_new) continue;
      unknown.push_back(&one);
      answers.push_back(&place->second);
    }
    for_each_(unknown.size(), [&](std::size_t i) { *answers[i] = times_(*unknown[i]); });
  }
  const RowTimes& known(const Environment& environment) const {
    return known_.at(key_of(environment));
  }
  double score_of(const Environment& environment) const {
    return score(known(environment), known(start_), rules_);
  }

  bool is_allowed(const Environment& environment) const {
    return differing(start_, environment).size() <= rules_.lines_max;
  }

  /// The best of `options`, if it is better than `than` by what a line must save.
  std::optional<Environment> best_of(const std::vector<Environment>& options, double than) const {
    std::optional<Environment> out;
    double least = than - std::log1p(rules_.least);
    for (const Environment& one : options) {
      const double here = score_of(one);
      if (out ? here >= least : here > least) continue;
      least = here;
      out = one;
    }
    return out;
  }

  std::optional<Environment> step_from(const Environment& from, bool all) {
    std::vector<Environment> single;
    std::vector<const SettingMove*> made;
    for (const SettingMove& move : moves_) {
      if (!all && !move.mends) continue;
      Environment one = with_move(from, move);
      if (key_of(one) == key_of(from) || !is_allowed(one)) continue;
      single.push_back(std::move(one));
      made.push_back(&move);
    }
    ask(single);
    std::optional<Environment> best = best_of(single, score_of(from));
    const std::vector<Environment> pairs = pairs_from(from, single, made);
    ask(pairs);
    const auto better = best_of(pairs, best ? score_of(*best) : score_of(from));
    return better ? better : best;
  }

  /// Moves of two variables that each change something here.
  std::vector<Environment> pairs_from(const Environment& from,
                                      const std::vector<Environment>& single,
                                      const std::vector<const SettingMove*>& made) const {
    const RowTimes& now = known(from);
    std::map<std::string, std::vector<std::size_t>> by_variable;
    for (std::size_t i = 0; i < single.size(); ++i) {
      const RowTimes& then = known(single[i]);
      const auto same = [](const RowTime& a, const RowTime& b) { return a.us == b.us; };
      if (then.empty() || std::ranges::equal(now, then, same)) continue;
      by_variable[made[i]->settings.front().first].push_back(i);
    }
    std::vector<std::size_t> kept;
    for (auto& [name, numbers] : by_variable) {
      std::ranges::stable_sort(numbers, [&](std::size_t a, std::size_t b) {
        return mean_of(single[a]) < mean_of(single[b]);
      });
      numbers.resize(std::min(numbers.size(), kPairedValues));
      kept.insert(kept.end(), numbers.begin(), numbers.end());
    }
    std::ranges::sort(kept);
    std::vector<Environment> out;
    for (const std::size_t a : kept) {
      for (const std::size_t b : kept) {
        if (a >= b || made[a]->settings.front().first == made[b]->settings.front().first) continue;
        Environment both = with_move(single[a], *made[b]);
        if (is_allowed(both)) out.push_back(std::move(both));
      }
    }
    return out;
  }

  /// The score without what is not allowed: what harms alone may help in a pair.
  double mean_of(const Environment& environment) const {
    SearchRules free = rules_;
    free.harm = kNotAllowed;
    return score(known(environment), known(start_), free);
  }

  bool mends(const std::string& name) const {
    return std::ranges::any_of(moves_, [&](const SettingMove& move) {
      return move.mends && move.settings.front().first == name;
    });
  }

  /// What forces goes before what mends, then the cheaper one.
  void drop_lines(Environment& best) {
    for (;;) {
      const std::vector<std::string> names = differing(start_, best);
      std::vector<Environment> without;
      for (const std::string& name : names) without.push_back(restored(best, start_, name));
      ask(without);
      const auto order = [&](std::size_t i) {
        return std::pair(mends(names[i]), score_of(without[i]));
      };
      std::optional<std::size_t> least;
      for (std::size_t i = 0; i < without.size(); ++i) {
        if (worth_a_line(known(without[i]), known(best), known(start_), rules_)) continue;
        if (!least || order(i) < order(*least)) least = i;
      }
      if (!least) return;
      best = without[*least];
    }
  }

  const Environment& start_;
  const std::vector<SettingMove>& moves_;
  const std::function<RowTimes(const Environment&)>& times_;
  const SearchRules& rules_;
  const ForEach& for_each_;
  std::map<Key, RowTimes> known_;
};

}  // namespace

double score(const RowTimes& times, const RowTimes& start, const SearchRules& rules,
             bool with_doubts) {
  if (times.empty()) return kNotAllowed;
  double sum = 0;
  int rows = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!rules.counts[i]) continue;
    const double ratio = times[i].us / start[i].us;
    if (ratio > 1 + rules.harm) return kNotAllowed;
    sum += std::log(ratio * (with_doubts ? times[i].doubt : 1));
    ++rows;
  }
  return rows > 0 ? sum / rows : 0;
}

NotWorth why_no_line(const RowTimes& without, const RowTimes& with, const RowTimes& start,
                     const SearchRules& rules) {
  if (with.empty()) return NotWorth::refused;
  for (const bool doubts : {false, true}) {
    const double cost = score(without, start, rules, doubts) - score(with, start, rules, doubts);
    if (cost == kNotAllowed) return NotWorth::nothing;
    if (cost == -kNotAllowed || std::isnan(cost)) return NotWorth::harm;
    if (cost < std::log1p(rules.least)) return doubts ? NotWorth::doubt : NotWorth::mean;
  }
  for (std::size_t i = 0; i < with.size(); ++i) {
    const double doubt = with[i].doubt / without[i].doubt;
    if (rules.counts[i] && without[i].open_us >= with[i].open_us * doubt * (1 + rules.band))
      return NotWorth::nothing;
  }
  return NotWorth::band;
}

bool worth_a_line(const RowTimes& without, const RowTimes& with, const RowTimes& start,
                  const SearchRules& rules) {
  return why_no_line(without, with, start, rules) == NotWorth::nothing;
}

Environment with_move(Environment environment, const SettingMove& move) {
  for (const auto& [name, value] : move.settings) {
    if (value) {
      environment.set(name, *value);
    } else {
      environment.unset(name);
    }
  }
  return environment;
}

std::vector<std::string> differing(const Environment& a, const Environment& b) {
  std::vector<std::string> out;
  for (const auto& [name, value] : b.variables()) {
    if (a.get(name) != std::optional<std::string_view>(value)) out.push_back(name);
  }
  for (const auto& [name, value] : a.variables()) {
    if (!b.get(name)) out.push_back(name);
  }
  return out;
}

FoundSettings search_settings(const Environment& start, const std::vector<SettingMove>& moves,
                              const std::function<RowTimes(const Environment&)>& times,
                              const SearchRules& rules, const ForEach& for_each) {
  return Search(start, moves, times, rules, for_each).run();
}

}  // namespace fabricast
