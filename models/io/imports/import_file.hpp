#pragma once
// What a file of a cluster is, and what it says: outputs of tools, logs, traces, topologies,
// settings. Broken, cut or mixed files give what could be read, and remarks on the rest.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/io/report/report.hpp"

namespace fabricast {

/// "gpus", "8": words of docs/import.md, one value each.
struct ImportFinding {
  std::string key, value;
  bool operator==(const ImportFinding&) const = default;
};

/// One collective call that a trace shows.
struct TracedCall {
  std::string collective;                          ///< nccl-tests' name where there is one
  std::int64_t in_elements = 0, out_elements = 0;  ///< of one rank; 0 = not said
  std::string dtype, group;
  int group_size = 0;                    ///< 0 = not said
  double start_us = 0, duration_us = 0;  ///< on the CPU; 0 = not said
};

/// What NCCL's log says it chose for a call.
struct LoggedChoice {
  std::string collective;  ///< NCCL's name; "" up to 2.22
  std::int64_t bytes = 0;  ///< as printed: since 2.24 of one rank
  std::string algorithm, protocol;
  int channels = 0;  ///< 0 = not said
  bool operator==(const LoggedChoice&) const = default;
};

/// The kinds that others ask for; the rest is named by who reads it.
namespace import_kind {
inline constexpr std::string_view
    kNcclLog = "NCCL_DEBUG log",
    kNcclTests = "nccl-tests",
    kWatchdog = "PyTorch watchdog log";  ///< of a timeout, an exception or a lost heartbeat
}  // namespace import_kind

struct ImportedFile {
  std::string kind;  ///< "nvidia-smi topo -m"; "" = not known
  std::vector<ImportFinding> found;
  std::vector<std::string> remarks;  ///< what was not read, and what to beware of
  std::vector<TracedCall> calls;
  std::vector<LoggedChoice> choices;
  std::vector<ImportFinding> settings;  ///< variables, of NCCL's log

  void add(std::string key, std::string value) {
    if (!value.empty()) found.push_back({std::move(key), std::move(value)});
  }
  void add(std::string key, std::size_t value) { add(std::move(key), std::to_string(value)); }
  void remark(std::string text) { remarks.push_back(std::move(text)); }
  /// "" = not found.
  std::string value(std::string_view key) const;
};

/// Never throws but for what is no text at all (a byte of 0): Error with the file's name.
ImportedFile import_text(const std::string& text, const std::string& file);
/// The same of a file; above kTextSizeMax it is read piece by piece, and no more of it is held than
/// what is told. Throws Error as read_text_file() does, too.
ImportedFile import_file(const std::string& file, const std::string& hint);

std::string imported_text(const ImportedFile& read, const std::string& file);
/// Tables: found, calls.
Report imported_report(const ImportedFile& read, const std::string& file);

}  // namespace fabricast
