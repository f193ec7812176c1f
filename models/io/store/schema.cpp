#include "models/io/store/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/io/report/report.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

/// Everything is about a question, which has 64 digits: others name it by its number, in the order
/// in which questions came. Whatever goes through all points then goes through each table from its
/// begin to its end: a million in a second, where looking up digests takes six. Small rows are kept
/// in the order of their key instead of beside an index of it.
constexpr std::string_view kTables = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE question(id INTEGER PRIMARY KEY, job_sha256 TEXT NOT NULL UNIQUE,
  study TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE axis(sweep TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(sweep, place)) WITHOUT ROWID;
CREATE TABLE point(sweep TEXT NOT NULL, place INTEGER NOT NULL,
  question INTEGER NOT NULL REFERENCES question, axes TEXT NOT NULL,
  PRIMARY KEY(sweep, place)) WITHOUT ROWID;
CREATE TABLE work(question INTEGER NOT NULL REFERENCES question, program TEXT NOT NULL,
  data TEXT NOT NULL, claimed_by TEXT, lease_until INTEGER, tries INTEGER NOT NULL,
  state TEXT NOT NULL CHECK(state IN ('open', 'claimed', 'failed')),
  PRIMARY KEY(question, program, data)) WITHOUT ROWID;
CREATE INDEX work_state ON work(state, program, data, question);
CREATE TABLE report(question INTEGER NOT NULL, program TEXT NOT NULL, data TEXT NOT NULL,
  text TEXT NOT NULL, PRIMARY KEY(question, program, data),
  FOREIGN KEY(question, program, data) REFERENCES result);
CREATE VIEW reports AS SELECT q.job_sha256, r.program, r.data, r.text
  FROM report r JOIN question q ON q.id = r.question;
)";

/// Names that a study's view cannot have.
constexpr std::array<std::string_view, 9> kNamesOfStore = {
    "meta", "question", "axis", "point", "work", "report", "reports", "result", "points"};

std::string result_table() {
  std::string out =
      "CREATE TABLE result(question INTEGER NOT NULL REFERENCES question, program TEXT NOT NULL, "
      "data TEXT NOT NULL, study TEXT NOT NULL, answer TEXT, error TEXT, error_place TEXT, "
      "cpu_s REAL, max_rss_bytes INTEGER, finished_at TEXT";
  for (const StoreColumn& column : kHeadlineColumns)
    out += fmt::format(", {} {}", column.name, column.type);
  return out + ", PRIMARY KEY(question, program, data)) WITHOUT ROWID;";
}

/// JSON paths have no way to write a quote or a backslash.
std::string axis_value(const std::string& name) {
  return fmt::format("json_extract(p.axes, {})", sql_text(fmt::format("$.\"{}\"", name)));
}

std::string points_view(const std::vector<std::string>& axes) {
  std::string out =
      "CREATE VIEW points AS SELECT p.sweep, p.place, "
      "(SELECT job_sha256 FROM question WHERE id = p.question) AS job_sha256";
  std::vector<std::string> taken = {"sweep", "place", "job_sha256", "axes"};
  const std::vector<std::string> results = result_columns();
  // SQLite's names are the same in capitals, those of ASCII.
  for (const std::string& column : results) taken.push_back(lower_case(column));
  for (const std::string& name : axes) {
    std::string column = name;
    while (std::ranges::count(taken, lower_case(column)) > 0) column = "axis_" + column;
    taken.push_back(lower_case(column));
    out += fmt::format(", {} AS {}", axis_value(name), sql_name(column));
  }
  out += ", p.axes";
  for (const std::string& column : results) out += ", r." + column;
  return out + " FROM point p LEFT JOIN result r ON r.question = p.question";
}

std::vector<std::string> texts(SqliteDatabase& database, std::string_view sql) {
  std::vector<std::string> out;
  SqliteStatement statement(database, sql);
  statement.each([&] { out.push_back(statement.text(0)); });
  return out;
}

void make_tables(SqliteDatabase& database) {
  database.run(std::string(kTables));
  database.run(result_table());
  SqliteStatement meta(database, "INSERT INTO meta(key, value) VALUES(?1, ?2)");
  meta.with("schema_version", std::to_string(kStoreSchema)).run();
  meta.with("made_by", fmt::format("fabricast {}", program_version())).run();
  make_axis_columns(database, {});
}

bool is_empty(SqliteDatabase& database) {
  return database.whole("SELECT count(*) FROM sqlite_master") == 0;
}

