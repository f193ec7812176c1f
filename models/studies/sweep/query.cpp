#include "models/studies/sweep/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

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
      "SELECT program, data FROM points WHERE program IS NOT NULL GROUP BY program, data "
      "ORDER BY max(finished_at) DESC, program DESC, data DESC",
      {}, [&](std::span<const StoreCell> row) {
        out.push_back({std::string(std::get<std::string_view>(row[0])),
                       std::string(std::get<std::string_view>(row[1]))});
      });
  return out;
}

/// Axes and figures with a value somewhere, in the order of the view.
std::vector<std::string> telling_columns(Store& store, const std::vector<std::string>& known,
                                         const StoreVersion& version) {
  static constexpr std::array<std::string_view, 12> kOthers = {
      "sweep", "place",       "job_sha256", "study", "program", "data",
      "error", "error_place", "answer",     "axes",  "cpu_s",   "max_rss_bytes"};
  std::string counts;
  std::vector<std::string> asked;
  for (const std::string& column : known) {
    if (std::ranges::find(kOthers, column) != kOthers.end() || column == "finished_at") continue;
    counts += (counts.empty() ? "" : ", ") + fmt::format("count({})", quoted(column));
    asked.push_back(column);
  }
  std::vector<std::string> out;
  store.select("SELECT " + counts + " FROM points WHERE program = ? AND data = ?",
               {version.program, version.data}, [&](std::span<const StoreCell> row) {
                 for (std::size_t i = 0; i < row.size(); ++i)
                   if (std::get<std::int64_t>(row[i]) > 0) out.push_back(asked[i]);
               });
  return out;
}

class Query {
 public:
  Query(Store& store, const QueryConfig& config)
      : store_(store), config_(config), known_(columns_of(store)) {}

  QueryResult run() {
    const std::vector<StoreVersion> versions = versions_of(store_);
    if (versions.empty()) throw Error("the store has no results yet");
    version_ = versions.front();
    if (versions.size() > 1)
      out_.notes.push_back(fmt::format("results of {} are there; these are of the newest: {}",
                                       counted(std::ssize(versions), "version"), version_.program));
    out_.columns = config_.columns;
    if (out_.columns.empty()) out_.columns = telling_columns(store_, known_, version_);
    choose_columns();
    read();
    if (!config_.pareto.empty()) keep_front();
    if (!config_.group_by.empty() || config_.best) group();
    cut();
    return std::move(out_);
  }

 private:
  void choose_columns() {
    const auto want = [&](const std::string& column) {
      check_column(column, known_);
      if (std::ranges::find(read_, column) == read_.end()) read_.push_back(column);
    };
    for (const std::string& column : out_.columns) want(column);
    for (const std::string& column : config_.group_by) want(column);
    if (config_.best) want(config_.best->column);
    for (const Aim& aim : config_.pareto) want(aim.column);
    if (config_.where.empty()) return;
    where_ = Formula::parse(config_.where, known_);
    for (const FormulaName& name : where_->names()) {
      if (name.of_base || !name.filter.empty())
        throw Error(fmt::format("{}: a query looks at one row at a time", to_text(name)));
      want(name.column);
    }
  }

  std::size_t at(const std::string& column) const {
    return static_cast<std::size_t>(std::ranges::find(read_, column) - read_.begin());
  }

  void read() {
    std::string columns;
    for (const std::string& column : read_)
      columns += (columns.empty() ? "" : ", ") + quoted(column);
    std::string sql = "SELECT " + columns + " FROM points WHERE program = ? AND data = ?";
    std::vector<StoreValue> bound = {version_.program, version_.data};
    if (!config_.sweep.empty()) {
      sql += " AND sweep = ?";
      bound.emplace_back(config_.sweep);
    }
    sql += " ORDER BY sweep, place";
    store_.select(sql, bound, [&](std::span<const StoreCell> cells) {
      ++out_.seen;
      Row row;
      row.reserve(cells.size());
      for (const StoreCell& cell : cells) row.push_back(kept(cell));
      if (where_ && !where_->holds([&](const FormulaName& name) {
            return formula_value(row[at(name.column)]);
          }))
        return;
      ++out_.matched;
      rows_.push_back(std::move(row));
    });
  }

  /// Less is better.
  std::optional<double> cost(const Row& row, const Aim& aim) const {
    const auto value = number(row[at(aim.column)]);
    if (!value) return std::nullopt;
    return aim.is_most ? -*value : *value;
  }

