#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/help/help.hpp"
#include "cli/output/streams.hpp"
#include "models/io/shipped/embedded.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::string_view kTopicEnding = ".txt";

}  // namespace

std::vector<std::string> help_topics() {
  std::vector<std::string> out;
  for (const EmbeddedFile& file : embedded_texts())
    if (file.name.ends_with(kTopicEnding))
      out.emplace_back(file.name.substr(0, file.name.size() - kTopicEnding.size()));
  return out;
}

std::string_view topic_text(const std::string& topic) {
  const std::string name = topic + std::string(kTopicEnding);
  return find_embedded(embedded_texts(), name)->text;
}

FoundCommand find_command(const CLI::App& program, std::span<const std::string> words) {
  FoundCommand out{&program, program.get_name()};
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> below = out.command->get_subcommands({});
    const auto found = std::ranges::find(below, word, [](auto* one) { return one->get_name(); });
    if (found == below.end()) {
      std::vector<std::string> known;
      for (const CLI::App* one : below) known.push_back(one->get_name());
      if (out.command == &program) std::ranges::copy(help_topics(), std::back_inserter(known));
      throw Error(fmt::format("unknown command or topic \"{}\"", word), hint_nearest(word, known));
    }
    out.name += " " + word;
    out.command = *found;
  }
  return out;
}

void add_help(CLI::App& app, Action& action) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "the help of a command, or of a topic");
  command->add_option(
      "subject", *words,
      fmt::format("a command, or one of the topics {}", fmt::join(help_topics(), ", ")));
  command->callback([words, &app, &action] {
    action = [words, &app](Answers&) {
      const std::vector<std::string> known = help_topics();
      const bool is_topic =
          words->size() == 1 && std::ranges::find(known, words->front()) != known.end();
      if (is_topic) {
        print_out("{}", topic_text(words->front()));
      } else {
        const auto [asked, name] = find_command(app, *words);
        print_out("{}", asked->get_formatter()->make_help(asked, name, {}));
      }
      return kDone;
    };
  });
}

}  // namespace fabricast
