#include "models/nccl/environment/env.hpp"

#include <algorithm>

#include "models/nccl/environment/env_values.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_name(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view without_blanks_around(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

struct Assignment {
  std::string_view name, value;
};

/// What a value must not hold; tabs it may.
std::optional<std::string> forbidden_in(std::string_view value) {
  std::optional<std::string> found;
  while (!found && !value.empty()) {
    const std::size_t tab = std::min(value.find('\t'), value.size());
    found = control_in(value.substr(0, tab));
    value.remove_prefix(std::min(tab + 1, value.size()));
  }
  return found;
}

void check_name(std::string_view name, const Place& place) {
  if (is_name(name)) return;
  const bool blanks = is_name(without_blanks_around(name));
  throw Error(place, "\"" + std::string(name) + "\" is not a variable's name",
              blanks ? "no blanks around =" : "letters, digits and _, not starting with a digit");
}

void check_value(std::string_view name, std::string_view value, const Place& place) {
  if (const auto found = forbidden_in(value))
    throw Error(place, "the value of " + std::string(name) + " holds " + *found, "leave it out");
}

Assignment split_assignment(std::string_view text, const Place& place) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw Error(place, "\"" + std::string(text) + "\" is not an assignment",
                "write NAME=value, e.g. NCCL_ALGO=Ring");
  }
  const std::string_view name = text.substr(0, equals);
  check_name(name, place);
  return {name, text.substr(equals + 1)};
}

/// The value as a file writes it: quotes off, a comment behind it dropped.
std::string_view file_value(std::string_view text, const Place& place) {
  text = without_blanks_around(text);
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
    const std::size_t end = text.find(text.front(), 1);
    if (end == std::string_view::npos) {
      throw Error(place, "a quote is not closed: " + std::string(text));
    }
    const std::string_view rest = without_blanks_around(text.substr(end + 1));
    if (!rest.empty() && rest.front() != '#') {
      throw Error(place, "text after the closing quote: " + std::string(rest),
                  "one variable a line, the whole value in quotes");
    }
    return text.substr(1, end - 1);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || is_blank(text[i - 1]))) {
      text = without_blanks_around(text.substr(0, i));
      break;
    }
  }
  for (std::size_t i = text.find(' '); i != std::string_view::npos; i = text.find(' ', i + 1)) {
    const std::string_view next = text.substr(i + 1);
    if (is_name(next.substr(0, std::min(next.find('='), next.size()))) &&
        next.find('=') != std::string_view::npos) {
      throw Error(place, "several variables in one line: " + std::string(text),
                  "one variable a line, or quotes around a value with blanks");
    }
  }
  return text;
}

}  // namespace

void Environment::set(std::string_view assignment) {
  const Assignment a = split_assignment(assignment, Place{});
  set(a.name, a.value);
}

bool is_settable(std::string_view name, std::string_view value) {
  return is_name(name) && !forbidden_in(value);
}

void Environment::set(std::string_view name, std::string_view value) {
  check_name(name, Place{});
  check_value(name, value, Place{});
  const auto known =
      std::ranges::find(variables_, name, &std::pair<std::string, std::string>::first);
  if (known != variables_.end()) {
    known->second = value;
    places_.erase(known->first);
  } else {
    variables_.emplace_back(name, value);
  }
}

void Environment::unset(std::string_view name) {
  std::erase_if(variables_, [&](const auto& variable) { return variable.first == name; });
  if (const auto place = places_.find(name); place != places_.end()) places_.erase(place);
}

void Environment::read_text(std::string_view text, const std::string& file) {
  Place place{file, 0, {}};
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++place.line;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = without_blanks_around(line);
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("export ") || line.starts_with("export\t")) {
      line = without_blanks_around(line.substr(7));
    }
    const Assignment a = split_assignment(line, place);
    const std::string_view value = file_value(a.value, place);
    check_value(a.name, value, place);
    set(a.name, value);
    places_[std::string(a.name)] = place;
  }
}

Place Environment::place_of(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? about("--env") : found->second;
}

std::optional<std::string_view> Environment::get(std::string_view name) const {
  for (const auto& [known, value] : variables_) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Environment::not_acted_on() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables_) {
    if (name.starts_with("NCCL_") && !is_known(name)) names.push_back(name);
  }
  return names;
}

}  // namespace fabricast
