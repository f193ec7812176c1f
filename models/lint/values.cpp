#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string>

#include "models/lint/rules.hpp"
#include "models/nccl/base/releases.hpp"
#include "text/words.hpp"

namespace fabricast::lint_rules_detail {

namespace {

constexpr std::string_view kParam = "NCCL 2.21.5 src/misc/param.cc (strtoll, base 0)";

enum class Word { none, on, off };

Word word_of(std::string_view text) {
  const std::string lower = lower_case(text);
  constexpr std::array<std::string_view, 6> on = {"true", "yes", "on", "enable", "enabled", "y"};
  constexpr std::array<std::string_view, 6> off = {"false",   "no",       "off",
                                                   "disable", "disabled", "n"};
  if (std::ranges::find(on, lower) != on.end()) return Word::on;
  return std::ranges::find(off, lower) != off.end() ? Word::off : Word::none;
}

bool takes_word(const VariableReading& reading, std::string_view value) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  return std::ranges::any_of(reading.words, [&](const std::string& word) {
    return std::ranges::equal(word, value, {}, {}, upper);
  });
}

/// A switch that the release reads by its words and not as a number. True when it is one.
bool check_switch_words(Sheet& sheet, const Setting& s) {
  const VariableReading* reading = s.variable->reading_in(sheet.input.version);
  const bool by_words = reading != nullptr && !reading->words.empty();
  if (!by_words || takes_word(*reading, s.value())) return by_words;
  const std::string release = nccl_release_text(sheet.input.version);
  const bool collnet = s.name() == "NCCL_COLLNET_ENABLE";
  const bool says_on = word_of(s.value()) == Word::on || number_text(s.value()).value == 1;
  Finding& f = sheet.add(
      collnet ? "FL013" : "FL011", says_on ? Severity::error : Severity::warning, s,
      collnet ? fmt::format("{}: in {} only the text 1 switches CollNet on", shown(s), release)
              : fmt::format("{}: {} knows no such word and keeps its default", shown(s), release));
  f.reason = collnet ? "since NCCL 2.27.3 it is read as an integer" : reading->text;
  f.source = reading->source;
  if (says_on) f.suggestion = fmt::format("{}=1", s.name());
  return true;
}

void wrong_switch(Sheet& sheet, const Setting& s, Word word) {
  const bool on = word == Word::on;
  Finding& f =
      sheet.add("FL011", on ? Severity::error : Severity::warning, s,
                on ? fmt::format("{}: NCCL reads 0, the opposite", shown(s))
                   : fmt::format("{}: NCCL reads 0, which is right by accident", shown(s)));
  f.reason = "words are no numbers: true, yes and on are all 0, without a message";
  const std::string later = first_that_takes(
      s, sheet.input.version,
      [&](const VariableReading& reading) { return takes_word(reading, s.value()); });
  if (!later.empty()) f.reason += "; " + later;
  f.source = kParam;
  f.suggestion = fmt::format("{}={}", s.name(), on ? 1 : 0);
}

/// "4M" -> 4194304, of a variable that counts bytes; 0 when the tail is no unit of them.
std::int64_t with_unit(const NumberText& number, std::string_view text) {
  const std::size_t tail = text.find_first_not_of("0123456789 ");
  if (tail == std::string_view::npos || number.value <= 0 || number.value > 1 << 20) return 0;
  switch (text[tail]) {
    case 'k':
    case 'K':
      return number.value << 10;
    case 'm':
    case 'M':
      return text.substr(tail).starts_with("ms") ? 0 : number.value << 20;
    case 'g':
    case 'G':
      return number.value << 30;
    default:
      return 0;
  }
}

/// Digits alone with a 0 before them.
void octal(Sheet& sheet, const Setting& s, const NumberText& number) {
  Finding& f = sheet.add("FL017", number.complete ? Severity::warning : Severity::error, s,
                         fmt::format("{}: octal, NCCL reads {}", shown(s), number.value));
  if (!number.complete) f.reason = "an 8 or a 9 ends an octal number, without a message";
  f.source = kParam;
  f.suggestion = "drop the leading 0";
  const std::size_t first = s.value().find_first_not_of('0');
  if (first != std::string::npos)
    f.suggestion = fmt::format("{}={}", s.name(), s.value().substr(first));
}

bool is_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_in_range(const Sheet& sheet, const Setting& s, std::int64_t value) {
  return value >= s.variable->min_in(sheet.input.version).value_or(value) &&
         value <= s.variable->max_in(sheet.input.version).value_or(value);
}

void not_a_number(Sheet& sheet, const Setting& s, const NumberText& number) {
  if (number.out_of_range) {
    Finding& f = sheet.add("FL012", Severity::warning, s,
                           fmt::format("{}: more than 64 bits, NCCL keeps its default", shown(s)));
    f.source = kParam;
    return;
  }
  if (number.octal && is_digits(s.value())) return octal(sheet, s, number);
  Finding& f = sheet.add("FL010", Severity::error, s,
                         fmt::format("{}: NCCL reads {}", shown(s), number.value));
  f.reason = number.has_digits ? "what follows the digits is ignored, without a message"
                               : "text without digits is 0, without a message";
  f.source = kParam;
  const std::int64_t meant = s.variable->unit == "bytes" ? with_unit(number, s.value()) : 0;
  if (meant > 0 && is_in_range(sheet, s, meant)) {
    f.suggestion = fmt::format("{}={}", s.name(), meant);
  } else if (number.has_digits && is_in_range(sheet, s, number.value)) {
    f.suggestion = fmt::format("{}={}", s.name(), number.value);
  }
}

void check_range(Sheet& sheet, const Setting& s, std::int64_t value) {
  const Variable& v = *s.variable;
  const std::optional<std::int64_t> min = v.min_in(sheet.input.version);
  const std::optional<std::int64_t> max = v.max_in(sheet.input.version);
  const bool low = min && value < *min && value != -2;
  const bool high = max && value > *max;
  if (!low && !high) return;
  const std::string limits = !max   ? fmt::format("at least {}", *min)
                             : !min ? fmt::format("at most {}", *max)
                                    : fmt::format("{} to {}", *min, *max);
  const std::string later =
      first_that_takes(s, sheet.input.version, [&](const VariableReading& reading) {
        return value >= reading.min.value_or(v.min.value_or(value)) &&
               value <= reading.max.value_or(v.max.value_or(value));
      });
  Finding& f =
      sheet.add("FL012", low && v.unit == "bytes" ? Severity::error : Severity::warning, s,
                fmt::format("{}: {} is expected{}", shown(s), limits,
                            later.empty() ? "" : " by " + nccl_release_text(sheet.input.version)));
  const VariableReading* reading = v.reading_in(sheet.input.version);
  f.reason = later.empty() ? v.note : later;
  f.source = later.empty() ? v.evidence : reading->source;
}

void check_step(Sheet& sheet, const Setting& s, std::int64_t value) {
  const bool threads = s.name() == "NCCL_NTHREADS" || s.name() == "NCCL_LL128_NTHREADS";
  if (threads && value > 0 && value % 32 != 0) {
    Finding& f = sheet.add(
        "FL018", Severity::warning, s,
        fmt::format("{}: no multiple of 32, NCCL takes {}", shown(s), s.variable->max.value_or(0)));
    f.reason = "threads come in warps of 32";
    f.source = "NCCL 2.21.5 src/graph/tuning.cc, getNthreads";
  }
  const bool power = value > 0 && (value & (value - 1)) == 0;
  if (s.name() == "NCCL_BUFFSIZE" && value >= 4096 && !power) {
    Finding& f =
        sheet.add("FL018", Severity::note, s, fmt::format("{}: no power of two", shown(s)));
    f.reason = "a slot is an eighth of it, and chunks are cut to whole grains";
    f.source = s.variable->evidence;
  }
}

void check_number(Sheet& sheet, const Setting& s) {
  const NumberText number = number_text(s.value());
  const Word word = s.variable->type == VariableType::boolean ? word_of(s.value()) : Word::none;
  if (word != Word::none) return wrong_switch(sheet, s, word);
  if (!number.complete || number.out_of_range) return not_a_number(sheet, s, number);
  if (number.octal) octal(sheet, s, number);
  if (s.variable->type == VariableType::boolean) {
    if (number.value != 0 && number.value != 1 && number.value != -2) {
      Finding& f =
          sheet.add("FL012", Severity::warning, s, fmt::format("{}: 0 or 1 is expected", shown(s)));
      f.source = s.variable->evidence;
    }
    return;
  }
  check_range(sheet, s, number.value);
  check_step(sheet, s, number.value);
}

constexpr std::string_view kTorch = "PyTorch torch/csrc/distributed/c10d/Utils.hpp, getCvar";

constexpr std::array<std::string_view, 5> kTorchOn = {"y", "yes", "1", "t", "true"},
                                          kTorchOff = {"n", "no", "0", "f", "false"};

bool is_one_of(std::string_view text, const std::array<std::string_view, 5>& words) {
  return std::ranges::find(words, lower_case(text)) != words.end();
}

void refused_by_torch(Sheet& sheet, std::string_view rule, const Setting& s,
                      std::string_view takes) {
  Finding& f = sheet.add(rule, Severity::error, s,
                         fmt::format("{}: PyTorch refuses it, no process group is made", shown(s)));
  f.reason = fmt::format("it takes {}", takes);
  f.source = kTorch;
}

void check_torch_bool(Sheet& sheet, const Setting& s) {
  // Read by c10/util/env.h, check_env(): other text is passed over with a warning.
  if (s.name() == "TORCH_NCCL_USE_COMM_NONBLOCKING") {
    if (s.value() == "0" || s.value() == "1") return;
    Finding& f =
        sheet.add("FL011", Severity::warning, s, fmt::format("{}: neither 0 nor 1", shown(s)));
    f.source = "PyTorch c10/util/env.h, check_env";
    return;
  }
  if (is_one_of(s.value(), kTorchOn) || is_one_of(s.value(), kTorchOff)) return;
  refused_by_torch(sheet, "FL011", s, "1, y, yes, t, true and 0, n, no, f, false, in any case");
  const Word word = word_of(s.value());
  if (word != Word::none)
    sheet.result.findings.back().suggestion =
        fmt::format("{}={}", s.name(), word == Word::on ? 1 : 0);
}

/// std::stoi: decimal, and what follows the digits is passed over.
void check_torch_number(Sheet& sheet, const Setting& s) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const char* const begin = s.value().c_str();
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(begin, &end, 10);
  if (end == begin || errno == ERANGE || value > most || value < -most - 1)
    return refused_by_torch(sheet, "FL010", s, "a whole number of 32 bits");
  if (*end == '\0') return check_range(sheet, s, value);
  Finding& f =
      sheet.add("FL010", Severity::error, s, fmt::format("{}: PyTorch reads {}", shown(s), value));
  f.reason = "what follows the digits is ignored, without a message";
  f.source = kTorch;
  f.suggestion = fmt::format("{}={}", s.name(), value);
}

