#include <exception>
#include <optional>
#include <utility>

#include "cli/output/html.hpp"
#include "cli/output/streams.hpp"
#include "cli/program.hpp"
#include "library/report_content.hpp"
#include "library/translate.hpp"
#include "library/words.hpp"
#include "text/quoting.hpp"

namespace fabricast::api {
namespace {

/// Passes on what is said. Whoever says it can do nothing about a listener that throws: that comes
/// out when the answer is there.
class Said {
 public:
  explicit Said(const Listener& listener) : listener_(listener) {}

  void tell(std::string_view text) {
    if (!listener_.said || failure_) return;
    try {
      listener_.said(utf8_text(text));
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void end() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const Listener& listener_;
  std::exception_ptr failure_;
};

std::shared_ptr<const Report::Content> content_of(const std::vector<std::string>& words,
                                                  const Listener& listener) {
  auto out = std::make_shared<Report::Content>();
  out->study = utf8_text(words.front());
  out->command = utf8_text(typed_command(words));
  Answers answers;
  answers.prints = false;
  answers.progress = listener.progress ? listener.progress : [](double) {};
  answers.poll = listener.poll;
  answers.as_report = [&](const fabricast::Report& report) { out->keep(report); };
  Said said(listener);
  const StreamListener streams([&](std::string_view text) { out->text += utf8_text(text); },
                               [&](std::string_view text) { said.tell(text); });
  std::optional<HtmlOutput> html;
  const int code = run_program(words, answers, [&](const CLI::App& command) {
    html.emplace(command, words).listen(answers);
  });
  if (html) html->write();
  said.end();
  answers.progress(1);
  out->holds = code == kDone;
  return out;
}

}  // namespace

Report ask(const Job& job, const Listener& listener) {
  return translated([&] { return Report(content_of(words_of(job), listener)); });
}

}  // namespace fabricast::api
