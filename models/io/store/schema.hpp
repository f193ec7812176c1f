#pragma once
// The tables of a store, and how those of an older one become these.

#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/store/sqlite.hpp"

namespace fabricast {

inline constexpr int kStoreSchema = 2;

struct StoreColumn {
  std::string_view name, type;
};
/// Of `result`: figures, null where the study has none.
inline constexpr std::array<StoreColumn, 27> kHeadlineColumns = {{
    {"collective", "TEXT"},
    {"size_bytes", "INTEGER"},
    {"nodes", "INTEGER"},
    {"ranks", "INTEGER"},
    {"time_us", "REAL"},
    {"lower_us", "REAL"},
    {"upper_us", "REAL"},
    {"algbw_GBps", "REAL"},
    {"busbw_GBps", "REAL"},
    {"algorithm", "TEXT"},
    {"protocol", "TEXT"},
    {"nchannels", "INTEGER"},
    {"step_s", "REAL"},
    {"lower_s", "REAL"},
    {"upper_s", "REAL"},
    {"tokens_per_s", "REAL"},
    {"mfu", "REAL"},
    {"memory_bytes", "REAL"},
    {"usd_per_step", "REAL"},
    {"usd_per_million_tokens", "REAL"},
    {"token_s", "REAL"},
    {"first_token_s", "REAL"},
    {"holds", "INTEGER"},
    // since schema 2
    {"fabric_usd", "REAL"},
    {"fabric_watts", "REAL"},
    {"usd_per_hour", "REAL"},
    {"usd_per_GBps", "REAL"},
}};

/// The columns of `result` but its question: in `points` they come behind those of the point.
std::vector<std::string> result_columns();

/// From schema `from` to the next one.
struct StoreMigration {
  int from;
  void (*run)(SqliteDatabase& database);
};

/// Makes the tables where there are none, and those of an older schema the newest, in one change.
/// Throws Error: a database of something else, a newer schema.
void prepare_schema(SqliteDatabase& database);
/// The same with other migrations to `newest`: for tests.
void migrate_schema(SqliteDatabase& database, std::span<const StoreMigration> migrations,
                    int newest);
/// Throws Error: no store, another schema.
void check_schema(SqliteDatabase& database);

/// Makes the view `points` have the axes of all sweeps as columns, and adds a view of each of
/// `studies`. In the change that is under way.
void make_axis_columns(SqliteDatabase& database, const std::set<std::string>& studies);

}  // namespace fabricast
