#include "models/io/store/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "models/io/store/file_system.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// Pages that are kept in memory, in KiB, as they are used: a store of a million points has some
/// hundred MiB, and a question to all of it reads them out of order.
constexpr int kCacheKiB = 256 << 10;
/// The log goes into the file when it has so many pages: 16 MiB, a few hundred reports.
constexpr int kLogPages = 4000;

/// The file as a URI, which is how a database is told more than its name.
std::string address_of(const std::string& path, std::string_view query) {
  std::string out = path.starts_with('/') ? "file://" : "file:./";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + std::string(query);
}

/// There are changes that are not in the file itself yet.
bool has_log(const std::string& path) {
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(path + "-wal", problem);
  return !problem && size > 0;
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  return out + quote;
}

/// SQLite calls it a fault of the file where only its index had no room.
bool is_full(int code, int system_code) {
  if ((code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE) return true;
  return (code & 0xff) == SQLITE_IOERR && (system_code == ENOSPC || system_code == EDQUOT);
}

}  // namespace

std::string sql_name(std::string_view name) { return quoted(name, '"'); }
std::string sql_text(std::string_view text) { return quoted(text, '\''); }

// Statements.

void SqliteStatement::Close::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement::SqliteStatement(const SqliteDatabase& database, std::string_view sql)
    : database_(&database) {
  sqlite3_stmt* made = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &made, &rest);
  statement_.reset(made);
  if (code != SQLITE_OK) database.fail(code);
  const std::string_view left(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
  if (made == nullptr || left.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    throw Error(Place{database.path(), 0, {}}, "one statement is expected", std::string(sql));
}

void SqliteStatement::bind(int index, std::monostate) {
  if (const int code = sqlite3_bind_null(statement_.get(), index); code != SQLITE_OK)
    database_->fail(code);
}

void SqliteStatement::bind(int index, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(statement_.get(), index, value); code != SQLITE_OK)
    database_->fail(code);
}

void SqliteStatement::bind(int index, double value) {
  if (const int code = sqlite3_bind_double(statement_.get(), index, value); code != SQLITE_OK)
    database_->fail(code);
}

void SqliteStatement::bind(int index, std::string_view value) {
  // Of no text the pointer may be null, which SQLite would take for null itself.
  const char* const data = value.empty() ? "" : value.data();
  const int code = sqlite3_bind_text64(statement_.get(), index, data, value.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) database_->fail(code);
}

void SqliteStatement::bind(int index, const StoreValue& value) {
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string>) {
          bind(index, std::string_view(held));
        } else {
          bind(index, held);
        }
      },
      value);
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_->fail(code);
  return code == SQLITE_ROW;
}

void SqliteStatement::each(const std::function<void()>& row) {
  struct Reset {
    sqlite3_stmt* statement;
    ~Reset() { sqlite3_reset(statement); }
  } const reset{statement_.get()};
  while (step()) row();
}

void SqliteStatement::run() {
  each([] {});
}

bool SqliteStatement::any() {
  bool found = false;
  each([&] { found = true; });
  return found;
}

int SqliteStatement::columns() const { return sqlite3_column_count(statement_.get()); }

