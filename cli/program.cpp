#include "cli/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/complete/complete.hpp"
#include "cli/help/help.hpp"
#include "cli/help/man.hpp"
#include "cli/output/streams.hpp"
#include "models/io/report/report.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

Error unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  return Error(fmt::format("unknown command \"{}\"", word), hint_nearest(word, known));
}

/// A word that the chosen command did not expect.
Error unexpected(const CLI::App& command, const std::string& word) {
  const std::string help = fmt::format("fabricast {} --help lists the options", command.get_name());
  if (!word.starts_with('-')) return Error(fmt::format("unexpected argument \"{}\"", word), help);
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& text : option->get_lnames()) known.push_back("--" + text);
  }
  const std::string near = nearest(name, known);
  return Error(about(name), fmt::format("unknown option \"{}\"", name),
               near.empty() ? help : fmt::format("did you mean \"{}\"?", near));
}

/// "--nodes: 1 required TEXT missing" and the like.
Error wrong_count(const std::string& complaint) {
  const bool repeated = complaint.find("At Most") != std::string::npos;
  return Error(option_place(complaint.substr(0, complaint.find(':'))),
               repeated ? "given more than once" : "a value is missing");
}

/// "--nodes: WHAT" of CLI11 and of our validators, which may end with a hint of ours. CLI11 passes
/// on nothing but this text.
Error wrong_value(const CLI::App* command, const std::string& complaint) {
  constexpr std::string_view kHint = "\nhint: ";
  const std::size_t colon = complaint.find(": "), end = complaint.find(kHint);
  const std::string hint =
      end == std::string::npos ? std::string() : complaint.substr(end + kHint.size());
  const std::string name = complaint.substr(0, colon);
  if (command == nullptr || command->get_option_no_throw(name) == nullptr)
    return Error(complaint.substr(0, end), hint);
  const std::size_t begin = colon + 2;
  return Error(option_place(name),
               complaint.substr(begin, end == std::string::npos ? end : end - begin), hint);
}

/// "--topology is required".
Error missing(const CLI::App& command, const std::string& complaint) {
  const std::string name = complaint.substr(0, complaint.find(' '));
  const bool is_option = name.starts_with('-') && command.get_option_no_throw(name) != nullptr;
  return Error(is_option ? about(name) : Place{}, complaint,
               fmt::format("see fabricast {} --help", command.get_name()));
}

/// CLI11's complaint in our words. What was not expected explains what is missing, so it goes
/// first.
Error parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const bool about_words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                           dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::vector<std::string> extra = app.remaining(true);
  std::erase(extra, "--");
  const auto chosen = app.get_subcommands();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wrong_count(error.what());
  if (!about_words) return wrong_value(chosen.empty() ? nullptr : chosen.front(), error.what());
  if (chosen.empty()) {
    if (extra.empty() || extra.front().starts_with('-'))
      return Error("a command is missing", "fabricast --help lists them");
    return unknown_command(app, extra.front());
  }
  if (!extra.empty()) return unexpected(*chosen.front(), extra.front());
  return missing(*chosen.front(), error.what());
}

const CLI::App* command_below(const CLI::App& command, const std::string& word) {
  const auto below =
      command.get_subcommands([&](const CLI::App* one) { return one->check_name(word); });
  return below.empty() ? nullptr : below.front();
}

/// CLI11 gives an option that has no value the next word, even where that is an option itself: of
/// `--trace=$OUT --nodes=4` without such a variable it would make a file named "--nodes=4".
void check_values(const CLI::App& app, std::span<const std::string> words) {
  const CLI::App* command = &app;
  for (; !words.empty() && words.front() != "--"; words = words.subspan(1)) {
    const std::string& word = words.front();
    if (const CLI::App* below = command_below(*command, word)) command = below;
    if (!word.starts_with('-')) continue;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const CLI::Option* option = command->get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_min() == 0) continue;
    const bool has_value = equals == std::string::npos
                               ? words.size() > 1 && !words[1].starts_with("--")
                               : equals + 1 < word.size();
    if (!has_value) throw Error(option_place(name), "a value is missing");
    if (equals == std::string::npos) words = words.subspan(1);
  }
}