  /// Rows that no other beats in all aims.
  void keep_front() {
    std::vector<std::pair<std::vector<double>, std::size_t>> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::vector<double> costs;
      for (const Aim& aim : config_.pareto)
        if (const auto one = cost(rows_[i], aim)) costs.push_back(*one);
      if (costs.size() == config_.pareto.size()) all.emplace_back(std::move(costs), i);
    }
    std::ranges::sort(all);
    std::vector<const std::vector<double>*> front;
    std::vector<Row> out;
    for (auto& one : all) {
      const std::vector<double>& costs = one.first;
      // Whatever beats this one comes before it.
      const bool beaten = std::ranges::any_of(front, [&](const auto* other) {
        return *other != costs && std::ranges::equal(*other, costs, std::less_equal{});
      });
      if (beaten) continue;
      front.push_back(&costs);
      out.push_back(std::move(rows_[one.second]));
    }
    rows_ = std::move(out);
  }

  std::string key_of(const Row& row) const {
    std::string out;
    for (const std::string& column : config_.group_by)
      out += fmt::format("{}\x1f", cell_key(row[at(column)]));
    return out;
  }
  static std::string cell_key(const QueryCell& cell) {
    if (const auto value = number(cell)) return fmt::format("{:+025.9f}", *value);
    const auto* const text = std::get_if<std::string>(&cell);
    return text == nullptr ? "" : *text;
  }

  void group() {
    std::map<std::string, std::vector<const Row*>> groups;
    for (const Row& row : rows_) groups[key_of(row)].push_back(&row);
    if (config_.best) return keep_best(groups);
    summarise(groups);
  }

  void keep_best(const std::map<std::string, std::vector<const Row*>>& groups) {
    std::vector<Row> out;
    for (const auto& [key, rows] : groups) {
      const Row* best = nullptr;
      double least = 0;
      for (const Row* row : rows) {
        const auto one = cost(*row, *config_.best);
        if (!one || (best != nullptr && *one >= least)) continue;
        best = row;
        least = *one;
      }
      if (best != nullptr) out.push_back(*best);
    }
    rows_ = std::move(out);
  }

  /// A row for each group: how many, and of each figure the mean, the least and the most.
  void summarise(const std::map<std::string, std::vector<const Row*>>& groups) {
    std::vector<std::string> figures;
    for (const std::string& column : out_.columns) {
      const bool is_key = std::ranges::find(config_.group_by, column) != config_.group_by.end();
      const bool is_number = std::ranges::any_of(
          rows_, [&](const Row& row) { return number(row[at(column)]).has_value(); });
      if (!is_key && is_number) figures.push_back(column);
    }
    out_.columns = config_.group_by;
    out_.columns.emplace_back("points");
    for (const std::string& figure : figures)
      for (const char* const what : {"mean", "least", "most"})
        out_.columns.push_back(fmt::format("{} {}", what, figure));
    for (const auto& [key, rows] : groups) {
      Row line;
      for (const std::string& column : config_.group_by) line.push_back((*rows[0])[at(column)]);
      line.emplace_back(std::ssize(rows));
      for (const std::string& figure : figures) add_summary(line, rows, at(figure));
      out_.rows.push_back(std::move(line));
    }
    is_summary_ = true;
  }

  static void add_summary(Row& line, const std::vector<const Row*>& rows, std::size_t column) {
    double sum = 0, least = INFINITY, most = -INFINITY;
    std::size_t count = 0;
    for (const Row* row : rows) {
      const auto value = number((*row)[column]);
      if (!value) continue;
      sum += *value;
      least = std::min(least, *value);
      most = std::max(most, *value);
      ++count;
    }
    for (const double value :
         {sum / static_cast<double>(std::max<std::size_t>(count, 1)), least, most})
      line.push_back(count == 0 ? QueryCell() : QueryCell(value));
  }

  void cut() {
    if (!is_summary_) {
      for (const Row& row : rows_) {
        Row line;
        for (const std::string& column : out_.columns) line.push_back(row[at(column)]);
        out_.rows.push_back(std::move(line));
      }
    }
    if (config_.limit > 0 && out_.rows.size() > config_.limit) {
      out_.notes.push_back(
          fmt::format("the first {} of {}", config_.limit, counted(std::ssize(out_.rows), "row")));
      out_.rows.resize(config_.limit);
    }
  }

  Store& store_;
  const QueryConfig& config_;
  std::vector<std::string> known_;
  StoreVersion version_;
  std::vector<std::string> read_;
  std::optional<Formula> where_;
  std::vector<Row> rows_;  ///< as read_
  bool is_summary_ = false;
  QueryResult out_;
};