std::string SqliteStatement::name(int column) const {
  return sqlite3_column_name(statement_.get(), column);
}

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t SqliteStatement::whole(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string SqliteStatement::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

StoreCell SqliteStatement::cell(int column) const {
  sqlite3_stmt* const row = statement_.get();
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(row, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(row, column);
    default: {
      const unsigned char* const text = sqlite3_column_text(row, column);
      const int size = sqlite3_column_bytes(row, column);
      return std::string_view(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
    }
  }
}

bool SqliteStatement::is_select() const {
  return columns() > 0 && sqlite3_stmt_readonly(statement_.get()) != 0;
}

// The connection.

void SqliteDatabase::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

SqliteDatabase::SqliteDatabase(const std::string& path, StoreAccess access,
                               const StoreOptions& options)
    : path_(path), options_(options) {
  std::error_code problem;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (std::filesystem::is_directory(path, problem))
    throw Error(Place{path, 0, {}}, "is a directory", "name a file in it");
  if (!folder.empty() && !std::filesystem::is_directory(folder, problem))
    throw Error(Place{path, 0, {}}, "there is no folder " + folder.string(), "make it first");
  if (access == StoreAccess::write) {
    open_to_write();
  } else {
    open_to_read();
  }
}

int SqliteDatabase::open(const std::string& address, int flags) {
  address_ = address;
  sqlite3* made = nullptr;
  const int code = sqlite3_open_v2(address.c_str(), &made, flags | SQLITE_OPEN_URI, nullptr);
  handle_.reset(made);  // there is one even where it failed: it knows why
  if (code != SQLITE_OK) return code;
  sqlite3_extended_result_codes(made, 1);
  sqlite3_busy_timeout(made, options_.busy_ms);
  // Only now the file is read for the first time.
  return sqlite3_exec(made, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
}

void SqliteDatabase::open_to_write() {
  const std::int64_t type = options_.file_system.value_or(file_system_of(path_));
  if (const std::string_view network = network_file_system(type); !network.empty()) {
    throw Error(Place{path_, 0, {}},
                fmt::format("is on a network's file system: SQLite on {} loses writes", network),
                "put the store on a local disk and merge");
  }
  int code = open(address_of(path_, ""), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (code != SQLITE_OK) fail(code);
  if (sqlite3_db_readonly(handle(), "main") == 1) fail(SQLITE_READONLY);
  code = keep_a_log();
  if (code != SQLITE_OK) fail(code);
  run(
      fmt::format("PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA cache_size=-{};"
                  "PRAGMA wal_autocheckpoint={}; PRAGMA journal_size_limit={};",
                  kCacheKiB, kLogPages, kLogPages * 4096));
  if (options_.pages_max > 0) run(fmt::format("PRAGMA max_page_count={}", options_.pages_max));
}

/// Write-ahead logging: readers and a writer do not wait for each other. It takes the whole file
/// for a moment, and SQLite gives up at once where two processes try, rather than wait for each
/// other.
int SqliteDatabase::keep_a_log() {
  constexpr int kPauseMs = 5;
  for (int waited_ms = 0;; waited_ms += kPauseMs) {
    const int code = sqlite3_exec(handle(), "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    if ((code & 0xff) != SQLITE_BUSY || waited_ms >= options_.busy_ms) return code;
    sqlite3_sleep(kPauseMs);
  }
}

/// A reader, too, writes beside the file: who reads what of the log. Where it cannot, and on a
/// network, where that would not work, a file without a log is read as one that nobody changes.
void SqliteDatabase::open_to_read() {
  std::error_code problem;
  if (!std::filesystem::exists(path_, problem))
    throw Error(Place{path_, 0, {}}, "there is no such store", "fabricast sweep makes one");
  const std::int64_t type = options_.file_system.value_or(file_system_of(path_));
  const bool on_network = !network_file_system(type).empty();
  const std::string as_it_is = address_of(path_, "?mode=ro&immutable=1");
  int code = SQLITE_OK;
  if (on_network && !has_log(path_)) {
    code = open(as_it_is, SQLITE_OPEN_READONLY);
  } else {
    code = open(address_of(path_, "?mode=ro"), SQLITE_OPEN_READONLY);
    const int kind = code & 0xff;
    if (kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY || kind == SQLITE_IOERR) {
      if (has_log(path_)) {
        throw Error(Place{path_, 0, {}},
                    "some of its results are still in " + path_ +
                        "-wal, which cannot be read where nothing can be written",
                    "copy both files to a folder of your own");
      }
      code = open(as_it_is, SQLITE_OPEN_READONLY);
    }
  }
  if (code != SQLITE_OK) fail(code);
  run(fmt::format("PRAGMA cache_size=-{}", kCacheKiB));
}

void SqliteDatabase::run(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

SqliteStatement& SqliteDatabase::prepared(std::string_view sql) {
  auto found = prepared_.find(sql);
  if (found == prepared_.end())
    found = prepared_.emplace(std::string(sql), SqliteStatement(*this, sql)).first;
  return found->second;
}

std::int64_t SqliteDatabase::whole(std::string_view sql) {
  std::int64_t out = 0;
  bool first = true;
  SqliteStatement statement(*this, sql);
  statement.each([&] { out = std::exchange(first, false) ? statement.whole(0) : out; });
  return out;
}

std::int64_t SqliteDatabase::changes() const { return sqlite3_changes64(handle()); }

void SqliteDatabase::fail(int code) const {
  const Place place{path_, 0, {}};
  if (is_full(code, sqlite3_system_errno(handle()))) {
    throw Error(place, "the disk is full; nothing that was finished is lost",
                "make room, then run the same again: it goes on where it stopped");
  }
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      throw Error(place, "is no store: not a SQLite database",
                  "name one that `fabricast sweep` wrote; it makes one that is not there yet");
    case SQLITE_CORRUPT:
      throw Error(
          place, fmt::format("the store is damaged ({})", sqlite3_errmsg(handle())),
          "keep a copy; `sqlite3 FILE .recover | sqlite3 NEW` saves what can be read, and a "
          "sweep into NEW computes the rest");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(place,
                  fmt::format("another process has kept the store locked for {} s",
                              static_cast<double>(options_.busy_ms) / 1000),
                  "`fuser FILE` tells which; run it again when that is done");
    case SQLITE_READONLY:
      throw Error(place, "the store cannot be written: it is read-only",
                  "give yourself the right to write the file and its folder, or name another file");
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      throw Error(place, "the store cannot be opened",
                  "the file and its folder must be yours to read, and to write for a sweep");
    case SQLITE_IOERR:
      throw Error(
          place, fmt::format("the disk failed ({})", sqlite3_errmsg(handle())),
          "what was finished is in the store if the disk kept it: `fabricast sweep status`");
    default:
      throw Error(place, fmt::format("SQLite: {}", sqlite3_errmsg(handle())));
  }
}

// Changes.

SqliteChange::SqliteChange(SqliteDatabase& database) : database_(database) {
  database_.prepared("BEGIN IMMEDIATE").run();
}

SqliteChange::~SqliteChange() {
  // Where SQLite has undone it by itself, or commit() has ended it, there is nothing to undo.
  if (sqlite3_get_autocommit(database_.handle()) == 0)
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteChange::commit() { database_.prepared("COMMIT").run(); }

}  // namespace fabricast
