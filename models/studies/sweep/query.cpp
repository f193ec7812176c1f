#include "models/studies/sweep/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <variant>

#include "models/io/formulas/formula.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

using Row = std::vector<QueryCell>;

QueryCell kept(const StoreCell& cell) {
  return std::visit(
      [](const auto& value) -> QueryCell {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>)
          return std::string(value);
        else
          return value;
      },
      cell);
}

std::optional<double> number(const QueryCell& cell) {
  if (const auto* const whole = std::get_if<std::int64_t>(&cell))
    return static_cast<double>(*whole);
  if (const auto* const real = std::get_if<double>(&cell)) return *real;
  return std::nullopt;
}

FormulaValue formula_value(const QueryCell& cell) {
  if (const auto value = number(cell)) return *value;
  if (const auto* const text = std::get_if<std::string>(&cell)) return *text;
  return {};
}

std::string quoted(const std::string& column) { return "\"" + column + "\""; }

/// The columns of the view, without reading a row of it.
std::vector<std::string> columns_of(Store& store) {
  std::vector<std::string> out;
  store.select(
      "SELECT * FROM points LIMIT 0", {}, [](std::span<const StoreCell>) {}, &out);
  return out;
}

void check_column(const std::string& column, const std::vector<std::string>& known) {
  if (std::ranges::find(known, column) == known.end())
    throw Error(fmt::format("the store has no column \"{}\"", column), hint_nearest(column, known));
}

/// Program and data, newest results first.
std::vector<StoreVersion> versions_of(Store& store) {
  std::vector<StoreVersion> out;
  store.select(
      "SELECT program, data FROM result GROUP BY program, data "
      "ORDER BY max(finished_at) DESC, program DESC, data DESC",
      {}, [&](std::span<const StoreCell> row) {
        out.push_back({std::string(std::get<std::string_view>(row[0])),
                       std::string(std::get<std::string_view>(row[1]))});
      });
  return out;
}

/// Of the view: all but what is neither axis nor figure.
std::vector<std::string> axes_and_figures(const std::vector<std::string>& known) {
  static constexpr std::array<std::string_view, 13> kOthers = {
      "sweep",  "place",       "job_sha256", "study", "program",     "data",         "error",
      "answer", "error_place", "axes",       "cpu_s", "finished_at", "max_rss_bytes"};
  std::vector<std::string> out;
  for (const std::string& column : known)
    if (std::ranges::find(kOthers, column) == kOthers.end()) out.push_back(column);
  return out;
}

bool is_figure(const std::string& column) {
  static const std::vector<std::string> figures = headline_columns();
  return std::ranges::find(figures, column) != figures.end();
}

/// Axes, and figures with a value somewhere, in the order of the view.
std::vector<std::string> telling_columns(Store& store, const std::vector<std::string>& known,
                                         const StoreVersion& version) {
  std::string counts;
  std::vector<std::string> figures, silent;
  for (const std::string& column : axes_and_figures(known)) {
    if (!is_figure(column)) continue;
    counts += (counts.empty() ? "" : ", ") + fmt::format("count({})", quoted(column));
    figures.push_back(column);
  }
  store.select("SELECT " + counts + " FROM result WHERE program = ? AND data = ?",
               {version.program, version.data}, [&](std::span<const StoreCell> row) {
                 for (std::size_t i = 0; i < row.size(); ++i)
                   if (std::get<std::int64_t>(row[i]) == 0) silent.push_back(figures[i]);
               });
  std::vector<std::string> out;
  for (const std::string& column : axes_and_figures(known))
    if (std::ranges::find(silent, column) == silent.end()) out.push_back(column);
  return out;
}

/// Of a column in a group.
struct Summary {
  double sum = 0, least = INFINITY, most = -INFINITY;
  std::int64_t count = 0;

  void add(double value) {
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
};

/// Which point: its sweep's number among names seen so far, and its place there.
struct PointAt {
  std::size_t sweep = 0;
  std::int64_t place = 0;
};

/// The points of one version that fit, with as many of their columns as are wanted.
class FittingPoints {
 public:
  FittingPoints(Store& store, StoreVersion version, const QueryConfig& config)
      : store_(store),
        version_(std::move(version)),
        sweep_(config.sweep),
        known_(columns_of(store)) {
    if (config.where.empty()) return;
    where_ = Formula::parse(config.where, known_);
    for (const FormulaName& name : where_->names()) {
      if (name.of_base || !name.filter.empty())
        throw Error(fmt::format("{}: a query looks at one row at a time", to_text(name)));
      want(name.column);
    }
  }

