// Reads the command line, calls one command, prints. Errors end here.

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/commands.hpp"
#include "models/io/words.hpp"
#include "sim/error.hpp"

namespace fabricast {

namespace {

/// The nearest option of the command that was meant, for a word nobody expected.
std::string hint_for(const CLI::App& app, const std::string& word) {
  const auto chosen = app.get_subcommands();
  std::vector<std::string> known;
  if (chosen.empty()) {
    for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  } else {
    for (const CLI::Option* option : chosen.front()->get_options())
      if (!option->get_lnames().empty()) known.push_back("--" + option->get_lnames().front());
  }
  const std::string near = nearest(word.substr(0, word.find('=')), known);
  return near.empty() ? "" : fmt::format("hint: did you mean \"{}\"?\n", near);
}

int parse_failed(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  fmt::print(stderr, "fabricast: {}\n", error.what());
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (std::string(error.what()).find(word.substr(0, word.find('='))) == std::string::npos &&
          !(i == 1 && app.get_subcommands().empty()))
        continue;
      fmt::print(stderr, "{}", hint_for(app, word));
      break;
    }
  }
  return kInputWrong;
}

int run(int argc, char** argv) {
  CLI::App app{"Fabricast: forecast what a GPU cluster will do before it is bought or booked."};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("fabricast ") + FABRICAST_VERSION);
  Action action;
  add_bench(app, action);
  add_run(app, action);
  add_topo(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_failed(app, error, argc, argv);
  }
  return action();
}

}  // namespace
}  // namespace fabricast

int main(int argc, char** argv) {
  try {
    const int code = fabricast::run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      std::fputs("fabricast: the output could not be written\n", stderr);
      return fabricast::kOwnFault;
    }
    return code;
  } catch (const fabricast::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return fabricast::kInputWrong;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fabricast: internal error: {}\nPlease report this with the command line and its input files.\n",
               error.what());
    return fabricast::kOwnFault;
  }
}
