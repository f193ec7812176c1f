#pragma once
// What nccl-tests printed, as text or as its JSON (-J, since 2.18), out of the logs that people
// keep: prefixes, colours, NCCL's own lines in between, several tables, cut ends. Columns go by
// position (src/common.cu of nccl-tests 2.0 to 2.19), never by the alignment of headers.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/formats/log_lines.hpp"
#include "models/nccl/base/types.hpp"
#include "models/nccl/environment/env.hpp"

namespace fabricast {

/// Out of place or in place.
struct NcclTestsTiming {
  double time_us = 0;
  std::optional<double> algbw, busbw;  ///< GB/s
  std::optional<double> wrong;         ///< values; nothing where it was not checked
  bool checked = false;                ///< something else than N/A stands in the last column
  /// Half a unit of the last digit that was printed: the figure lies so far either way.
  double time_half = 0, algbw_half = 0, busbw_half = 0;
};

struct NcclTestsRow {
  int line = 0;
  std::int64_t size = 0;  ///< bytes, as printed
  std::int64_t count = 0;
  std::string type, redop;  ///< "float", "sum"; "none" where nothing is reduced; "" = not said
  int root = -1;            ///< -1 = no rank plays a part of its own, or not said
  bool says_root = false;   ///< the table has such a column
  std::optional<NcclTestsTiming> out_of_place, in_place;
};

struct NcclTestsDevice {
  int rank = 0;
  int group = 0;  ///< its color where NCCL_TESTS_SPLIT makes several communicators
  std::string host, model;
  int device = 0;   ///< as its process counts them
  std::string bus;  ///< "0000:1b:00"; "0x1b" up to 2.13, without the domain; "" = not said
};

struct LoggedLine {
  int line = 0;
  std::string text;
};

/// What NCCL's own lines say of the network that it took: the first of each kind.
struct LoggedNetwork {
  std::vector<LoggedLine> names;  ///< "Using network IB"
  std::vector<LoggedLine> links;  ///< "NET/IB : Using [0]mlx5_5:1/RoCE [RO]"
};

/// One run of one test.
struct NcclTestsTable {
  int line = 0;                          ///< of its first line
  std::optional<Collective> collective;  ///< of the last program named before it, "all_reduce_perf"
  int named_at = 0;                      ///< the line that names it; 0 = an argument in JSON
  int command_ranks = 0;                 ///< what that command line starts; 0 = it does not say
  int threads = 1, gpus = 1;             ///< -t and -g
  bool cuda_graph = false;               ///< -G
  std::vector<NcclTestsDevice> devices;
  std::vector<NcclTestsRow> rows;
  std::optional<double> out_of_bounds, average_busbw;
  bool failed_check = false;  ///< values were wrong
  Environment environment;    ///< NCCL_ variables that the command line sets

  int hosts() const;
  int ranks() const;          ///< the last one's number + 1; lists of thousands are often shortened
  int gpus_per_host() const;  ///< of the first host
  int groups() const;         ///< communicators that run at the same time (NCCL_TESTS_SPLIT)
};

struct NcclTestsLog {
  std::vector<NcclTestsTable> tables;  ///< each with a row, a device or both
  std::string nccl_version;            ///< "2.23.4", "" = not said
  std::string tests_version;           ///< of nccl-tests
  Environment environment;  ///< NCCL_ variables that NCCL's lines and traces of shells show as set
  LoggedNetwork network;
  std::vector<std::string> remarks;  ///< what the reader of the log should know
  bool independent_runs = false;     ///< each process for itself: no table of several ranks
  bool failed = false;               ///< a test ended with an error, which a remark says
  int unread = 0;                    ///< lines that look like rows and are none

  std::size_t rows() const;
  std::size_t devices() const;
};

/// Throws Error when JSON is broken; a text without any table gives a log without tables.
NcclTestsLog parse_nccl_tests(std::string_view text, const std::string& file);
/// Reads a log that is no JSON.
NcclTestsLog parse_nccl_tests_lines(LogText text);
/// Reads a file, of which no more is held than its tables. Throws Error as read_text_file() does.
NcclTestsLog read_nccl_tests(const std::string& file, const std::string& hint);
bool is_nccl_tests_json(std::string_view text);
NcclTestsLog parse_nccl_tests_json(std::string_view text, const std::string& file);

/// 22907 -> "2.29.7", 2708 -> "2.7.8" (NCCL_VERSION of nccl.h).
std::string nccl_version_of_code(std::int64_t code);

}  // namespace fabricast
