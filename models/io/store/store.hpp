#pragma once
// A store of results: a SQLite file that pandas and sqlite3 read without help. It holds sweeps
// (their points, each a question), what is still to be done, and what came out. Several processes
// of one host work on it at the same time.
//
// Every call is one change: it is in the file whole, or not at all. A process that is killed loses
// what it was about to write, and nothing else; a host that loses its power may lose the changes of
// the last seconds, as if they had not been made yet.
//
// A connection is of one process (it does not survive a fork) and of one thread at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fabricast {

class SqliteDatabase;

/// One question of a sweep.
struct StorePoint {
  std::int64_t place = 0;  ///< in the sweep's own order; each once
  std::string job_sha256;  ///< of the question in canonical form: equal questions are done once
  std::string study;       ///< "bench"
  std::string question;    ///< canonical, JSON
  std::string axes;        ///< JSON: an object of the axes' names and values
};

/// What computes. A result is of a question and of this.
struct StoreVersion {
  std::string program, data;
};

/// What came out of a question.
struct StoreResult {
  std::string report;  ///< the whole result as JSON: kept byte by byte
  std::string error;   ///< why there is none; "" = it was answered
  std::string error_place;
  std::string answer;  ///< in a sentence
  double cpu_s = 0;
  std::int64_t max_rss_bytes = 0;
  std::string finished_at;
  /// Figures by column: some of headline_columns().
  std::map<std::string, std::variant<double, std::int64_t, std::string>> headline;
};

/// A question that a worker has taken upon itself.
struct Claimed {
  std::string job_sha256, study;
  int tries = 0;  ///< with this one; at those before it a worker died, or was too slow
};

/// A value in a question to the store; std::monostate = null.
using StoreValue = std::variant<std::monostate, std::int64_t, double, std::string>;
/// A value that is read. Text is valid until the next row.
using StoreCell = std::variant<std::monostate, std::int64_t, double, std::string_view>;

/// write: makes the file where there is none.
enum class StoreAccess : std::uint8_t { write, read };

struct StoreOptions {
  /// How long a change waits for those of other processes.
  int busy_ms = 30'000;
  /// For tests: the file grows to so many pages of 4 KiB, then the disk is full. 0: to any.
  std::int64_t pages_max = 0;
  /// For tests: what statfs() says of the file system.
  std::optional<std::int64_t> file_system = {};
};

/// The columns for figures, in their order: what they are is in docs/reports.md.
std::vector<std::string> headline_columns();

class Store {
 public:
  /// Throws Error: no store, a damaged one, one of a newer program, no folder, no right to write, a
  /// network's file system (to write). Each call below may throw, too: a full disk, a file that is
  /// locked for longer than `busy_ms`, damage.
  Store(const std::string& path, StoreAccess access, const StoreOptions& options = {});
  ~Store();
  Store(Store&& other) noexcept;
  Store& operator=(Store&& other) noexcept;

  /// Makes the sweep's points these, whatever they were; with none, the sweep is gone. What has no
  /// result of this version yet becomes work, in the order of `points`; what failed stays failed.
  /// Results stay in any case. Throws Error for an axis that cannot be a column.
  void add_points(const std::string& sweep, const std::vector<StorePoint>& points,
                  const StoreVersion& version);
  /// At most `most` questions of the sweep that are open, in the order in which the store first got
  /// them: neighbours have files in common, which a worker then has read already. Open are also
  /// those whose lease ended at `now_s` or before, and those of workers that are gone. Those of
  /// another sweep stay: the files they name may be in another folder, or have changed.
  std::vector<Claimed> claim(const std::string& sweep, const std::string& worker,
                             const StoreVersion& version, std::size_t most, std::int64_t now_s,
                             std::int64_t lease_s);
  /// Tells which worker no longer lives; called while others wait. Without it, leases run out.
  void set_gone(std::function<bool(const std::string& worker)> gone);
  /// For all that the worker has claimed, of any version.
  void renew(const std::string& worker, std::int64_t lease_until);
  /// All that the worker has claimed is open again, as if it had not been.
  void give_back(const std::string& worker);
  /// Keeps the result, or the error. The first result stays: where there is one already, of another
  /// worker, an error is dropped, and a report that differs is an Error: the program is at fault.
  /// REQUIRES: the question is in the store.
  void finish(const Claimed& claimed, const StoreVersion& version, const StoreResult& result);
  /// What failed of the sweep is open again, and its errors are gone. How many that were.
  int retry_failed(const std::string& sweep, const StoreVersion& version);
  /// Moves what the log beside the file holds into the file, so that a copy of the file alone has
  /// all. The last to close does so by itself; two that close at once both leave it to the other.
  void settle();

  /// Of a sweep's points; equal questions count at each place. done + failed + claimed + open are
  /// all points, unless the sweep was never added for this version.
  struct Counts {
    std::int64_t points = 0, done = 0, failed = 0, claimed = 0, open = 0;
  };
  /// It reads every point: 1 us each.
  Counts counts(const std::string& sweep, const StoreVersion& version);
  /// Questions of the sweep that are open or claimed, equal ones once: 0.6 us each.
  std::int64_t unfinished(const std::string& sweep, const StoreVersion& version);
  std::vector<std::string> sweeps();  ///< in alphabetical order

  /// Adds what another store holds: questions, points, results, what failed, what is not done. Its
  /// claims are open here. Throws Error, and changes nothing, where both have a report of the same
  /// question and version and the two differ, or where a sweep of that name asks something else.
  void merge(const std::string& other_path);
  /// "ok", or what is damaged: it reads the whole file.
  std::string check();

  /// Calls `row` for each row of a SELECT. `names` are the columns', there before the first row.
  /// Throws Error when it is no SELECT, or more than one statement.
  ///
  /// What there is to select: `points` has a row for each point and version (or one without
  /// figures, where it has no result), with a column for each axis; "axis_" stands before an axis's
  /// name where another column has it. `bench`, `step`, ...: those of the study that have a result.
  /// `reports` has the whole results by job_sha256, program and data.
  void select(const std::string& sql, const std::vector<StoreValue>& bound,
              const std::function<void(std::span<const StoreCell>)>& row,
              std::vector<std::string>* names = nullptr);

 private:
  void require_write() const;

  StoreAccess access_;
  std::unique_ptr<SqliteDatabase> database_;
  std::function<bool(const std::string&)> gone_;
};

}  // namespace fabricast
