#pragma once
// Fabricast as a library: a Job in, a Report out. A job is a command of the program with its
// options, so that docs/commands.md and `fabricast COMMAND --help` are its reference; a report is
// what --format json prints (docs/reports.md). For one call after another there is estimator.hpp.
//
// Nothing is printed, and nothing is shared between calls: any number of threads may ask at the
// same time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fabricast/error.hpp"
#include "fabricast/export.hpp"
#include "fabricast/version.hpp"

namespace fabricast::api {

/// Options in the order they are typed: {"nodes", {"1,2,4"}} is --nodes=1,2,4; several values
/// repeat the option, none makes it a flag. Names of one letter are nccl-tests' (-b).
using Options = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct Job {
  std::string study;  ///< a command of the program: "bench"
  Options options;
  /// What has no option's name: files; before them, if `study` has parts, one of these.
  std::vector<std::string> arguments;
};

/// A cell of a table; std::monostate where there is no figure.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

struct Column {
  enum class Type : std::uint8_t { text, flag, whole, number };

  std::string name;  ///< ends in the unit, if it has one: "time_us"
  Type type = Type::text;
  std::string unit;  ///< "us"; "" = none
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< a cell for each column
};

class FABRICAST_API Report {
 public:
  struct Content;  ///< the library's own
  explicit Report(std::shared_ptr<const Content> content);

  const std::string& study() const;
  /// The command line that gives it again.
  const std::string& command() const;
  /// One or two sentences; "" where the study has none in words.
  std::string answer() const;
  const std::vector<std::string>& notes() const;
  /// The first is what the study is about.
  const std::vector<Table>& tables() const;
  /// Throws Error with the nearest name.
  const Table& table(std::string_view name) const;
  /// Whether all that was to be checked is as expected: exit code 0 of the program.
  bool holds() const;
  /// What the command printed that is no report: of those that list, or write files.
  const std::string& text() const;

  /// As --format json prints it. Throws Error where there is no report but text.
  std::string json() const;
  /// A table as --format csv prints it; "" = the first. Throws Error.
  std::string csv(std::string_view table = {}) const;
  /// A page for a browser that needs no network, as --html writes it. Throws Error.
  std::string html() const;

 private:
  std::shared_ptr<const Content> content_;
};

/// Who is told while an answer is made.
struct Listener {
  /// What the program would say on standard error: a line. What it throws comes out of ask() once
  /// the answer is there.
  std::function<void(std::string_view)> said = {};
  /// The share done, 0..1, from any thread, one call at a time; at the end 1. What it throws ends
  /// the answer and comes out of ask().
  std::function<void(double)> progress = {};
  /// Called now and then between pieces of work, from several threads at the same time. What it
  /// throws ends the answer as well.
  std::function<void()> poll = {};
};

/// Throws Error; std::bad_alloc where memory is short. Options that write files write them.
FABRICAST_API Report ask(const Job& job, const Listener& listener = {});

/// The page of a report as Report::json() gave it, with the command that gives it again. Throws
/// Error.
FABRICAST_API std::string page_of(std::string_view json, const std::string& command);

/// An option of a study, as its --help says it.
struct StudyOption {
  std::string name;    ///< without "--"; of an argument without a name what it is: "layout"
  std::string letter;  ///< "b" of -b; "" = none
  std::string help;
  std::string type;    ///< "TEXT", "INT", "FLOAT", "FILE", "{text,csv,json}"; "" of flags
  std::string preset;  ///< the value where it is not given, if help says it
  std::string group;   ///< "Machine"
  bool is_flag = false;
  bool is_argument = false;
  bool is_required = false;
  bool repeats = false;  ///< may be given several times
};
struct Study {
  std::string name, help;
  std::vector<StudyOption> options;
};
/// All that ask() takes.
FABRICAST_API std::vector<Study> studies();

}  // namespace fabricast::api
