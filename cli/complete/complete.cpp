#include "cli/complete/complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/help/help.hpp"
#include "cli/options/values.hpp"
#include "cli/output/streams.hpp"
#include "models/io/shipped/embedded.hpp"

namespace fabricast {

namespace {

constexpr int kMany = 1 << 20;

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool may_be_repeated(const CLI::Option& option) {
  return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll && takes_value(option);
}

/// The command of a name below another; nullptr = there is none.
const CLI::App* below_of(const CLI::App& command, const std::string& name) {
  for (const CLI::App* below : command.get_subcommands({}))
    if (below->get_name() == name) return below;
  return nullptr;
}

/// The words up to the one that is typed, as the parser would take them.
struct Typed {
  const CLI::App* command;
  std::string name;                            ///< "sweep status"; "" at first
  const CLI::Option* waiting = nullptr;        ///< takes the next word
  int missing = 0;                             ///< so many of them
  int positionals = 0;                         ///< words that are none of an option
  bool only_positionals = false;               ///< after "--"
  std::vector<const CLI::Option*> there = {};  ///< options

  void take(const std::string& word);

 private:
  bool take_option(const std::string& word);
};

bool Typed::take_option(const std::string& word) {
  const std::size_t equals = word.find('=');
  const CLI::Option* const option = command->get_option_no_throw(word.substr(0, equals));
  if (option == nullptr) return false;
  there.push_back(option);
  if (equals != std::string::npos || !takes_value(*option)) return true;
  waiting = option;
  missing = std::min(option->get_items_expected_max(), kMany);
  return true;
}

void Typed::take(const std::string& word) {
  const bool is_option = word.size() > 1 && word.starts_with('-') && !only_positionals;
  const bool may_end = waiting != nullptr && missing < waiting->get_items_expected_max();
  if (waiting != nullptr && !(is_option && may_end)) {
    if (--missing == 0) waiting = nullptr;
    return;
  }
  waiting = nullptr;
  if (word == "--") {
    only_positionals = true;
  } else if (is_option) {
    take_option(word);
  } else if (const CLI::App* const below = positionals == 0 ? below_of(*command, word) : nullptr) {
    name += (name.empty() ? "" : " ") + word;
    *this = Typed{below, name};
  } else {
    ++positionals;
  }
}

/// The positional argument that the next word would be; nullptr = none is left.
const CLI::Option* next_positional(const Typed& typed) {
  int left = typed.positionals;
  for (const CLI::Option* option : typed.command->get_options()) {
    if (!option->get_positional()) continue;
    left -= std::min(option->get_items_expected_max(), kMany);
    if (left < 0) return option;
  }
  return nullptr;
}

std::vector<Completion> options_of(const Typed& typed) {
  std::vector<Completion> out;
  for (const CLI::Option* option : typed.command->get_options()) {
    const bool is_there = std::ranges::find(typed.there, option) != typed.there.end();
    if (option->get_positional() || (is_there && !may_be_repeated(*option))) continue;
    for (const std::string& name : option->get_lnames())
      out.push_back({"--" + name, option->get_description()});
  }
  return out;
}

std::vector<Completion> arguments_of(const Typed& typed, const std::string& word) {
  std::vector<Completion> out;
  if (typed.positionals == 0)
    for (const CLI::App* below : typed.command->get_subcommands({}))
      out.push_back({below->get_name(), below->get_description()});
  out = that_begin(std::move(out), word);
  if (const CLI::Option* const option = next_positional(typed)) {
    const std::vector<Completion> values = values_of(typed.name, *option, word);
    out.insert(out.end(), values.begin(), values.end());
  }
  if (out.empty() && word.empty() && !typed.only_positionals) return options_of(typed);
  return out;
}

/// Commands and topics, for `help`.
std::vector<Completion> subjects_of_help(const CLI::App& program, const Typed& typed) {
  const bool is_first = typed.positionals == 0;
  std::vector<Completion> out;
  for (const CLI::App* command : program.get_subcommands({}))
    if (is_first) out.push_back({command->get_name(), command->get_description()});
  for (const std::string& topic : help_topics())
    if (is_first) out.push_back({topic, "topic"});
  return out;
}

/// "--topology=dg"
std::vector<Completion> assigned_option(const Typed& typed, const std::string& word) {
  const std::size_t equals = word.find('=');
  const CLI::Option* const option = typed.command->get_option_no_throw(word.substr(0, equals));
  if (option == nullptr || !takes_value(*option)) return {};
  std::vector<Completion> out = values_of(typed.name, *option, word.substr(equals + 1));
  for (Completion& one : out) one.word.insert(0, word.substr(0, equals + 1));
  return out;
}

const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

std::string shell_script(const std::string& shell) {
  const std::string name = "fabricast." + shell;
  const EmbeddedFile* found = find_embedded(embedded_texts(), name);
  return found == nullptr ? "" : std::string(found->text);
}

}  // namespace

std::vector<Completion> completions(const CLI::App& program, std::span<const std::string> words) {
  if (words.empty()) return {};
  const std::string& word = words.back();
  Typed typed{&program, ""};
  for (const std::string& before : words.first(words.size() - 1)) typed.take(before);
  const bool is_option = word.starts_with('-') && !typed.only_positionals;
  if (typed.waiting != nullptr && !is_option) return values_of(typed.name, *typed.waiting, word);
  if (!is_option && typed.name == "help") return that_begin(subjects_of_help(program, typed), word);
  if (!is_option) return arguments_of(typed, word);
  if (word.starts_with("--") && word.find('=') != std::string::npos)
    return assigned_option(typed, word);
  return that_begin(options_of(typed), word);
}

std::string completions_text(const std::vector<Completion>& found) {
  std::string out;
  for (const Completion& one : found) {
    std::string what = one.what;
    std::ranges::replace_if(
        what, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    if (one.word.find_first_of("\n\t") == std::string::npos)
      out += fmt::format("{}\t{}\n", one.word, what);
  }
  return out;
}

void add_completion(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "the script that lets a shell complete commands, options and their values");
  command->add_option("shell", *shell, "whose script")->required()->check(one_of(kShells));
  command->callback([shell, &action] {
    action = [shell](Answers&) {
      print_out("{}", shell_script(*shell));
      return kDone;
    };
  });
}

}  // namespace fabricast
