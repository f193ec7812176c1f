#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/pages/page.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

struct ReportOptions {
  std::vector<std::string> files;
};

/// A report that some command wrote.
PagePart part_of(const std::string& text, const std::string& file) {
  const auto hint = "fabricast COMMAND --format json > FILE.json, or --html FILE.html";
  Json report = Json::parse(text, nullptr, false);
  if (report.is_discarded()) throw Error(Place{file, 0, {}}, "is no JSON", hint);
  const bool has_all = report.is_object() && report.contains("schema_version") &&
                       report.contains("study") && report.contains("tables");
  if (!has_all)
    throw Error(Place{file, 0, {}}, "is no report: it has no schema_version, study and tables",
                hint);
  if (report["schema_version"] != kSchemaVersion)
    throw Error(Place{file, 0, "schema_version"},
                fmt::format("{} is not {}", report["schema_version"].dump(), kSchemaVersion),
                "make the report again with this version");
  if (!report["study"].is_string() || !report["tables"].is_array())
    throw Error(Place{file, 0, {}}, "is no report: study is a text, tables are a list", hint);
  Json machine = machine_json(report.value("job", Json::object()));
  return {"fabricast report " + shell_word(file) + " --html FILE.html", std::move(report),
          std::move(machine)};
}

int run(const ReportOptions& options, const Answers& answers) {
  for (const std::string& file : options.files) {
    const std::string text = read_text_file(file, "a report that a command wrote");
    if (!is_page(text)) {
      answers.also(part_of(text, file));
      continue;
    }
    for (PagePart& part : parts_of_page(text, file)) answers.also(std::move(part));
  }
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "one page of several results, to be passed on");
  command
      ->add_option("results", options->files,
                   "files of --format json, --json or --html of other commands")
      ->required();
  add_html_option(*command)->required()->description("the page to write");
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
