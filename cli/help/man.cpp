#include "cli/help/man.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "cli/help/help.hpp"
#include "models/io/report/report.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

/// Text as roff takes it literally.
std::string roff(std::string_view text) {
  std::string out;
  bool at_begin = true;
  for (const char c : text) {
    if (at_begin && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_begin = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string page_name(std::string command) {
  std::ranges::replace(command, ' ', '-');
  return command;
}

std::string heading(const std::string& title) { return ".SH " + roff(upper(title)) + "\n"; }

/// Lines as they are.
std::string literal(std::string_view text) { return fmt::format(".nf\n{}\n.fi\n", roff(text)); }

/// A paragraph of an option, an argument or a command.
std::string entry(std::string_view name, std::string_view takes, std::string_view what) {
  std::string out = fmt::format(".TP\n\\fB{}\\fR", roff(name));
  if (!takes.empty()) out += " " + roff(takes);
  return out + "\n" + roff(what.empty() ? "see above" : what) + "\n";
}

std::string option_entry(const CLI::Option& option) {
  const std::string takes = CLI::Formatter().make_option_opts(&option);
  return entry(option.get_name(option.get_positional(), true), trimmed(takes),
               option.get_description());
}

/// Options in the groups of --help, arguments first.
std::string options_text(const CLI::App& command) {
  std::string arguments, out;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) arguments += option_entry(*option);
  if (!arguments.empty()) out += heading("Arguments") + arguments;
  for (const std::string& group : command.get_groups()) {
    std::string entries;
    for (const CLI::Option* option : command.get_options())
      if (option->get_group() == group && option->nonpositional()) entries += option_entry(*option);
    if (!entries.empty()) out += heading(group) + entries;
  }
  return out;
}

std::string commands_text(const CLI::App& command) {
  std::string out;
  for (const CLI::App* below : command.get_subcommands({}))
    out += entry(below->get_name(), "", below->get_description());
  return out.empty() ? out : heading("Commands") + out;
}

std::string synopsis(const CLI::App& command, const std::string& name) {
  std::string out = fmt::format("{}.B {}\n[\\fIOPTIONS\\fR]", heading("Synopsis"), roff(name));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string argument = CLI::Formatter().make_option_usage(option);
    out += " " + roff(argument);
  }
  if (!command.get_subcommands({}).empty()) out += " \\fICOMMAND\\fR ...";
  return out + "\n";
}

std::string examples_text(const CLI::App& command) {
  constexpr std::string_view kTitle = "Examples:\n";
  const std::string footer = command.get_footer();
  const std::size_t at = footer.find(kTitle);
  if (at == std::string::npos) return "";
  return heading("Examples") + literal(std::string_view(footer).substr(at + kTitle.size()));
}

/// Of the program's own page: the topics of `help`, and the other pages.
std::string rest_of_program(const CLI::App& program) {
  std::string out, pages;
  for (const std::string& topic : help_topics()) out += heading(topic) + literal(topic_text(topic));
  for (const CLI::App* command : program.get_subcommands({}))
    pages += fmt::format("{}.BR {} (1)", pages.empty() ? "" : " ,\n",
                         roff("fabricast-" + command->get_name()));
  return out + heading("See also") + pages + "\n";
}

void list_commands(const CLI::App& command, const std::string& name, std::string& out) {
  out += name + "\n";
  for (const CLI::App* below : command.get_subcommands({}))
    list_commands(*below, name.empty() ? below->get_name() : name + " " + below->get_name(), out);
}

}  // namespace

std::string man_text(const CLI::App& program, std::span<const std::string> words) {
  if (words.size() == 1 && words.front() == "--list") {
    std::string out;
    list_commands(program, "", out);
    return out;
  }
  const FoundCommand found = find_command(program, words);
  const CLI::App& command = *found.command;
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"fabricast {}\" \"Fabricast\"\n.ad l\n{}{} \\- {}\n{}",
      roff(upper(page_name(found.name))), roff(program_version()), heading("Name"),
      roff(page_name(found.name)), roff(command.get_description()), synopsis(command, found.name));
  out += commands_text(command) + options_text(command) + examples_text(command);
  if (found.command == &program) return out + rest_of_program(program);
  return out + heading("See also") + ".BR fabricast (1)\n";
}

}  // namespace fabricast