  const std::vector<std::string>& known() const { return known_; }
  /// A column that each() reads; its index in the row.
  std::size_t want(const std::string& column) {
    check_column(column, known_);
    const auto found = std::ranges::find(read_, column);
    if (found != read_.end()) return static_cast<std::size_t>(found - read_.begin());
    read_.push_back(column);
    return read_.size() - 1;
  }

  /// Calls `row` with the wanted columns of each point that fits, in their order. How many there
  /// are, those that do not fit included.
  std::size_t each(
      const std::function<void(std::string_view sweep, std::int64_t place, const Row&)>& row) {
    std::string sql = "SELECT sweep, place";
    for (const std::string& column : read_) sql += ", " + quoted(column);
    sql += " FROM points WHERE program = ? AND data = ?";
    std::vector<StoreValue> bound = {version_.program, version_.data};
    if (!sweep_.empty()) {
      sql += " AND sweep = ?";
      bound.emplace_back(sweep_);
    }
    std::size_t seen = 0;
    Row cells(read_.size());
    store_.select(sql + " ORDER BY sweep, place", bound, [&](std::span<const StoreCell> found) {
      ++seen;
      for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = kept(found[i + 2]);
      const auto look_up = [&](const FormulaName& name) {
        return formula_value(cells[want(name.column)]);
      };
      if (!where_ || where_->holds(look_up))
        row(std::get<std::string_view>(found[0]), std::get<std::int64_t>(found[1]), cells);
    });
    return seen;
  }

 private:
  Store& store_;
  StoreVersion version_;
  std::string sweep_;  ///< "" = all
  std::vector<std::string> known_;
  std::vector<std::string> read_;  ///< columns of each()
  std::optional<Formula> where_;
};

/// Goes through the points once and reads of each no more than it takes to choose; what is shown of
/// those chosen is read then. A million points have JSON of a hundred megabytes.
class Query {
 public:
  Query(Store& store, const StoreVersion& version, const QueryConfig& config)
      : store_(store), config_(config), version_(version), points_(store, version, config) {}

  QueryResult run() {
    out_.columns = config_.columns;
    if (out_.columns.empty()) out_.columns = telling_columns(store_, points_.known(), version_);
    for (const std::string& column : out_.columns) check_column(column, points_.known());
    if (!config_.pareto.empty()) {
      read_front();
    } else if (config_.best) {
      read_best();
    } else if (!config_.group_by.empty()) {
      read_groups();
    } else {
      read_all();
    }
    cut();
    return std::move(out_);
  }

 private:
  std::size_t want(const std::string& column) { return points_.want(column); }

  void each(const std::function<void(PointAt, const Row&)>& row) {
    out_.seen = points_.each([&](std::string_view sweep, std::int64_t place, const Row& cells) {
      ++out_.matched;
      if (sweeps_.empty() || sweeps_.back() != sweep) sweeps_.emplace_back(sweep);
      row({sweeps_.size() - 1, place}, cells);
    });
  }

  /// What is shown of a point.
  void show(PointAt point) {
    std::string columns;
    for (const std::string& column : out_.columns)
      columns += (columns.empty() ? "" : ", ") + quoted(column);
    store_.select("SELECT " + columns +
                      " FROM points WHERE program = ? AND data = ? AND sweep = ? AND place = ?",
                  {version_.program, version_.data, sweeps_[point.sweep], point.place},
                  [&](std::span<const StoreCell> cells) {
                    Row line;
                    for (const StoreCell& cell : cells) line.push_back(kept(cell));
                    out_.rows.push_back(std::move(line));
                  });
  }

  void read_all() {
    const std::vector<std::size_t> shown = wanted(out_.columns);
    each([&](PointAt, const Row& row) {
      if (config_.limit > 0 && out_.matched > config_.limit) return;
      Row& line = out_.rows.emplace_back();
      for (const std::size_t column : shown) line.push_back(row[column]);
    });
  }

  /// Less is better.
  static std::optional<double> cost(const QueryCell& cell, const Aim& aim) {
    const auto value = number(cell);
    if (!value) return std::nullopt;
    return aim.is_most ? -*value : *value;
  }

  struct Candidate {
    std::vector<double> costs;
    PointAt point;
  };