/// What other programs ask, and no help lists. Nothing = it is a command like others.
std::optional<int> hidden_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const std::span<const std::string> rest = std::span(words).subspan(1);
  if (words.front() == "__complete") {
    const std::size_t begin = !rest.empty() && rest.front() == "--" ? 1 : 0;
    print_out("{}", completions_text(completions(app, rest.subspan(begin))));
  } else if (words.front() == "__man") {
    print_out("{}", man_text(app, rest));
  } else {
    return std::nullopt;
  }
  return kDone;
}

struct Command {
  std::string_view name;
  void (*add)(CLI::App&, Action&);
};
/// In the order of --help.
constexpr std::array kCommands = {
    Command{"bench", add_bench},       Command{"decide", add_decide},
    Command{"cutover", add_cutover},   Command{"upgrade", add_upgrade},
    Command{"whatif", add_whatif},     Command{"advise", add_advise},
    Command{"run", add_run},           Command{"topo", add_topo},
    Command{"lint", add_lint},         Command{"step", add_step},
    Command{"plan", add_plan},         Command{"serve", add_serve},
    Command{"validate", add_validate}, Command{"calibrate", add_calibrate},
    Command{"judge", add_judge},       Command{"gate", add_gate},
    Command{"check", add_check},       Command{"import", add_import},
    Command{"hang", add_hang},         Command{"placement", add_placement},
    Command{"list", add_list},         Command{"schema", add_schema},
    Command{"report", add_report},     Command{"sweep", add_sweep},
    Command{"query", add_query},       Command{"solve", add_solve},
    Command{"compare", add_compare},   Command{"memory", add_memory},
    Command{"experts", add_experts},
};

std::unique_ptr<CLI::App> with_commands(std::span<const Command> commands, Action& action) {
  auto app = std::make_unique<CLI::App>(
      "Fabricast: forecast what a GPU cluster will do before it is bought or booked.", "fabricast");
  app->require_subcommand(1);
  app->set_version_flag("--version", fmt::format("fabricast {}", program_version()));
  for (const Command& command : commands) command.add(*app, action);
  return app;
}

/// As much of the program as the words can mean. Options of a command are hundreds of strings:
/// where the first word names one, those of the others are not made.
std::unique_ptr<CLI::App> program_for(const std::vector<std::string>& words, Action& action,
                                      const AddCommand& own) {
  if (words == std::vector<std::string>{"--version"}) return with_commands({}, action);
  const auto named =
      words.empty() ? kCommands.end() : std::ranges::find(kCommands, words.front(), &Command::name);
  if (named == kCommands.end()) return make_program(action, own);
  std::unique_ptr<CLI::App> app = with_commands({named, 1}, action);
  lay_out_help(*app);
  return app;
}

}  // namespace

std::unique_ptr<CLI::App> make_program(Action& action, const AddCommand& own) {
  std::unique_ptr<CLI::App> app = with_commands(kCommands, action);
  if (own) own(*app, action);
  add_completion(*app, action);
  add_help(*app, action);
  lay_out_help(*app);
  return app;
}

bool has_part(const std::string& command, const std::string& word) {
  Action action;
  const std::unique_ptr<CLI::App> app = program_for({command}, action, {});
  const auto named = [](const CLI::App* whole, const std::string& name) {
    const auto parts = whole->get_subcommands({});
    const auto found = std::ranges::find(parts, name, [](auto* part) { return part->get_name(); });
    return found == parts.end() ? nullptr : *found;
  };
  const CLI::App* const chosen = named(app.get(), command);
  return chosen != nullptr && named(chosen, word) != nullptr;
}

void parse_words(CLI::App& app, const std::vector<std::string>& words) {
  check_values(app, words);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    throw parse_error(app, error);
  }
}

int run_program(const std::vector<std::string>& words, Answers& answers, const Parsed& parsed,
                const AddCommand& own) {
  Action action;
  const std::unique_ptr<CLI::App> app = program_for(words, action, own);
  if (const std::optional<int> code = hidden_command(*app, words)) return *code;
  try {
    parse_words(*app, words);
  } catch (const CLI::Success& error) {
    std::ostringstream text;  // --help, --version
    app->exit(error, text, text);
    if (answers.prints) write_out(text.str());
    return kDone;
  }
  const CLI::App* command = app->get_subcommands().front();
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  if (const CLI::Option* jobs = command->get_option_no_throw("--jobs"); jobs && !jobs->empty())
    answers.jobs = jobs->as<int>();
  if (parsed) parsed(*command);
  return action(answers);
}

}  // namespace fabricast
