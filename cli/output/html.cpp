#include "cli/output/html.hpp"

#include "cli/output/streams.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

std::string path_of(const CLI::App& command) {
  const CLI::Option* const option = command.get_option_no_throw("--html");
  return option == nullptr || option->count() == 0 ? std::string() : option->results().front();
}

}  // namespace

std::string typed_command(const std::vector<std::string>& words) {
  std::string out = "fabricast";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--html=")) continue;
    if (words[i] == "--html") {
      ++i;
      continue;
    }
    out += " " + shell_word(words[i]);
  }
  return out;
}

HtmlOutput::HtmlOutput(const CLI::App& command, const std::vector<std::string>& words)
    : path_(path_of(command)), typed_(typed_command(words)) {
  if (!path_.empty()) outputs_.emplace(command);
}

void HtmlOutput::listen(Answers& answers) {
  if (path_.empty()) return;
  answers.also = [this](PagePart part) {
    if (part.command.empty()) part.command = typed_;
    parts_.push_back(std::move(part));
  };
}

void HtmlOutput::write() {
  if (path_.empty()) return;
  if (parts_.empty())
    throw Error(option_place("--html"), "this has no report to show",
                "leave out what lists or explains");
  const std::string page = report_page(parts_);
  outputs_->write(path_, [&](std::ostream& out) {
    out.write(page.data(), static_cast<std::streamsize>(page.size()));
  });
  outputs_->commit();
  print_err("{}: for a browser\n", path_);
}

}  // namespace fabricast
