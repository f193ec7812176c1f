// Who does what, and what came out of it.

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <variant>

#include "models/io/store/schema.hpp"
#include "models/io/store/sqlite.hpp"
#include "models/io/store/store.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

constexpr std::string_view kOpenAgain =
    "UPDATE work SET state = 'open', claimed_by = NULL, lease_until = NULL ";

/// Work of whoever is late or gone is open again. A worker answers what it has claimed in the order
/// of the numbers, so the first that is left is what it was at: that was a try.
void take_over(SqliteDatabase& database, const StoreVersion& version, std::int64_t now_s,
               const std::function<bool(const std::string&)>& is_gone) {
  const std::string claimed = "FROM work WHERE state = 'claimed' AND program = ?1 AND data = ?2 ";
  SqliteStatement& workers = database.prepared("SELECT claimed_by, min(lease_until) <= ?3 " +
                                               claimed + "GROUP BY claimed_by ORDER BY 1");
  std::vector<std::string> ended;
  workers.with(version.program, version.data, now_s).each([&] {
    std::string worker = workers.text(0);
    if (workers.whole(1) != 0 || (is_gone && is_gone(worker))) ended.push_back(std::move(worker));
  });
  for (const std::string& worker : ended) {
    database
        .prepared(
            "UPDATE work SET tries = tries + 1 WHERE program = ?1 AND data = ?2 AND "
            "question = (SELECT min(question) " +
            claimed + "AND claimed_by = ?3)")
        .with(version.program, version.data, worker)
        .run();
    database
        .prepared(std::string(kOpenAgain) +
                  "WHERE state = 'claimed' AND program = ?1 AND data = ?2 AND claimed_by = ?3")
        .with(version.program, version.data, worker)
        .run();
  }
}

/// Nothing stays null.
StoreValue text_or_null(const std::string& text) {
  return text.empty() ? StoreValue() : StoreValue(text);
}

std::string insert_result() {
  std::string names =
      "question, program, data, study, answer, error, error_place, cpu_s, "
      "max_rss_bytes, finished_at";
  std::string values = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10";
  int index = 10;
  for (const StoreColumn& column : kHeadlineColumns) {
    names += fmt::format(", {}", column.name);
    values += fmt::format(", ?{}", ++index);
  }
  return fmt::format("INSERT OR REPLACE INTO result({}) VALUES({})", names, values);
}

void write_result(SqliteDatabase& database, std::int64_t question, const std::string& study,
                  const StoreVersion& version, const StoreResult& result) {
  static const std::string kInsert = insert_result();
  SqliteStatement& statement = database.prepared(kInsert);
  statement.with(question, version.program, version.data, study, text_or_null(result.answer),
                 text_or_null(result.error), text_or_null(result.error_place), result.cpu_s,
                 result.max_rss_bytes, result.finished_at);
  int index = 10;
  std::size_t used = 0;
  for (const StoreColumn& column : kHeadlineColumns) {
    const auto found = result.headline.find(std::string(column.name));
    if (found == result.headline.end()) {
      statement.bind(++index, std::monostate{});
      continue;
    }
    ++used;
    std::visit([&](const auto& value) { statement.bind(++index, StoreValue(value)); },
               found->second);
  }
  if (used != result.headline.size()) throw std::logic_error("a figure that is no headline column");
  statement.run();
  if (result.error.empty() && !result.report.empty()) {
    database.prepared("INSERT INTO report(question, program, data, text) VALUES(?1, ?2, ?3, ?4)")
        .with(question, version.program, version.data, result.report)
        .run();
  }
}

/// Whether the question is answered already. Throws Error where it was answered otherwise.
bool is_answered(SqliteDatabase& database, std::int64_t question, const Claimed& claimed,
                 const StoreVersion& version, const StoreResult& result) {
  SqliteStatement& answered = database.prepared(
      "SELECT 1 FROM result WHERE question = ?1 AND program = ?2 AND data = ?3 "
      "AND error IS NULL");
  if (!answered.with(question, version.program, version.data).any()) return false;
  if (!result.error.empty()) return true;
  SqliteStatement& other = database.prepared(
      "SELECT 1 FROM report WHERE question = ?1 AND program = ?2 AND data = ?3 AND text <> ?4");
  if (other.with(question, version.program, version.data, result.report).any()) {
    throw Error(Place{database.path(), 0, {}},
                "two workers computed " + claimed.job_sha256 + " and got different reports",
                "the program is at fault: please report it, with this store");
  }
  return true;
}

}  // namespace

