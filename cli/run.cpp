#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/options/job_options.hpp"
#include "cli/output/answers.hpp"
#include "cli/workers.hpp"
#include "models/io/formats/question_kinds.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/studies/questions/question.hpp"

namespace fabricast {

namespace {

struct RunOptions {
  std::string file, format = "text";
};

int run(const RunOptions& options, const Answers& answers) {
  const Question question = parse_question(
      read_text_file(options.file, "give the path of a question file"), options.file);
  Answer answer;
  {
    Progress progress(answers);
    answer = question.answer(on_all_cores(answers, {}), progress.callback());
  }
  say_what_does_not_act(question.jobs);
  answers.give(options.format, answer.page, answer.report);
  return answer.holds ? kDone : kCheckFailed;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "answer the question written down in a file");
  command
      ->add_option("file", options->file,
                   fmt::format("YAML file whose kind is one of {}",
                               fmt::join(kQuestionKindWords.words, ", ")))
      ->required();
  add_answer_options(*command, options->format);
  add_jobs_option(*command);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