  /// Rows that no other of their group beats in all aims.
  void read_front() {
    if (config_.best)
      throw Error(about("--best"), "--best and --pareto: one row, or all that no other beats?",
                  "give one of them");
    std::vector<std::size_t> aims;
    for (const Aim& aim : config_.pareto) aims.push_back(want(aim.column));
    const std::vector<std::size_t> keys = wanted(config_.group_by);
    std::map<Key, std::vector<Candidate>> groups;
    each([&](PointAt point, const Row& row) {
      Candidate one{{}, point};
      for (std::size_t i = 0; i < aims.size(); ++i)
        if (const auto found = cost(row[aims[i]], config_.pareto[i])) one.costs.push_back(*found);
      if (one.costs.size() == aims.size()) groups[key_of(row, keys)].push_back(std::move(one));
    });
    for (auto& [key, all] : groups) show_front(all);
  }

  void show_front(std::vector<Candidate>& all) {
    std::ranges::stable_sort(all, {}, &Candidate::costs);
    std::vector<const Candidate*> front;
    for (const Candidate& one : all) {
      // Whatever beats this one comes before it.
      const bool beaten = std::ranges::any_of(front, [&](const Candidate* other) {
        return other->costs != one.costs &&
               std::ranges::equal(other->costs, one.costs, std::less_equal{});
      });
      if (!beaten) front.push_back(&one);
    }
    for (const Candidate* one : front) show(one->point);
  }

  std::vector<std::size_t> wanted(const std::vector<std::string>& columns) {
    std::vector<std::size_t> out;
    for (const std::string& column : columns) out.push_back(want(column));
    return out;
  }

  /// Numbers in their order, then texts in theirs.
  using Key = std::vector<std::variant<double, std::string>>;
  static Key key_of(const Row& row, const std::vector<std::size_t>& keys) {
    Key out;
    for (const std::size_t key : keys) {
      const auto* const text = std::get_if<std::string>(&row[key]);
      if (const auto value = number(row[key])) {
        out.emplace_back(*value);
      } else {
        out.emplace_back(text == nullptr ? std::string{} : *text);
      }
    }
    return out;
  }

  /// The best of each group; without groups one.
  void read_best() {
    const std::size_t aim = want(config_.best->column);
    const std::vector<std::size_t> keys = wanted(config_.group_by);
    std::map<Key, std::pair<double, PointAt>> best;
    each([&](PointAt point, const Row& row) {
      const auto found = cost(row[aim], *config_.best);
      if (!found) return;
      const auto [known, is_new] = best.try_emplace(key_of(row, keys), *found, point);
      if (!is_new && *found < known->second.first) known->second = {*found, point};
    });
    for (const auto& [key, one] : best) show(one.second);
  }

  /// A row for each group: how many, and of each figure the mean, the least and the most.
  void read_groups() {
    struct Group {
      Row key;
      std::int64_t points = 0;
      std::vector<Summary> figures;
    };
    const std::vector<std::size_t> keys = wanted(config_.group_by);
    std::vector<std::string> names;
    std::vector<std::size_t> figures;
    for (const std::string& column : out_.columns) {
      const bool is_key = std::ranges::find(config_.group_by, column) != config_.group_by.end();
      if (is_key || (config_.columns.empty() && !is_figure(column))) continue;
      names.push_back(column);
      figures.push_back(want(column));
    }
    std::map<Key, Group> groups;
    std::vector<bool> has_numbers(figures.size());
    each([&](PointAt, const Row& row) {
      Group& group = groups[key_of(row, keys)];
      if (group.points++ == 0) {
        for (const std::size_t key : keys) group.key.push_back(row[key]);
        group.figures.resize(figures.size());
      }
      for (std::size_t i = 0; i < figures.size(); ++i) {
        const auto value = number(row[figures[i]]);
        if (!value) continue;
        group.figures[i].add(*value);
        has_numbers[i] = true;
      }
    });
    out_.columns = config_.group_by;
    out_.columns.emplace_back("points");
    for (std::size_t i = 0; i < figures.size(); ++i)
      for (const char* const what : {"mean", "least", "most"})
        if (has_numbers[i]) out_.columns.push_back(fmt::format("{} {}", what, names[i]));
    for (auto& [key, group] : groups) {
      Row line = std::move(group.key);
      line.emplace_back(group.points);
      for (std::size_t i = 0; i < figures.size(); ++i) {
        const Summary& one = group.figures[i];
        if (!has_numbers[i]) continue;
        for (const double value : {one.mean(), one.least, one.most})
          line.push_back(one.count == 0 ? QueryCell() : QueryCell(value));
      }
      out_.rows.push_back(std::move(line));
    }
  }

