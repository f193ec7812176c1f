// One store out of two.

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "models/io/store/schema.hpp"
#include "models/io/store/sqlite.hpp"
#include "models/io/store/store.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// Another store beside this one, as `other`.
class AttachedStore {
 public:
  AttachedStore(SqliteDatabase& database, const std::string& address) : database_(database) {
    database_.prepared("ATTACH ?1 AS other").with(address).run();
  }
  ~AttachedStore() {
    try {
      SqliteStatement(database_, "DETACH other").run();
    } catch (const Error&) {
      // The next merge says so.
    }
  }
  AttachedStore(const AttachedStore&) = delete;
  AttachedStore& operator=(const AttachedStore&) = delete;

 private:
  SqliteDatabase& database_;
};

/// The numbers that the other's questions have here.
constexpr std::string_view kMergeQuestions = R"(
INSERT INTO main.question(job_sha256, study, text)
  SELECT job_sha256, study, text FROM other.question ORDER BY id ON CONFLICT DO NOTHING;
CREATE TEMP TABLE same(there INTEGER PRIMARY KEY, here INTEGER NOT NULL);
INSERT INTO same SELECT o.id, m.id FROM other.question o JOIN main.question m USING(job_sha256);
)";

void refuse_two_reports(SqliteDatabase& database, const std::string& other_path) {
  SqliteStatement differ(database,
                         "SELECT q.job_sha256, o.program, o.data FROM other.report o "
                         "JOIN same s ON s.there = o.question JOIN main.report m "
                         "ON m.question = s.here AND m.program = o.program AND m.data = o.data "
                         "JOIN main.question q ON q.id = s.here "
                         "WHERE m.text <> o.text ORDER BY 1, 2, 3 LIMIT 1");
  differ.each([&] {
    throw Error(Place{other_path, 0, {}},
                fmt::format("has another report of job {} (program {}, data {}) than {}",
                            differ.text(0), differ.text(1), differ.text(2), database.path()),
                "nothing was merged: one of the two programs was changed without a new version");
  });
}

void refuse_other_points(SqliteDatabase& database, const std::string& other_path) {
  SqliteStatement differ(database,
                         "SELECT o.sweep, o.place FROM other.point o "
                         "JOIN same s ON s.there = o.question "
                         "JOIN main.point m ON m.sweep = o.sweep AND m.place = o.place "
                         "WHERE m.question <> s.here ORDER BY 1, 2 LIMIT 1");
  differ.each([&] {
    throw Error(Place{other_path, 0, {}},
                fmt::format("asks something else at point {} of sweep {} than {}", differ.whole(1),
                            differ.text(0), database.path()),
                "nothing was merged: run the sweep on both, then merge");
  });
}

/// An answer takes the place of an error.
void merge_results(SqliteDatabase& database) {
  std::string columns;
  for (const std::string& column : result_columns()) columns += ", " + column;
  database.run(
      "DELETE FROM main.result WHERE error IS NOT NULL AND EXISTS(SELECT 1 FROM other.result o "
      "JOIN same s ON s.there = o.question WHERE s.here = result.question "
      "AND o.program = result.program AND o.data = result.data AND o.error IS NULL)");
  database.run(
      fmt::format("INSERT INTO main.result(question{0}) SELECT s.here{0} FROM other.result o "
                  "JOIN same s ON s.there = o.question WHERE true ON CONFLICT DO NOTHING",
                  columns));
}

constexpr std::string_view kMergePoints = R"(
INSERT INTO main.report(question, program, data, text)
  SELECT s.here, o.program, o.data, o.text FROM other.report o JOIN same s ON s.there = o.question
  WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.point(sweep, place, question, axes)
  SELECT o.sweep, o.place, s.here, o.axes FROM other.point o JOIN same s ON s.there = o.question
  WHERE true ON CONFLICT DO NOTHING;
DELETE FROM main.axis WHERE sweep IN (SELECT sweep FROM other.axis);
INSERT INTO main.axis SELECT * FROM other.axis;
)";

/// What has no result in either is open, what has an error failed.
constexpr std::string_view kMergeWork = R"(
INSERT INTO main.work(question, program, data, tries, state)
  SELECT s.here, o.program, o.data, 0, 'open' FROM other.work o JOIN same s ON s.there = o.question
  WHERE true ON CONFLICT DO NOTHING;
DELETE FROM main.work WHERE EXISTS(SELECT 1 FROM main.result r
  WHERE r.question = work.question AND r.program = work.program AND r.data = work.data
  AND r.error IS NULL);
UPDATE main.work SET state = 'failed', claimed_by = NULL, lease_until = NULL
  WHERE state <> 'failed' AND EXISTS(SELECT 1 FROM main.result r
  WHERE r.question = work.question AND r.program = work.program AND r.data = work.data);
DROP TABLE same;
)";

}  // namespace

void Store::merge(const std::string& other_path) {
  require_write();
  std::error_code ignored;
  if (std::filesystem::equivalent(database_->path(), other_path, ignored))
    throw Error(Place{other_path, 0, {}}, "is the store itself", "name another one to merge");
  const SqliteDatabase& known = *database_;
  // What is wrong with the other is said by itself; it stays open as long as it is needed.
  SqliteDatabase other(other_path, StoreAccess::read, {.busy_ms = known.options().busy_ms});
  check_schema(other);
  const AttachedStore attached(*database_, other.address());
  SqliteChange change(*database_);
  database_->run(std::string(kMergeQuestions));
  refuse_two_reports(*database_, other_path);
  refuse_other_points(*database_, other_path);
  merge_results(*database_);
  database_->run(std::string(kMergePoints));
  database_->run(std::string(kMergeWork));
  std::set<std::string> studies;
  SqliteStatement statement(*database_, "SELECT DISTINCT study FROM other.question");
  statement.each([&] { studies.insert(statement.text(0)); });
  make_axis_columns(*database_, studies);
  change.commit();
}

}  // namespace fabricast
