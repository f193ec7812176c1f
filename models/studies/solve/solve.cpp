#include "models/studies/solve/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>

#include "models/io/bands/ratio_band.hpp"
#include "models/io/formulas/formula_units.hpp"
#include "models/io/topologies/calibrated.hpp"
#include "models/io/topologies/load.hpp"
#include "models/studies/solve/switch_search.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr std::size_t kValuesMax = 10'000;

/// How the error of an answer goes with that of the base.
enum class BaseDoubt : std::uint8_t {
  together,     ///< assumed: on one machine both are off by as much
  of_a_change,  ///< measured: what a setting or a release changes on one machine
  apart         ///< of another machine
};

/// What a point is about; of a kind of question that names no machine: nothing.
std::optional<Job> job_of(const Sweep& sweep, const SweepPoint& point) {
  const Question question = question_at(sweep, point);
  return question.jobs.empty() ? std::nullopt : std::optional(question.jobs.front());
}

/// The range of an axis that nobody gave: what the question has is the greatest.
std::string usual_range(const Sweep& sweep, const std::string& key) {
  const YamlNode* const said = value_at(sweep, key);
  if ((key == "nics" || key == "site.nics" || key == "topology.nics") && said != nullptr) {
    if (const auto job = job_of(sweep, points_of(sweep).front())) {
      const PartsCatalogue parts = load_parts(job->parts);
      const Cluster node = Topology(job->topology, {}, parts).cluster({1});
      return fmt::format("1..{}:+1", node.node().nics().size());
    }
  }
  const auto most = said == nullptr ? std::nullopt : to_number<std::int64_t>(said->text);
  if (!most || *most < 1)
    throw Error(option_place("--vary"), fmt::format("{} has no range", key),
                fmt::format("--vary {}=1..64 (doubling), or 1..8:+1", key));
  return fmt::format("1..{}", *most);
}

/// The searched key last: it changes fastest.
Sweep sweep_of(const SolveAsk& ask, const std::string& key) {
  Sweep out = sweep_over(ask.file);
  const auto axis = [&](const std::string& name, const std::string& values) {
    placed(option_place("--vary"), [&] { add_axis(out, name, values); });
  };
  std::string range;
  for (const auto& [name, values] : ask.vary) {
    if (name == key) {
      range = values;
    } else {
      axis(name, values);
    }
  }
  axis(key, range.empty() ? usual_range(out, key) : range);
  if (out.axes.back().keys.size() > 1)
    throw Error(option_place("--vary"), "one key is searched, not several at once");
  return out;
}

/// Ascending, where the goal speaks of less and more.
void sort_values(SweepAxis& axis, const std::string& key) {
  std::vector<std::pair<double, std::vector<YamlNode>>> sorted;
  for (std::vector<YamlNode>& value : axis.values) {
    const std::string& text = value.front().text;
    const auto dimension = dimension_of_text(text);
    const std::optional<double> number =
        dimension ? std::optional(read_quantity(text, *dimension)) : finite_number(text);
    if (!number)
      throw Error(option_place("--vary"),
                  fmt::format("{}: \"{}\" is no number, so none is the fewest", key, text),
                  "--until takes values in the order in which they are given");
    sorted.emplace_back(*number, std::move(value));
  }
  std::ranges::stable_sort(sorted, {}, [](const auto& one) { return one.first; });
  for (std::size_t i = 0; i < sorted.size(); ++i) axis.values[i] = std::move(sorted[i].second);
}

BaseDoubt doubt_of(const Sweep& sweep) {
  BaseDoubt out = BaseDoubt::of_a_change;
  for (const SweepAxis& axis : sweep.axes) {
    for (const std::string& key : axis.keys) {
      if (key == "topology" || key == "site.topology") return BaseDoubt::apart;
      if (!key.ends_with("nccl") && key.find("NCCL_") == std::string::npos)
        out = BaseDoubt::together;
    }
  }
  return out;
}

/// Asks questions and says whether the condition holds. Each place is asked once.
class Asker {
 public:
  Asker(const SolveAsk& ask, const Sweep& sweep, std::vector<SweepPoint> points)
      : sweep_(sweep), points_(std::move(points)), doubt_(doubt_of(sweep)) {
    const auto job = job_of(sweep_, first_question());
    bands_ = load_bands(job ? job->parts : "");
    Sweep alone = sweep;
    alone.axes.clear();
    base_point_ = points_of(alone).front();
    condition_ = condition(ask.condition, {});
    uses_base_ = std::ranges::any_of(condition_.names(), &FormulaName::of_base);
  }

  /// REQUIRES: before any is asked.
  void ask_base() {
    if (uses_base_) base_ = report_of(base_point_);
  }
  bool uses_base() const { return uses_base_; }
  std::size_t places() const { return points_.size(); }
  const SweepPoint& point(std::size_t place) const { return points_[place]; }
  bool has_band() const { return has_band_; }
  BaseDoubt doubt() const { return doubt_; }