/// PyTorch's own, which it reads by other rules than NCCL. True when it is one of those.
bool check_torch(Sheet& sheet, const Setting& s) {
  const bool is_bool = s.variable->type == VariableType::torch_bool;
  if (s.variable->reader != VariableReader::pytorch || s.variable->is_family()) return false;
  if (!is_bool && s.variable->type != VariableType::integer) return false;
  if (is_bool) {
    check_torch_bool(sheet, s);
  } else {
    check_torch_number(sheet, s);
  }
  return true;
}

}  // namespace

bool is_torch_on(std::string_view text) { return is_one_of(text, kTorchOn); }

void check_values(Sheet& sheet) {
  for (const Setting& s : sheet.settings) {
    if (!s.has_value() || s.variable == nullptr) continue;
    const bool torch = s.variable->reader == VariableReader::pytorch;
    if (!torch && !s.acts(sheet.input.version)) continue;
    if (s.at->has(EnvTrap::build_argument)) continue;
    // The text around the value is reported by check_writing.
    if (s.file->kind == EnvKind::nccl_conf && s.at->has(EnvTrap::quotes_in_value)) continue;
    if (s.at->has(EnvTrap::yaml_number) || s.at->has(EnvTrap::yaml_bool) ||
        s.at->has(EnvTrap::python_value))
      continue;
    if (check_torch(sheet, s)) continue;
    if (s.value().empty()) {
      Finding& f = sheet.add("FL019", Severity::warning, s,
                             fmt::format("{} is empty: as if it were not set", s.name()));
      f.source = kParam;
      continue;
    }
    switch (s.variable->type) {
      case VariableType::integer:
      case VariableType::boolean:
        if (!check_switch_words(sheet, s)) check_number(sheet, s);
        break;
      default:
        break;
    }
  }
}

/// Defaults are worth a note only where somebody may think that the setting does something.
void check_defaults(Sheet& sheet) {
  for (const Setting& s : sheet.settings) {
    if (!s.has_value() || !s.acts(sheet.input.version) || s.value().empty()) continue;
    const std::optional<std::string> usual = s.variable->default_in(sheet.input.version);
    if (!usual) continue;
    const bool number =
        s.variable->type == VariableType::integer || s.variable->type == VariableType::boolean;
    const NumberText mine = number_text(s.value()), theirs = number_text(*usual);
    const bool same = number ? mine.complete && theirs.complete && mine.value == theirs.value
                             : s.value() == *usual;
    if (!same) continue;
    Finding& f = sheet.add(
        "FL020", Severity::note, s,
        fmt::format("{} is the default of {}", shown(s), nccl_release_text(sheet.input.version)));
    f.source = s.variable->evidence;
    // "512 (256 for ...)": what a value that is set takes away.
    const std::string& in_words = s.variable->default_text;
    if (in_words.starts_with(*usual + " (")) f.reason = "unset, it is " + in_words;
  }
}

}  // namespace fabricast::lint_rules_detail
