#pragma once
// The readers behind import_text(), one for each kind of file. Each says whether the text is of its
// kind, by filling `out` and returning true, or leaves it alone.

#include <string>
#include <string_view>
#include <vector>

#include "models/io/formats/log_lines.hpp"
#include "models/io/imports/import_file.hpp"

namespace fabricast::import_readers {

bool read_topo_matrix(const LogText& log, ImportedFile& out);
/// ibstat, ibstatus, ibv_devinfo
bool read_ib_ports(const LogText& log, ImportedFile& out);
/// ibnetdiscover, and its -p
bool read_ib_network(const LogText& log, ImportedFile& out);
bool read_nccl_log(const LogText& log, ImportedFile& out);
/// PyTorch's watchdog of collectives
bool read_watchdog(const LogText& log, ImportedFile& out);
bool read_nccl_tests(const std::string& text, const std::string& file, ImportedFile& out);
/// Reads lines alone, no JSON.
bool read_nccl_tests_lines(const LogText& log, ImportedFile& out);
/// Kineto, PyTorch's execution traces, Chakra as JSON
bool read_trace(const std::string& text, ImportedFile& out);
/// Reads a file, of which only what is told is held.
bool read_trace_file(const std::string& file, ImportedFile& out);
/// A page of reports of --html.
bool read_page(const std::string& text, const std::string& file, ImportedFile& out);
/// A report of --format json or --json.
bool read_report(const std::string& text, ImportedFile& out);
/// NCCL's topology or graphs, MSCCL's algorithms
bool read_xml(const std::string& text, const std::string& file, ImportedFile& out);
bool read_settings(const std::string& text, const std::string& file, ImportedFile& out);

/// What follows the first `key`, or nothing.
std::string_view after(std::string_view text, std::string_view key);
/// "a, b, c"
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

}  // namespace fabricast::import_readers
