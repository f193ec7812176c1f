// Reads the command line, calls one command, prints. Errors end here.

#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output/html.hpp"
#include "cli/output/streams.hpp"
#include "cli/program.hpp"
#include "sim/base/error.hpp"

namespace fabricast {
namespace {

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Answers answers;
  std::optional<HtmlOutput> html;
  const auto parsed = [&](const CLI::App& command) {
    html.emplace(command, words).listen(answers);
  };
  const int code = run_program(words, answers, parsed, add_ui);
  if (html) html->write();
  return code;
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