/// By question: axes as text, and the figure.
struct Figure {
  std::string axes;
  double value = 0;
};

std::map<std::string, Figure> figures_of(Store& store, const StoreVersion& version,
                                         const std::string& column, const std::string& sweep) {
  std::map<std::string, Figure> out;
  std::vector<StoreValue> bound = {version.program, version.data};
  std::string sql = fmt::format(
      "SELECT job_sha256, axes, {} FROM points WHERE program = ? AND data = ?", quoted(column));
  if (!sweep.empty()) {
    sql += " AND sweep = ?";
    bound.emplace_back(sweep);
  }
  store.select(sql, bound, [&](std::span<const StoreCell> row) {
    const auto value = number(kept(row[2]));
    if (!value) return;
    const auto* const axes = std::get_if<std::string_view>(&row[1]);
    out[std::string(std::get<std::string_view>(row[0]))] = {
        axes == nullptr ? std::string() : std::string(*axes), *value};
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

std::string cell_text(const QueryCell& cell) {
  if (const auto* const whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (const auto* const real = std::get_if<double>(&cell)) return fmt::format("{:.6g}", *real);
  const auto* const text = std::get_if<std::string>(&cell);
  return text == nullptr ? "" : *text;
}

Json cell_json(const QueryCell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return {};
        else
          return value;
      },
      cell);
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
  return {column, is_rate};
}

QueryResult run_query(Store& store, const QueryConfig& config) {
  return Query(store, config).run();
}

QueryResult run_diff(Store& before, Store& after, bool is_same_store, const std::string& column,
                     const QueryConfig& config) {
  const std::vector<StoreVersion> old = versions_of(before), now = versions_of(after);
  const std::size_t first = is_same_store ? 1 : 0;
  if (old.size() <= first || now.empty())
    throw Error("there are no two versions to compare",
                "name a store of another version, or run the sweep again with another program");
  const std::string figure = column.empty() ? figure_to_compare(after, now.front()) : column;
  check_column(figure, columns_of(after));
  const auto a = figures_of(before, old[first], figure, config.sweep),
             b = figures_of(after, now.front(), figure, config.sweep);
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

std::string query_text(const QueryResult& result) {
  TextTable table;
  std::vector<std::string> head(result.columns);
  table.add(head);
  for (std::size_t i = 0; i < head.size(); ++i) {
    const bool is_number = std::ranges::any_of(
        result.rows, [&](const Row& row) { return number(row[i]).has_value(); });
    if (is_number) table.align_right(i);
  }
  for (const Row& row : result.rows) {
    std::vector<std::string> line;
    for (const QueryCell& cell : row) line.push_back(cell_text(cell));
    table.add(std::move(line));
  }
  std::string out = table.text();
  for (const std::string& note : result.notes) out += "note: " + note + "\n";
  return out;
}

Report query_report(const QueryResult& result, const QueryConfig& config) {
  Report out;
  out.study = "query";
  Json pareto = Json::array();
  for (const Aim& aim : config.pareto) pareto.push_back(aim.column);
  out.job = {{"ask",
              {{"sweep", config.sweep},
               {"where", config.where},
               {"group_by", config.group_by},
               {"best", config.best ? Json(config.best->column) : Json()},
               {"pareto", std::move(pareto)}}}};
  out.notes = result.notes;
  std::vector<ReportColumn> columns;
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    const bool is_text = std::ranges::any_of(
        result.rows, [&](const Row& row) { return std::holds_alternative<std::string>(row[i]); });
    columns.push_back({result.columns[i],
                       is_text ? ReportColumn::Type::text : ReportColumn::Type::number,
                       {},
                       is_text ? "" : ".9g"});
  }
  ReportTable rows("rows", std::move(columns));
  for (const Row& row : result.rows) {
    std::vector<Json> cells;
    for (const QueryCell& cell : row) cells.push_back(cell_json(cell));
    rows.add(std::move(cells));
  }
  out.tables.push_back(std::move(rows));
  out.facts["rows_of_the_store"] = result.seen;
  out.facts["rows_that_fit"] = result.matched;
  return out;
}

}  // namespace fabricast
