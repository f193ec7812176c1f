// Reads the command line, calls one command, prints. Errors end here.

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/streams.hpp"
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
  return Error(fmt::format("unknown option \"{}\"", name),
               near.empty() ? help : fmt::format("did you mean \"{}\"?", near));
}

/// "--nodes: 1 required TEXT missing" and the like.
Error wrong_count(const std::string& complaint) {
  const bool repeated = complaint.find("At Most") != std::string::npos;
  return Error(fmt::format("{}: {}", complaint.substr(0, complaint.find(':')),
                           repeated ? "given more than once" : "a value is missing"));
}

/// CLI11's complaint in our words. What was not expected explains what is missing, so it goes
/// first.
Error parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const bool about_words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                           dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::vector<std::string> extra = app.remaining(true);
  const auto chosen = app.get_subcommands();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wrong_count(error.what());
  if (!about_words) return Error(error.what());
  if (chosen.empty()) {
    if (extra.empty() || extra.front().starts_with('-'))
      return Error("a command is missing", "fabricast --help lists them");
    return unknown_command(app, extra.front());
  }
  if (!extra.empty()) return unexpected(*chosen.front(), extra.front());
  return Error(error.what(), fmt::format("see fabricast {} --help", chosen.front()->get_name()));
}

int run(int argc, char** argv) {
  CLI::App app{"Fabricast: forecast what a GPU cluster will do before it is bought or booked.",
               "fabricast"};
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("fabricast {}", program_version()));
  Action action;
  add_bench(app, action);
  add_decide(app, action);
  add_cutover(app, action);
  add_upgrade(app, action);
  add_whatif(app, action);
  add_advise(app, action);
  add_run(app, action);
  add_topo(app, action);
  add_lint(app, action);
  add_step(app, action);
  add_plan(app, action);
  add_serve(app, action);
  add_validate(app, action);
  add_calibrate(app, action);
  add_judge(app, action);
  add_check(app, action);
  add_import(app, action);
  add_hang(app, action);
  add_list(app, action);
  lay_out_help(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw parse_error(app, error);
    std::ostringstream text;  // --help, --version
    app.exit(error, text, text);
    write_out(text.str());
    return kDone;
  }
  return action();
}

}  // namespace
}  // namespace fabricast

int main(int argc, char** argv) {
  using namespace fabricast;
  prepare_streams();
  try {
    const int code = run(argc, argv);
    flush_out();
    return code;
  } catch (const Error& error) {
    print_err("{}{}\n", error.place().file.empty() ? "fabricast: " : "", error.what());
    return kInputWrong;
  } catch (const ReaderLeft&) {
    return kOwnFault;
  } catch (const OutputError& error) {
    print_err("fabricast: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    print_err("fabricast: out of memory: ask for fewer nodes, or for smaller messages\n");
  } catch (const std::filesystem::filesystem_error& error) {
    print_err("{}: {}\n", error.path1().native(), error.code().message());
    return kInputWrong;
  } catch (const std::exception& error) {
    print_err(
        "fabricast: internal error: {}\n"
        "Please report this with the command line and its input files.\n",
        error.what());
  }
  return kOwnFault;
}
