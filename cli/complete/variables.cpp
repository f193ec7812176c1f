#include "cli/complete/values.hpp"
#include "models/io/workloads/load_variables.hpp"

namespace fabricast {

namespace {

bool is_list(VariableType type) {
  return type == VariableType::words || type == VariableType::algorithms ||
         type == VariableType::protocols;
}

std::vector<Completion> words_of(const Variable& variable) {
  std::vector<Completion> out;
  const bool is_number = variable.type == VariableType::boolean;
  if (is_number || variable.type == VariableType::torch_bool)
    return {{"0", is_number ? "off" : "no"}, {"1", is_number ? "on" : "yes"}};
  for (const std::string& word : variable.words_in(kNewestSearched)) out.push_back({word, ""});
  return out;
}

}  // namespace

std::vector<Completion> values_of_variable(const std::string& name, const std::string& typed) {
  const VariableCatalogue catalogue = load_variables();
  const Variable* const variable = catalogue.find(name);
  if (variable == nullptr) return {};
  if (variable->type == VariableType::path) return files_like(typed, "");
  if (!is_list(variable->type)) return that_begin(words_of(*variable), typed);
  const bool excludes = typed.starts_with('^');  // all but these
  std::vector<Completion> out = in_list(words_of(*variable), typed.substr(excludes ? 1 : 0));
  for (Completion& one : out) one.word.insert(0, excludes ? "^" : "");
  return out;
}

std::vector<Completion> variables_like(const std::string& typed, bool assigned) {
  const std::size_t equals = typed.find('=');
  if (assigned && equals != std::string::npos) {
    std::vector<Completion> out =
        values_of_variable(typed.substr(0, equals), typed.substr(equals + 1));
    for (Completion& one : out) one.word.insert(0, typed.substr(0, equals + 1));
    return out;
  }
  std::vector<Completion> out;
  const VariableCatalogue catalogue = load_variables();
  for (const Variable& variable : catalogue.all()) {
    const bool is_read = variable.reader != VariableReader::nobody && !variable.until;
    if (variable.is_family() || !is_read) continue;
    out.push_back({variable.name + (assigned ? "=" : ""), variable.effect});
  }
  return that_begin(std::move(out), typed);
}

}  // namespace fabricast
