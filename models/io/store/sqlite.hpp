#pragma once
// SQLite's C interface with owners, values and this project's errors; nothing more. Whatever goes
// wrong is thrown as an Error that names the file.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "models/io/store/store.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace fabricast {

class SqliteDatabase;

/// A statement, compiled. It belongs to its database and goes before it.
class SqliteStatement {
 public:
  SqliteStatement(const SqliteDatabase& database, std::string_view sql);

  /// Gives the parameters ?1, ?2, ... their values, which are copied.
  template <class... Value>
  SqliteStatement& with(const Value&... values) {
    int index = 0;
    const auto give = [&](const auto& value) {
      if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
        bind(++index, std::string_view(value));
      } else {
        bind(++index, value);
      }
    };
    (give(values), ...);
    return *this;
  }
  void bind(int index, std::monostate nothing);
  void bind(int index, std::int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view value);
  void bind(int index, const StoreValue& value);

  /// Runs it; any rows are passed over.
  void run();
  /// Whether there is a row.
  bool any();
  /// Runs it and calls `row` for each row, which the readers below then read. Whatever happens, it
  /// ends there: one that has not ended would keep the file from being tidied.
  void each(const std::function<void()>& row);

  int columns() const;
  std::string name(int column) const;
  bool is_null(int column) const;
  std::int64_t whole(int column) const;
  std::string text(int column) const;  ///< "" = null
  StoreCell cell(int column) const;    ///< valid until the next row

  /// It changes nothing, and has columns.
  bool is_select() const;

 private:
  bool step();

  struct Close {
    void operator()(sqlite3_stmt* statement) const;
  };
  const SqliteDatabase* database_;
  std::unique_ptr<sqlite3_stmt, Close> statement_;
};

/// One connection: of one process, and of one thread at a time.
class SqliteDatabase {
 public:
  /// `read`: nothing is written, not even beside the file. Throws Error.
  SqliteDatabase(const std::string& path, StoreAccess access, const StoreOptions& options);
  SqliteDatabase(const SqliteDatabase&) = delete;  // its statements hold its address
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  /// Several statements without parameters.
  void run(const std::string& sql);
  /// The statement, compiled once; its values are those of the last time. REQUIRES: not in use.
  SqliteStatement& prepared(std::string_view sql);
  /// The first column of the first row; 0 where there is none.
  std::int64_t whole(std::string_view sql);

  const std::string& path() const { return path_; }
  /// By which another connection may read the same file, as ATTACH takes it.
  const std::string& address() const { return address_; }
  const StoreOptions& options() const { return options_; }
  sqlite3* handle() const { return handle_.get(); }
  /// Rows that the last statement changed.
  std::int64_t changes() const;
  /// Throws Error: what SQLite's result `code` means to who uses the file.
  [[noreturn]] void fail(int code) const;

 private:
  int open(const std::string& address, int flags);
  void open_to_write();
  void open_to_read();
  int keep_a_log();

  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_, address_;
  StoreOptions options_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, SqliteStatement, std::less<>> prepared_;  // goes before the handle
};

/// A change: all of it, or nothing unless commit() was reached. It waits here for those of other
/// processes, and nowhere later.
class SqliteChange {
 public:
  explicit SqliteChange(SqliteDatabase& database);
  ~SqliteChange();
  SqliteChange(const SqliteChange&) = delete;
  SqliteChange& operator=(const SqliteChange&) = delete;
  void commit();

 private:
  SqliteDatabase& database_;
};

/// "name", quotes inside doubled: a name of a table or a column.
std::string sql_name(std::string_view name);
/// 'text', the same way.
std::string sql_text(std::string_view text);

}  // namespace fabricast