  /// May be called by several threads, for different places.
  SolvedValue ask(std::size_t place) {
    SolvedValue out;
    std::optional<Report> report;
    try {
      report = report_of(points_[place]);
    } catch (const Error& error) {
      out.refused = error.reason();
      return out;
    }
    std::call_once(columns_known_,
                   [&] { condition_ = condition(condition_.text(), column_names(*report)); });
    for (const BandEnd end : kBandEnds) {
      const auto look_up = [&](const FormulaName& name) { return value(*report, name, end); };
      const std::size_t e = static_cast<std::size_t>(end);
      placed(Place{{}, 0, "the condition"}, [&] { out.holds[e] = condition_.holds(look_up); });
      if (end != BandEnd::middle) continue;
      if (const auto sides = condition_.sides(look_up)) {
        out.figure = sides->first;
        out.threshold = sides->second;
      }
    }
    return out;
  }

 private:
  static Formula condition(const std::string& text, const std::vector<std::string>& columns) {
    Formula out =
        placed(Place{{}, 0, "the condition"}, [&] { return Formula::parse(text, columns); });
    if (!out.is_condition())
      throw Error(Place{{}, 0, "the condition"}, fmt::format("\"{}\" is none", text),
                  "compare it: step_s <= 1.5");
    return out;
  }

  /// The first point that is a question. Throws Error where none is.
  const SweepPoint& first_question() const {
    const std::vector<WrongPoint> wrong = wrong_points(sweep_, points_);
    if (wrong.size() == points_.size()) throw wrong.front().error;
    return *std::ranges::find_if(points_, [&](const SweepPoint& point) {
      return std::ranges::find(wrong, point.place, &WrongPoint::place) == wrong.end();
    });
  }

  Report report_of(const SweepPoint& point) const {
    return question_at(sweep_, point).answer(in_turn, [](double) {}).report();
  }

  FormulaValue value(const Report& report, const FormulaName& name, BandEnd end) {
    if (!name.of_base) {
      const ReportValue found(report, name);
      return found.with(factors(found, name).at(end));
    }
    const ReportValue found(*base_, name);
    const std::optional<TimeFactors> band = found.band();
    return found.with(doubt_ == BaseDoubt::together && band ? band->at(end) : 1);
  }

  /// What the time of a figure may be over the predicted one, with the base as it is predicted.
  TimeFactors factors(const ReportValue& found, const FormulaName& name) {
    const std::optional<TimeFactors> band = found.band();
    if (!band) return {};
    has_band_ = true;
    if (!uses_base_ || doubt_ == BaseDoubt::together) return *band;
    const ReportValue base(*base_, name);
    const std::optional<TimeFactors> other = base.band();
    const auto size = found.number("size_bytes");
    const auto time = found.number("time_us"), before = base.number("time_us");
    if (doubt_ == BaseDoubt::of_a_change && size && time && before && *before > 0) {
      const double ratio = *time / *before;
      const auto change =
          change_band(bands_, size_range(Bytes{static_cast<std::int64_t>(*size)}), ratio);
      if (change) return {change->lower / ratio, change->upper / ratio};
    }
    if (!other) return *band;
    return {std::exp(-std::hypot(std::log(band->fast), std::log(other->slow))),
            std::exp(std::hypot(std::log(band->slow), std::log(other->fast)))};
  }

  const Sweep& sweep_;
  std::vector<SweepPoint> points_;
  SweepPoint base_point_;
  BaseDoubt doubt_;
  BandTable bands_;
  Formula condition_ = Formula::parse("true");
  bool uses_base_ = false;
  std::optional<Report> base_;
  std::atomic<bool> has_band_ = false;
  std::once_flag columns_known_;  ///< by the first answer
};

/// What has no answer does not count: the search goes over what remains.
class LineSearch {
 public:
  LineSearch(Asker& asker, std::size_t line, std::size_t values)
      : asker_(asker), line_(line), values_(values) {
    for (std::size_t v = 0; v < values; ++v) order_.push_back(v);
  }

  void know(std::size_t value) {
    if (known_.contains(value)) return;
    SolvedValue found = asker_.ask(line_ * values_ + value);
    found.line = line_;
    found.value = value;
    found.number = static_cast<int>(known_.size()) + 1;
    if (!found.refused.empty()) std::erase(order_, value);
    known_.emplace(value, std::move(found));
  }
  void know_all() {
    for (std::size_t v = 0; v < values_; ++v) know(v);
  }

  SolveLine run(SolveGoal goal) {
    SolveLine out;
    for (const BandEnd end : kBandEnds) {
      const std::size_t e = static_cast<std::size_t>(end);
      ConditionSwitch found = search(end);
      if (!found.changes_once) {
        out.changes_once = false;
        know_all();
      }
      if (end == BandEnd::middle) out.first_holds = found.first_holds;
      out.answer[e] = found.changes_once ? of_switch(found, goal) : of_all(e, goal);
    }
    out.asked = static_cast<int>(known_.size());
    return out;
  }

  const std::map<std::size_t, SolvedValue>& known() const { return known_; }
  const std::vector<std::size_t>& order() const { return order_; }

