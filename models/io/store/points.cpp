// The points of a sweep, and what of them is still to be done.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "models/io/store/schema.hpp"
#include "models/io/store/sqlite.hpp"
#include "models/io/store/store.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// The numbers of the questions, in the order of the points. New ones come in that order.
std::vector<std::int64_t> add_questions(SqliteDatabase& database,
                                        const std::vector<StorePoint>& points) {
  SqliteStatement& known = database.prepared("SELECT id FROM question WHERE job_sha256 = ?1");
  SqliteStatement& add =
      database.prepared("INSERT INTO question(id, job_sha256, study, text) VALUES(?1, ?2, ?3, ?4)");
  std::int64_t last = database.whole("SELECT max(id) FROM question");
  std::vector<std::int64_t> out;
  out.reserve(points.size());
  for (const StorePoint& point : points) {
    std::int64_t id = 0;
    known.with(point.job_sha256).each([&] { id = known.whole(0); });
    if (id == 0) {
      id = ++last;
      add.with(id, point.job_sha256, point.study, point.question).run();
    }
    out.push_back(id);
  }
  return out;
}

void set_places(SqliteDatabase& database, const std::string& sweep,
                const std::vector<StorePoint>& points, const std::vector<std::int64_t>& questions) {
  SqliteStatement& statement = database.prepared(
      "INSERT INTO point(sweep, place, question, axes) VALUES(?1, ?2, ?3, ?4) "
      "ON CONFLICT(sweep, place) DO UPDATE SET question = ?3, axes = ?4 "
      "WHERE question <> ?3 OR axes <> ?4");
  for (std::size_t i = 0; i < points.size(); ++i)
    statement.with(sweep, points[i].place, questions[i], points[i].axes).run();
}

/// Points that are no longer listed go, and work that no sweep wants any more.
void drop_others(SqliteDatabase& database, const std::string& sweep,
                 const std::vector<StorePoint>& points) {
  std::set<std::int64_t> listed;
  for (const StorePoint& point : points) listed.insert(listed.end(), point.place);
  std::vector<std::int64_t> gone;
  SqliteStatement& places = database.prepared("SELECT place FROM point WHERE sweep = ?1");
  places.with(sweep).each([&] {
    if (!listed.contains(places.whole(0))) gone.push_back(places.whole(0));
  });
  SqliteStatement& drop = database.prepared("DELETE FROM point WHERE sweep = ?1 AND place = ?2");
  for (const std::int64_t place : gone) drop.with(sweep, place).run();
  database.prepared("DELETE FROM work WHERE question NOT IN (SELECT question FROM point)").run();
}

void add_work(SqliteDatabase& database, const std::vector<std::int64_t>& questions,
              const StoreVersion& version) {
  SqliteStatement& known = database.prepared(
      "SELECT error IS NULL FROM result WHERE question = ?1 AND program = ?2 AND data = ?3");
  SqliteStatement& add = database.prepared(
      "INSERT INTO work(question, program, data, tries, state) VALUES(?1, ?2, ?3, 0, ?4) "
      "ON CONFLICT(question, program, data) DO NOTHING");
  for (const std::int64_t question : questions) {
    bool is_done = false;
    std::string_view state = "open";
    known.with(question, version.program, version.data).each([&] {
      is_done = known.whole(0) != 0;
      state = "failed";
    });
    if (!is_done) add.with(question, version.program, version.data, state).run();
  }
}

/// The axes of the sweep in the order in which its points name them.
std::vector<std::string> axes_of(SqliteDatabase& database, const std::string& sweep) {
  std::vector<std::string> out;
  SqliteStatement& statement = database.prepared(
      "SELECT j.key FROM point p, json_each(p.axes) j WHERE p.sweep = ?1 GROUP BY j.key "
      "ORDER BY min(j.id)");
  statement.with(sweep).each([&] { out.push_back(statement.text(0)); });
  for (const std::string& name : out) {
    const bool has_control = std::ranges::any_of(name, [](char c) { return c >= 0 && c < ' '; });
    if (name.empty() || has_control || name.find_first_of("\"\\") != std::string::npos) {
      throw Error(Place{database.path(), 0, {}},
                  fmt::format("axis {} of sweep {} cannot be a column", sql_text(name), sweep),
                  "leave quotes, backslashes and control characters out of its name");
    }
  }
  return out;
}

void set_axes(SqliteDatabase& database, const std::string& sweep) {
  database.prepared("DELETE FROM axis WHERE sweep = ?1").with(sweep).run();
  std::int64_t place = 0;
  for (const std::string& name : axes_of(database, sweep)) {
    database.prepared("INSERT INTO axis(sweep, place, name) VALUES(?1, ?2, ?3)")
        .with(sweep, place++, name)
        .run();
  }
}

}  // namespace

void Store::add_points(const std::string& sweep, const std::vector<StorePoint>& points,
                       const StoreVersion& version) {
  require_write();
  SqliteChange change(*database_);
  const bool is_new =
      !database_->prepared("SELECT 1 FROM point WHERE sweep = ?1 LIMIT 1").with(sweep).any();
  const std::vector<std::int64_t> questions = add_questions(*database_, points);
  set_places(*database_, sweep, points, questions);
  if (!is_new) drop_others(*database_, sweep, points);
  add_work(*database_, questions, version);
  set_axes(*database_, sweep);
  std::set<std::string> studies;
  for (const StorePoint& point : points) studies.insert(point.study);
  make_axis_columns(*database_, studies);
  change.commit();
}

}  // namespace fabricast
