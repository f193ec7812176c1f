#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output/answers.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/pages/page.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

struct ReportOptions {
  std::vector<std::string> files;
};

int run(const ReportOptions& options, const Answers& answers) {
  for (const std::string& file : options.files) {
    const std::string text = read_text_file(file, "a report that a command wrote");
    if (!is_page(text)) {
      PagePart part = read_part(text, file);
      part.command = "fabricast report " + shell_word(file) + " --html FILE.html";
      answers.also(std::move(part));
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