std::vector<Claimed> Store::claim(const std::string& sweep, const std::string& worker,
                                  const StoreVersion& version, std::size_t most, std::int64_t now_s,
                                  std::int64_t lease_s) {
  require_write();
  SqliteChange change(*database_);
  take_over(*database_, version, now_s, gone_);
  std::vector<Claimed> out;
  std::vector<std::int64_t> questions;
  SqliteStatement& open = database_->prepared(
      "SELECT w.question, q.job_sha256, q.study, w.tries + 1 "
      "FROM work w INDEXED BY work_state CROSS JOIN question q ON q.id = w.question "
      "WHERE w.state = 'open' AND w.program = ?1 AND w.data = ?2 AND "
      "EXISTS(SELECT 1 FROM point p WHERE p.sweep = ?3 AND p.question = w.question) "
      "ORDER BY w.question LIMIT ?4");
  open.with(version.program, version.data, sweep, static_cast<std::int64_t>(most)).each([&] {
    questions.push_back(open.whole(0));
    out.push_back({open.text(1), open.text(2), static_cast<int>(open.whole(3))});
  });
  SqliteStatement& take = database_->prepared(
      "UPDATE work SET state = 'claimed', claimed_by = ?4, lease_until = ?5 "
      "WHERE question = ?1 AND program = ?2 AND data = ?3");
  for (const std::int64_t question : questions)
    take.with(question, version.program, version.data, worker, now_s + lease_s).run();
  change.commit();
  return out;
}

void Store::renew(const std::string& worker, std::int64_t lease_until) {
  require_write();
  SqliteChange change(*database_);
  database_
      ->prepared("UPDATE work SET lease_until = ?2 WHERE state = 'claimed' AND claimed_by = ?1")
      .with(worker, lease_until)
      .run();
  change.commit();
}

void Store::give_back(const std::string& worker) {
  require_write();
  SqliteChange change(*database_);
  database_->prepared(std::string(kOpenAgain) + "WHERE state = 'claimed' AND claimed_by = ?1")
      .with(worker)
      .run();
  change.commit();
}

void Store::finish(const Claimed& claimed, const StoreVersion& version, const StoreResult& result) {
  require_write();
  SqliteChange change(*database_);
  std::int64_t question = 0;
  SqliteStatement& known = database_->prepared("SELECT id FROM question WHERE job_sha256 = ?1");
  known.with(claimed.job_sha256).each([&] { question = known.whole(0); });
  const bool answered = is_answered(*database_, question, claimed, version, result);
  if (!answered) write_result(*database_, question, claimed.study, version, result);
  SqliteStatement& work =
      answered || result.error.empty()
          ? database_->prepared(
                "DELETE FROM work WHERE question = ?1 AND program = ?2 AND data = ?3")
          : database_->prepared(
                "UPDATE work SET state = 'failed', claimed_by = NULL, lease_until = NULL "
                "WHERE question = ?1 AND program = ?2 AND data = ?3");
  work.with(question, version.program, version.data).run();
  change.commit();
}

int Store::retry_failed(const std::string& sweep, const StoreVersion& version) {
  require_write();
  const std::string failed =
      "state = 'failed' AND program = ?1 AND data = ?2 "
      "AND question IN (SELECT question FROM point WHERE sweep = ?3)";
  SqliteChange change(*database_);
  database_
      ->prepared(
          "DELETE FROM result WHERE (question, program, data) IN "
          "(SELECT question, program, data FROM work WHERE " +
          failed + ")")
      .with(version.program, version.data, sweep)
      .run();
  database_->prepared("UPDATE work SET state = 'open', tries = 0 WHERE " + failed)
      .with(version.program, version.data, sweep)
      .run();
  const std::int64_t out = database_->changes();
  change.commit();
  return static_cast<int>(out);
}

}  // namespace fabricast