  void cut() {
    const bool is_list = config_.pareto.empty() && !config_.best && config_.group_by.empty();
    const std::size_t all = is_list ? out_.matched : out_.rows.size();
    if (config_.limit == 0 || all <= config_.limit) return;
    out_.notes.push_back(fmt::format("the first {} of {}", config_.limit,
                                     counted(static_cast<std::int64_t>(all), "row")));
    out_.rows.resize(config_.limit);
  }

  Store& store_;
  const QueryConfig& config_;
  StoreVersion version_;
  FittingPoints points_;
  std::vector<std::string> sweeps_;  ///< names, in the order of points
  QueryResult out_;
};

/// By question: axes as text, and the figure.
struct Figure {
  std::string axes;
  double value = 0;
};

std::map<std::string, Figure> figures_of(Store& store, const StoreVersion& version,
                                         const std::string& column, const QueryConfig& config) {
  std::map<std::string, Figure> out;
  FittingPoints points(store, version, config);
  const std::size_t question = points.want("job_sha256"), axes = points.want("axes"),
                    figure = points.want(column);
  points.each([&](std::string_view, std::int64_t, const Row& row) {
    const auto value = number(row[figure]);
    if (value)
      out[std::get<std::string>(row[question])] = {std::get<std::string>(row[axes]), *value};
  });
  return out;
}

/// The first figure that has values.
std::string figure_to_compare(Store& store, const StoreVersion& version) {
  const std::vector<std::string> telling = telling_columns(store, columns_of(store), version);
  for (const char* const one : {"time_us", "step_s", "token_s", "busbw_GBps"})
    if (std::ranges::find(telling, one) != telling.end()) return one;
  throw Error("the store has no times to compare", "name a figure: --columns NAME");
}

}  // namespace

Aim parse_aim(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string word = colon == std::string::npos ? "" : text.substr(colon + 1);
  const std::string column(trimmed(text.substr(0, word.empty() ? text.size() : colon)));
  if (word == "most") return {column, true};
  if (word == "least") return {column, false};
  if (!word.empty())
    throw Error(fmt::format("\"{}\" is neither most nor least", word), "like nodes:least");
  const bool is_rate = column.ends_with("GBps") || column.ends_with("_per_s") ||
                       column.ends_with("_per_gpu") || column == "mfu" || column == "holds";
  return {column, is_rate && !column.starts_with("usd_")};
}

std::string aim_text(const Aim& aim) {
  if (aim.is_most == parse_aim(aim.column).is_most) return aim.column;
  return aim.column + (aim.is_most ? ":most" : ":least");
}

QueryResult run_query(Store& store, const QueryConfig& config) {
  const std::vector<StoreVersion> versions = versions_of(store);
  if (versions.empty()) throw Error("the store has no results yet");
  QueryResult out = Query(store, versions.front(), config).run();
  if (versions.size() > 1)
    out.notes.insert(
        out.notes.begin(),
        fmt::format("results of {} are there; these are of the newest: {}",
                    counted(std::ssize(versions), "version"), versions.front().program));
  return out;
}

QueryResult run_diff(Store& before, Store& after, bool is_same_store, const QueryConfig& config) {
  const std::vector<StoreVersion> old = versions_of(before), now = versions_of(after);
  const std::size_t first = is_same_store ? 1 : 0;
  if (old.size() <= first || now.empty())
    throw Error("there are no two versions to compare",
                "name a store of another version, or run the sweep again with another program");
  const std::string figure =
      config.columns.empty() ? figure_to_compare(after, now.front()) : config.columns.front();
  check_column(figure, columns_of(after));
  const auto a = figures_of(before, old[first], figure, config),
             b = figures_of(after, now.front(), figure, config);
  QueryResult out;
  out.columns = {"axes", "before " + figure, "after " + figure, "change"};
  for (const auto& [question, one] : b) {
    const auto other = a.find(question);
    if (other == a.end()) continue;
    ++out.seen;
    if (other->second.value == one.value) continue;
    ++out.matched;
    out.rows.push_back(
        {one.axes, other->second.value, one.value, one.value / other->second.value - 1});
  }
  std::ranges::stable_sort(out.rows, std::greater{},
                           [](const Row& row) { return std::abs(std::get<double>(row[3])); });
  out.notes.push_back(fmt::format(
      "{} {} and {} {}: {} of {} differ in {}", old[first].program, old[first].data.substr(0, 12),
      now.front().program, now.front().data.substr(0, 12), out.matched,
      counted(static_cast<std::int64_t>(out.seen), "equal question"), figure));
  if (config.limit > 0 && out.rows.size() > config.limit) out.rows.resize(config.limit);
  return out;
}

}  // namespace fabricast
