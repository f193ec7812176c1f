#include "cli/answers.hpp"

#include "cli/streams.hpp"
#include "cli/values.hpp"

namespace fabricast {

CLI::Option* add_format_option(CLI::App& command, std::string& format) {
  return command.add_option("--format", format)
      ->check(one_of({"text", "csv", "json"}))
      ->capture_default_str();
}

void print_answer(const std::string& format, const std::function<std::string()>& page,
                  const std::function<Report()>& report) {
  if (format == "text") {
    print_out("{}", page());
  } else if (format == "json") {
    print_out("{}", report_json(report()));
  } else {
    const Report answer = report();
    for (const std::string& note : answer.notes) print_err("note: {}\n", note);
    print_out("{}", report_csv(answer));
  }
}

}  // namespace fabricast
