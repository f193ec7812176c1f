#include "cli/output/answers.hpp"

#include "cli/options/values.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"

namespace fabricast {

void Answers::give(const std::string& format, const Text& page, const MakeReport& report) const {
  if (prints && format == "text") print_out("{}", page());
  if (!also && !as_report && (!prints || format == "text")) return;
  const Report answer = report();
  if (prints && format == "json") print_out("{}", report_json(answer));
  if (prints && format == "csv") {
    for (const std::string& note : answer.notes) print_err("note: {}\n", note);
    print_out("{}", report_csv(answer));
  }
  if (also) also(part_of(answer));
  if (as_report) as_report(answer);
}

void Answers::give(const MakeReport& report) const {
  if (!also && !as_report) return;
  const Report answer = report();
  if (also) also(part_of(answer));
  if (as_report) as_report(answer);
}

CLI::Option* add_format_option(CLI::App& command, std::string& format) {
  return command.add_option("--format", format)
      ->check(one_of({"text", "csv", "json"}))
      ->capture_default_str();
}

CLI::Option* add_html_option(CLI::App& command) {
  return add_output_option(
      command, "--html",
      "also write a page with pictures to this file, for a browser; it holds the JSON");
}

CLI::Option* add_answer_options(CLI::App& command, std::string& format) {
  add_html_option(command);
  return add_format_option(command, format);
}

}  // namespace fabricast
