#include <algorithm>

#include "cli/program.hpp"
#include "fabricast/fabricast.hpp"

namespace fabricast::api {
namespace {

/// What a command of the program has that makes no sense to whoever has its answer in hand.
bool is_of_program(const std::string& name) {
  return name == "help" || name == "format" || name == "html";
}

StudyOption option_of(const CLI::Option& option) {
  StudyOption out;
  out.is_argument = option.get_lnames().empty() && option.get_snames().empty();
  out.name = out.is_argument               ? option.get_name()
             : option.get_lnames().empty() ? option.get_snames().front()
                                           : option.get_lnames().front();
  if (!option.get_snames().empty()) out.letter = option.get_snames().front();
  out.help = option.get_description();
  out.is_flag = option.get_items_expected_max() == 0;
  if (!out.is_flag) out.type = option.get_type_name();
  out.preset = option.get_default_str();
  out.group = option.get_group();
  out.is_required = option.get_required();
  out.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll ||
                option.get_items_expected_max() > 1;
  return out;
}

void add(const CLI::App& command, const std::string& before, std::vector<Study>& to) {
  Study study{before + command.get_name(), command.get_description(), {}};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    StudyOption one = option_of(*option);
    if (!is_of_program(one.name)) study.options.push_back(std::move(one));
  }
  to.push_back(std::move(study));
  const std::string name = before + command.get_name() + " ";
  for (const CLI::App* part : command.get_subcommands({})) add(*part, name, to);
}

}  // namespace

std::vector<Study> studies() {
  Action action;
  const std::unique_ptr<CLI::App> program = make_program(action);
  std::vector<Study> out;
  for (const CLI::App* command : program->get_subcommands({})) add(*command, {}, out);
  return out;
}

}  // namespace fabricast::api
