#include "models/io/store/store.hpp"

#include <utility>

#include "models/io/store/schema.hpp"
#include "models/io/store/sqlite.hpp"
#include "sim/base/error.hpp"

namespace fabricast {

Store::Store(const std::string& path, StoreAccess access, const StoreOptions& options)
    : access_(access), database_(std::make_unique<SqliteDatabase>(path, access, options)) {
  if (access == StoreAccess::write) {
    prepare_schema(*database_);
  } else {
    check_schema(*database_);
  }
}

Store::~Store() = default;
Store::Store(Store&& other) noexcept = default;
Store& Store::operator=(Store&& other) noexcept = default;

void Store::require_write() const {
  if (access_ == StoreAccess::write) return;
  throw Error(Place{database_->path(), 0, {}}, "the store was opened for reading");
}

void Store::set_gone(std::function<bool(const std::string&)> gone) { gone_ = std::move(gone); }

Store::Counts Store::counts(const std::string& sweep, const StoreVersion& version) {
  Counts out;
  SqliteStatement& statement = database_->prepared(
      "SELECT count(*), sum(r.question IS NOT NULL AND r.error IS NULL), "
      "sum(w.state IS 'failed'), sum(w.state IS 'claimed'), sum(w.state IS 'open') "
      "FROM point p "
      "LEFT JOIN result r ON r.question = p.question AND r.program = ?2 AND r.data = ?3 "
      "LEFT JOIN work w ON w.question = p.question AND w.program = ?2 AND w.data = ?3 "
      "WHERE p.sweep = ?1");
  statement.with(sweep, version.program, version.data).each([&] {
    out = {statement.whole(0), statement.whole(1), statement.whole(2), statement.whole(3),
           statement.whole(4)};
  });
  return out;
}

std::int64_t Store::unfinished(const std::string& sweep, const StoreVersion& version) {
  std::int64_t out = 0;
  SqliteStatement& statement = database_->prepared(
      "SELECT count(*) FROM work w WHERE state IN ('open', 'claimed') AND program = ?1 AND data = "
      "?2 AND EXISTS(SELECT 1 FROM point p WHERE p.sweep = ?3 AND p.question = w.question)");
  statement.with(version.program, version.data, sweep).each([&] { out = statement.whole(0); });
  return out;
}

void Store::settle() {
  require_write();
  database_->run("PRAGMA wal_checkpoint(PASSIVE)");
}

std::vector<std::string> Store::sweeps() {
  std::vector<std::string> out;
  // From one to the next: a sweep may have a million points.
  SqliteStatement& statement = database_->prepared(
      "WITH RECURSIVE name(sweep) AS (SELECT min(sweep) FROM point UNION ALL "
      "SELECT (SELECT min(sweep) FROM point p WHERE p.sweep > name.sweep) FROM name "
      "WHERE name.sweep IS NOT NULL) SELECT sweep FROM name WHERE sweep IS NOT NULL");
  statement.each([&] { out.push_back(statement.text(0)); });
  return out;
}

std::string Store::check() {
  std::string out;
  try {
    SqliteStatement statement(*database_, "PRAGMA quick_check");
    statement.each([&] { out += (out.empty() ? "" : "\n") + statement.text(0); });
  } catch (const Error& error) {  // where it cannot go on
    out += (out.empty() ? "" : "\n") + error.message();
  }
  return out;
}

void Store::select(const std::string& sql, const std::vector<StoreValue>& bound,
                   const std::function<void(std::span<const StoreCell>)>& row,
                   std::vector<std::string>* names) {
  SqliteStatement statement(*database_, sql);
  if (!statement.is_select())
    throw Error(Place{database_->path(), 0, {}}, "not a question to the store: " + sql,
                "begin it with SELECT");
  int index = 0;
  for (const StoreValue& value : bound) statement.bind(++index, value);
  if (names != nullptr) {
    names->clear();
    for (int column = 0; column < statement.columns(); ++column)
      names->push_back(statement.name(column));
  }
  std::vector<StoreCell> cells(static_cast<std::size_t>(statement.columns()));
  statement.each([&] {
    for (std::size_t column = 0; column < cells.size(); ++column)
      cells[column] = statement.cell(static_cast<int>(column));
    row(cells);
  });
}

}  // namespace fabricast
