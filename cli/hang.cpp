#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "cli/output/outputs.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/imports/import_file.hpp"
#include "models/studies/hang/hang_question.hpp"
#include "models/studies/hang/hang_report.hpp"
#include "models/studies/hang/read_call_trace.hpp"
#include "models/studies/hang/recorded_files.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

struct HangOptions {
  std::vector<std::string> traces;
  std::string layout, fault, write_trace, parts, timeout = "600 s", format = "text";

  std::string trace() const { return traces.empty() ? "" : traces.front(); }
};

int give(const HangOptions& options, const std::string& heading, const HangResult& result,
         double timeout_s, const Answers& answers) {
  answers.give(
      options.format, [&] { return heading + hang_text(result, timeout_s); },
      [&] { return hang_report(result, timeout_s); });
  return result.hangs() ? kCheckFailed : kDone;
}

void write_calls(const HangOptions& options, const std::vector<RankCall>& calls, Outputs& outputs) {
  if (options.write_trace.empty()) return;
  outputs.write(options.write_trace, call_trace_text(calls));
  outputs.commit();
}

/// One step of the layout, with the fault in it if there is one.
int run_layout(const HangOptions& options, Outputs& outputs, double timeout_s,
               const Answers& answers) {
  std::optional<HangFault> fault;
  if (!options.fault.empty())
    fault = of_option("--fault", [&] { return parse_hang_fault(options.fault); });
  const CallsOfLayout made =
      calls_of_layout(options.layout, fault ? &*fault : nullptr, load_parts(options.parts));
  write_calls(options, made.calls, outputs);
  const std::string heading =
      fmt::format("# {}\n# fault: {}\n", made.step, fault ? fault->text : "none");
  return give(options, heading, find_hang(made), timeout_s, answers);
}

int run_scenario(const HangOptions& options, const std::string& text, Outputs& outputs,
                 const Answers& answers) {
  std::vector<RankCall> calls;
  const HangAnswer answer = run_hang_scenario(parse_hang_scenario(text, options.trace()),
                                              load_parts(options.parts), &calls);
  write_calls(options, calls, outputs);
  answers.give(
      options.format, [&] { return hang_answer_text(answer); },
      [&] { return hang_report(answer.result, answer.scenario.timeout_s); });
  return answer.holds ? kDone : kCheckFailed;
}

void check_options(const HangOptions& options, const CLI::App& command) {
  if (options.traces.empty() == options.layout.empty())
    throw Error("name a trace, dumps, a log or a scenario, or --layout", "one of them");
  if (!options.layout.empty()) return;
  const bool is_scenario = is_yaml(options.trace());
  if (!is_scenario && (given(command, "--fault") || given(command, "--write-trace")))
    throw Error(about("--fault"), "--fault and --write-trace belong to --layout");
  for (const char* name : {"--fault", "--timeout"})
    if (is_scenario && given(command, name))
      throw Error(option_place(name), "the scenario says its own",
                  fmt::format("change {}, or ask for its layout: --layout", options.trace()));
}

/// A trace of calls, or what a watchdog printed.
int run(const HangOptions& options, const CLI::App& command, const Answers& answers) {
  const Duration timeout = of_option("--timeout", [&] { return parse_duration(options.timeout); });
  const double seconds = static_cast<double>(timeout.ps) / 1e12;
  check_options(options, command);
  Outputs outputs(command);
  if (!options.layout.empty()) return run_layout(options, outputs, seconds, answers);
  const std::string hint = "hang takes a trace of calls, or a log";
  if (are_records(options.traces)) {
    const RecordedCalls read = read_records(options.traces, on_all_cores(answers, {}));
    return give(options, "", find_hang(read.calls, read.job), seconds, answers);
  }
  const bool large = is_large_file(options.trace());
  const std::string text =
      large ? begin_of_file(options.trace()) : read_text_file(options.trace(), hint);
  if (is_yaml(options.trace())) return run_scenario(options, text, outputs, answers);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || text[begin] != '{') {
    const ImportedFile read =
        large ? import_file(options.trace(), hint) : import_text(text, options.trace());
    const bool is_log = read.kind == import_kind::kWatchdog || read.kind == import_kind::kNcclLog ||
                        read.kind == import_kind::kNcclTests;
    if (!is_log)
      throw Error(Place{options.trace(), 0, {}}, "neither calls nor the log of a watchdog",
                  "docs/hang.md says what a trace is");
    answers.give(
        options.format, [&] { return imported_text(read, options.trace()); },
        [&] { return imported_report(read, options.trace()); });
    return read.kind == import_kind::kWatchdog ? kCheckFailed : kDone;
  }
  return give(
      options, "",
      find_hang(large ? read_call_trace(options.trace()) : parse_call_trace(text, options.trace())),
      seconds, answers);
}

}  // namespace

void add_hang(CLI::App& app, Action& action) {
  auto options = std::make_shared<HangOptions>();
  CLI::App* command = app.add_subcommand(
      "hang",
      "who waits for whom: calls of each rank, dumps of a job that hangs, a watchdog's log");
  command->add_option(
      "trace", options->traces,
      "JSON lines of calls, a log of PyTorch or NCCL, or a scenario (YAML); a folder "
      "or files of Flight Recorder dumps, answers of ncclras -f json");
  command->add_option("--layout", options->layout,
                      "the calls of one step of this layout file of `fabricast step`");
  command->add_option(
      "--fault", options->fault,
      "with --layout: \"rank 5 dead at call 12\", \"rank 5 skips call 12\", \"rank 5 "
      "interleaves at call 12\", \"rank 5 reorders at call 12\"");
  add_output_option(*command, "--write-trace", options->write_trace, "those calls, as JSON lines");
  add_parts_option(*command, options->parts);
  command->add_option("--timeout", options->timeout, "of the process group: the watchdog's")
      ->capture_default_str();
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, command, &action] {
    action = [options, command](Answers& answers) { return run(*options, *command, answers); };
  });
}

}  // namespace fabricast
