#include "models/io/imports/import_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/formats/text_file.hpp"
#include "models/io/imports/import_readers.hpp"
#include "models/io/report/columns.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

using namespace import_readers;

Error not_text(const std::string& file) {
  return Error(Place{file, 0, {}}, "this is no text", "give the file as the tool printed it");
}

bool begins_like_json(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return !is_docker_log(text) && begin != std::string::npos &&
         (text[begin] == '{' || text[begin] == '[');
}

bool read_lines(const LogText& log, ImportedFile& out) {
  return read_watchdog(log, out) || read_topo_matrix(log, out) || read_ib_ports(log, out) ||
         read_ib_network(log, out);
}

/// What is above the size of anything that people write: a log or a trace.
void read_large(const std::string& file, ImportedFile& out) {
  if (begins_like_json(begin_of_file(file))) {
    if (read_trace_file(file, out)) return;
  } else {
    const LogText log = read_log_file(file);
    if (!log.is_text) throw not_text(file);
    if (read_lines(log, out) || read_nccl_tests_lines(log, out) || read_nccl_log(log, out)) {
      for (const std::string& what : log.removed) out.remark(what + " taken off");
      return;
    }
  }
  out.remark("nothing in it is known: docs/import.md lists what is");
}

/// The first reader that knows the file.
void read(const std::string& text, const std::string& file, ImportedFile& out) {
  if (read_page(text, file, out)) return;
  if (read_xml(text, file, out)) return;
  if (begins_like_json(text) &&
      (read_report(text, out) || read_nccl_tests(text, file, out) || read_trace(text, out)))
    return;
  const LogText log = read_log(text);
  for (const std::string& what : log.removed) out.remark(what + " taken off");
  if (read_lines(log, out)) return;
  out.remarks.clear();
  if (read_nccl_tests(text, file, out)) return;
  for (const std::string& what : log.removed) out.remark(what + " taken off");
  if (read_nccl_log(log, out) || read_settings(text, file, out)) return;
  out.remark("nothing in it is known: docs/import.md lists what is");
}

/// A pickle, or JSON: torch/csrc/distributed/c10d/FlightRecorder.hpp.
bool is_flight_record(const std::string& text) {
  const bool pickle = text.starts_with('\x80');
  return (pickle || begins_like_json(text)) && text.find("nccl_version") != std::string::npos &&
         text.find("pg_config") != std::string::npos;
}

}  // namespace

ImportedFile import_text(const std::string& text, const std::string& file) {
  if (is_flight_record(text))
    throw Error(Place{file, 0, {}}, "this is a dump of PyTorch's Flight Recorder",
                "fabricast hang takes the dumps of all ranks, or their folder");
  if (text.find('\0') != std::string::npos) throw not_text(file);
  ImportedFile out;
  read(text, file, out);
  return out;
}

ImportedFile import_file(const std::string& file, const std::string& hint) {
  if (!is_large_file(file)) return import_text(read_text_file(file, hint), file);
  ImportedFile out;
  read_large(file, out);
  return out;
}

std::string imported_text(const ImportedFile& read, const std::string& file) {
  std::string out = fmt::format("{}: {}\n", file, read.kind.empty() ? "not known" : read.kind);
  TextTable table("  ");
  for (const ImportFinding& finding : read.found) table.add({finding.key, finding.value});
  out += table.text();
  if (!read.calls.empty()) {
    TextTable calls("  ");
    for (std::size_t i = 1; i < 6; ++i) calls.align_right(i);
    calls.add({"call", "in", "out", "ranks", "start us", "us", "type", "group"});
    for (const TracedCall& call : read.calls) {
      calls.add({call.collective, std::to_string(call.in_elements),
                 std::to_string(call.out_elements), std::to_string(call.group_size),
                 fmt::format("{:.1f}", call.start_us), fmt::format("{:.1f}", call.duration_us),
                 call.dtype, call.group});
    }
    out += calls.text();
  }
  for (const std::string& remark : read.remarks) out += fmt::format("  note: {}\n", remark);
  return out;
}

Report imported_report(const ImportedFile& read, const std::string& file) {
  using namespace column;
  Report out;
  out.study = "import";
  out.job["ask"] = {{"file", file}};
  out.notes = read.remarks;
  ReportTable found("found", {text("what"), text("value")});
  for (const ImportFinding& finding : read.found) found.add({finding.key, finding.value});
  ReportTable calls("calls",
                    {kCollective, whole("in_elements"), whole("out_elements"), text("dtype"),
                     text("group"), whole("group_size"), us("start_us"), us("duration_us")});
  for (const TracedCall& call : read.calls)
    calls.add({call.collective, call.in_elements, call.out_elements, call.dtype, call.group,
               call.group_size, call.start_us, call.duration_us});
  out.tables = {std::move(found), std::move(calls)};
  out.facts["kind"] = read.kind;
  return out;
}

}  // namespace fabricast
