#pragma once
// What a store of results says: rows that fit a condition, the best of them, those that no other
// beats in everything, means of groups, and what differs between two versions.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/io/report/report.hpp"
#include "models/io/store/store.hpp"

namespace fabricast {

/// A column, and which of its values are better.
struct Aim {
  std::string column;
  bool is_most = false;  ///< else the least
};
/// "step_s", "busbw_GBps", "nodes:most": without a word what is usual: the most of rates and
/// shares. Throws Error.
Aim parse_aim(const std::string& text);
/// As parse_aim() reads it: the word only where it is not the usual one.
std::string aim_text(const Aim& aim);

struct QueryConfig {
  std::string sweep;                  ///< "" = all of the store
  std::string where;                  ///< a formula; "" = all
  std::vector<std::string> columns;   ///< empty = the axes and the figures that are there
  std::vector<std::string> group_by;  ///< columns; empty = none
  std::optional<Aim> best;            ///< one row, or one of each group
  std::vector<Aim> pareto;
  std::size_t limit = 0;  ///< 0 = all
};

using QueryCell = std::variant<std::monostate, std::int64_t, double, std::string>;

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryCell>> rows;
  std::size_t seen = 0;     ///< rows of the store
  std::size_t matched = 0;  ///< that fit
  std::vector<std::string> notes;
};

/// Of the version whose results are newest. Throws Error.
QueryResult run_query(Store& store, const QueryConfig& config);

/// Questions that both stores answer, with another figure, the largest change first. Of one store:
/// its two newest versions. Of `config` it heeds sweep, where, limit, and the first of the columns:
/// the figure; none = the first that there is.
QueryResult run_diff(Store& before, Store& after, bool is_same_store, const QueryConfig& config);

std::string query_text(const QueryResult& result);
/// The result outlives the report.
Report query_report(const QueryResult& result, const QueryConfig& config);

}  // namespace fabricast