int schema_of(SqliteDatabase& database) {
  const bool is_store = database.whole(
      "SELECT count(*) = 2 FROM sqlite_master WHERE type = 'table' AND name IN ('meta', 'point')");
  const std::int64_t version =
      is_store
          ? database.whole("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema_version'")
          : 0;
  if (version < 1 || version > 1'000'000) {
    throw Error(Place{database.path(), 0, {}}, "is a SQLite database, but no store of results",
                "name one that `fabricast sweep` wrote; it makes one that is not there yet");
  }
  return static_cast<int>(version);
}

void refuse_newer(const SqliteDatabase& database, int version, int newest) {
  if (version <= newest) return;
  throw Error(Place{database.path(), 0, {}},
              fmt::format("made by a newer fabricast (schema {}, this knows {})", version, newest),
              "use that one, or a store of its own for this");
}

/// Schema 2: what the fabric costs.
void add_costs(SqliteDatabase& database) {
  for (const char* const column : {"fabric_usd", "fabric_watts", "usd_per_hour", "usd_per_GBps"})
    database.run(fmt::format("ALTER TABLE result ADD COLUMN {} REAL", column));
  make_axis_columns(database, {});
}

/// Of schemas that people have.
constexpr std::array kMigrations = {StoreMigration{1, add_costs}};

}  // namespace

std::vector<std::string> result_columns() {
  std::vector<std::string> out = {"program",     "data",  "study",         "answer",     "error",
                                  "error_place", "cpu_s", "max_rss_bytes", "finished_at"};
  for (const StoreColumn& column : kHeadlineColumns) out.emplace_back(column.name);
  return out;
}

std::vector<std::string> headline_columns() {
  std::vector<std::string> out;
  for (const StoreColumn& column : kHeadlineColumns) out.emplace_back(column.name);
  return out;
}

void migrate_schema(SqliteDatabase& database, std::span<const StoreMigration> migrations,
                    int newest) {
  SqliteChange change(database);
  const int version = schema_of(database);  // read again: another process may have been first
  refuse_newer(database, version, newest);
  for (int at = version; at < newest; ++at) {
    const auto found = std::ranges::find(migrations, at, &StoreMigration::from);
    if (found == migrations.end()) {
      throw Error(Place{database.path(), 0, {}},
                  fmt::format("of schema {}, which can no longer be read", at), "make a new store");
    }
    found->run(database);
  }
  database.prepared("UPDATE meta SET value = ?1 WHERE key = 'schema_version'")
      .with(std::to_string(newest))
      .run();
  change.commit();
}

void prepare_schema(SqliteDatabase& database) {
  if (is_empty(database)) {
    SqliteChange change(database);
    if (is_empty(database)) make_tables(database);
    change.commit();
  }
  const int version = schema_of(database);
  refuse_newer(database, version, kStoreSchema);
  if (version < kStoreSchema) migrate_schema(database, kMigrations, kStoreSchema);
  // Whose question is it? It changes what a store says to nobody, so it is no schema of its own.
  database.run("CREATE INDEX IF NOT EXISTS point_question ON point(sweep, question)");
}

void check_schema(SqliteDatabase& database) {
  if (is_empty(database))
    throw Error(Place{database.path(), 0, {}}, "holds nothing", "fabricast sweep fills a store");
  const int version = schema_of(database);
  refuse_newer(database, version, kStoreSchema);
  if (version < kStoreSchema) {
    throw Error(
        Place{database.path(), 0, {}},
        fmt::format("of an older fabricast (schema {}, this reads {})", version, kStoreSchema),
        "run a sweep on it once: that brings it up to date");
  }
}

void make_axis_columns(SqliteDatabase& database, const std::set<std::string>& studies) {
  const std::string view = points_view(
      texts(database, "SELECT name FROM axis GROUP BY name ORDER BY min(sweep), min(place)"));
  const std::vector<std::string> old =
      texts(database, "SELECT sql FROM sqlite_master WHERE type = 'view' AND name = 'points'");
  // A changed schema has every other connection compile its statements again.
  if (old != std::vector{view}) database.run("DROP VIEW IF EXISTS points; " + view);
  for (const std::string& study : studies) {
    const bool taken = std::ranges::count(kNamesOfStore, lower_case(study)) > 0;
    database.run(
        fmt::format("CREATE VIEW IF NOT EXISTS {} AS SELECT * FROM points WHERE study = {}",
                    sql_name((taken ? "study_" : "") + study), sql_text(study)));
  }
}

}  // namespace fabricast