 private:
  ConditionSwitch search(BandEnd end) {
    const std::size_t e = static_cast<std::size_t>(end);
    while (!order_.empty()) {
      const std::size_t count = order_.size();
      std::map<std::size_t, bool> known;
      for (std::size_t i = 0; i < count; ++i)
        if (const auto at = known_.find(order_[i]); at != known_.end())
          known[i] = at->second.holds[e];
      const ConditionSwitch out = find_switch(count, known, [&](std::size_t i) {
        if (order_.size() != count) return false;  // one was refused: what is found does not count
        const std::size_t value = order_[i];
        know(value);
        return known_.at(value).holds[e];
      });
      if (order_.size() == count && bends()) return {out.first_holds, {}, false};
      if (order_.size() == count) return out;
    }
    return {};
  }

  /// Does the distance to the threshold rise and fall again among what is known? Swings of less
  /// than 1 % are none.
  bool bends() const {
    constexpr double kNoise = 0.01;
    bool rises = false, falls = false;
    std::optional<double> last;
    for (const auto& [value, one] : known_) {
      if (!one.refused.empty() || !one.figure || !one.threshold) continue;
      const double distance = *one.figure - *one.threshold;
      const double noise = kNoise * std::abs(*one.threshold);
      if (!last) last = distance;
      if (std::abs(distance - *last) <= noise) continue;
      (distance > *last ? rises : falls) = true;
      last = distance;
    }
    return rises && falls;
  }

  std::optional<std::size_t> of_switch(const ConditionSwitch& found, SolveGoal goal) const {
    if (order_.empty()) return std::nullopt;
    const std::size_t last = order_.size() - 1;
    if (found.first_holds && goal == SolveGoal::fewest) return order_.front();
    if (found.first_holds) return order_[found.at ? *found.at - 1 : last];
    if (!found.at) return std::nullopt;
    return order_[goal == SolveGoal::most ? last : *found.at];
  }

  /// Of every value.
  std::optional<std::size_t> of_all(std::size_t e, SolveGoal goal) const {
    std::optional<std::size_t> out;
    const bool first = known_.at(order_.front()).holds[e];
    for (const std::size_t value : order_) {
      const bool holds = known_.at(value).holds[e];
      if (goal == SolveGoal::until && holds != first) return first ? out : value;
      if (holds) out = value;
      if (holds && goal == SolveGoal::fewest) break;
    }
    return out;
  }

  Asker& asker_;
  std::size_t line_, values_;
  std::vector<std::size_t> order_;  ///< of values that have an answer, as far as that is known
  std::map<std::size_t, SolvedValue> known_;
};

std::string others_of(const SweepPoint& point) {
  SweepPoint others = point;
  others.axes.pop_back();
  return point_text(others);
}

void add_notes(const Asker& asker, SolveResult& out) {
  if (!asker.has_band())
    out.notes.emplace_back("no band is known for this figure: the answer has no range");
  if (asker.has_band() && asker.uses_base() && asker.doubt() == BaseDoubt::together)
    out.notes.emplace_back(
        "the base is taken to be off by as much as the answer: on the same machine most of what a "
        "prediction misses is common to both");
  for (const SolveLine& line : out.lines)
    if (!line.changes_once)
      out.notes.push_back(fmt::format("{}{} does not go one way: every value was asked",
                                      line.others.empty() ? "" : line.others + ": ",
                                      out.ask.condition));
}

}  // namespace

SolveResult run_solve(const SolveAsk& ask, const ForEach& for_each) {
  if (ask.key.empty() && ask.vary.empty())
    throw Error(option_place("--vary"), "is missing", "what is searched: --vary nodes=1..64");
  SolveResult out;
  out.ask = ask;
  out.key = ask.key.empty() ? ask.vary.front().first : ask.key;
  Sweep sweep = sweep_of(ask, out.key);
  SweepAxis& searched = sweep.axes.back();
  if (ask.goal != SolveGoal::until) sort_values(searched, out.key);
  const std::size_t values = searched.values.size();
  std::vector<SweepPoint> points = points_of(sweep);
  if (points.size() > kValuesMax)
    throw Error(option_place("--vary"), fmt::format("{} combinations", points.size()),
                fmt::format("at most {}: fabricast sweep takes more", kValuesMax));
  for (std::size_t v = 0; v < values; ++v) out.values.push_back(points[v].axes.back().second);

  Asker asker(ask, sweep, std::move(points));
  asker.ask_base();
  std::vector<LineSearch> lines;
  for (std::size_t l = 0; l < asker.places() / values; ++l) lines.emplace_back(asker, l, values);
  out.lines.resize(lines.size());
  for_each(lines.size(), [&](std::size_t l) {
    if (ask.grid) lines[l].know_all();
    out.lines[l] = lines[l].run(ask.goal);
  });
  std::string refused;
  bool some = false;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    out.lines[l].others = others_of(asker.point(l * values));
    for (const auto& [value, one] : lines[l].known()) {
      out.asked.push_back(one);
      if (refused.empty()) refused = one.refused;
    }
    some = some || !lines[l].order().empty();
  }
  if (!some) throw Error(fmt::format("every value of {} is refused: {}", out.key, refused));
  out.has_band = asker.has_band();
  add_notes(asker, out);
  return out;
}

}  // namespace fabricast
