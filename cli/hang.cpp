#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/values.hpp"
#include "models/io/import_file.hpp"
#include "models/io/read_call_trace.hpp"
#include "models/io/text_file.hpp"
#include "models/io/unit_text.hpp"

namespace fabricast {

namespace {

struct HangOptions {
  std::string trace, timeout = "600 s", format = "text";
};

/// A trace of calls, or what a watchdog printed.
int run(const HangOptions& options) {
  const std::string text = read_text_file(options.trace, "hang takes a trace of calls, or a log");
  const Duration timeout = of_option("--timeout", [&] { return parse_duration(options.timeout); });
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || text[begin] != '{') {
    const ImportedFile read = import_text(text, options.trace);
    const bool is_log = read.kind == "PyTorch watchdog log" || read.kind == "NCCL_DEBUG log" ||
                        read.kind == "nccl-tests";
    if (!is_log)
      throw Error(Place{options.trace, 0, {}}, "neither calls nor the log of a watchdog",
                  "docs/hang.md says what a trace is");
    fmt::print("{}", options.format == "json" ? import_json(read, options.trace)
                                              : import_report(read, options.trace));
    return kDone;
  }
  const HangResult result = find_hang(parse_call_trace(text, options.trace));
  const double seconds = static_cast<double>(timeout.ps) / 1e12;
  fmt::print("{}",
             options.format == "json" ? hang_json(result, seconds) : hang_text(result, seconds));
  return result.hangs() ? kCheckFailed : kDone;
}

}  // namespace

void add_hang(CLI::App& app, Action& action) {
  auto options = std::make_shared<HangOptions>();
  CLI::App* command =
      app.add_subcommand("hang", "who waits for whom: calls of each rank, or a watchdog's log");
  command->add_option("trace", options->trace, "JSON lines of calls, or a log of PyTorch or NCCL")
      ->required();
  command->add_option("--timeout", options->timeout, "of the process group: the watchdog's")
      ->capture_default_str();
  command->add_option("--format", options->format)
      ->check(one_of({"text", "json"}))
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace fabricast
