#include "models/io/hosts/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kNameMax = 1024;
constexpr std::size_t kDigitsMax = 9;
constexpr const char* kGrammar = "write hosts like node1,node2 or node[01-16,20]";

[[noreturn]] void refuse(std::string_view word, const std::string& why) {
  throw Error(fmt::format("host list \"{}\": {}", word.substr(0, kNameMax), why), kGrammar);
}

/// "01-16" -> "01", "02", ... "16"
void add_range(std::string_view word, std::string_view range, std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash),
                         last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const auto from = to_number<std::uint32_t>(first), to = to_number<std::uint32_t>(last);
  if (!from || !to || first.size() > kDigitsMax || last.size() > kDigitsMax)
    refuse(word, fmt::format("\"{}\" is no number and no range", range));
  if (*from > *to) refuse(word, fmt::format("\"{}\" runs backwards", range));
  if (*to - *from >= kHostsMax - std::min(out.size(), kHostsMax))
    refuse(word, fmt::format("more than {} hosts", kHostsMax));
  for (std::uint32_t n = *from; n <= *to; ++n)
    out.push_back(fmt::format("{:0{}}", n, first.size()));
}

/// All hosts of a word: the heads so far, times what each bracket holds.
std::vector<std::string> expanded(std::string_view word) {
  std::vector<std::string> heads = {""};
  std::string_view rest = word;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    for (std::string& head : heads) head += rest.substr(0, open);
    if (rest.substr(0, open).find(']') != std::string_view::npos) refuse(word, "a ] without its [");
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) refuse(word, "a [ without its ]");
    std::vector<std::string> numbers;
    for (const std::string_view range : comma_items(rest.substr(open + 1, close - open - 1)))
      add_range(word, range, numbers);
    if (heads.size() * numbers.size() > kHostsMax)
      refuse(word, fmt::format("more than {} hosts", kHostsMax));
    std::vector<std::string> longer;
    longer.reserve(heads.size() * numbers.size());
    for (const std::string& head : heads)
      for (const std::string& number : numbers) longer.push_back(head + number);
    heads = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  return heads;
}

/// Words between commas and blanks that stand in no bracket.
std::vector<std::string_view> words_outside(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    const bool ends = i == text.size() || c == '\n' || c == '\r' ||
                      (depth <= 0 && (c == ',' || c == ' ' || c == '\t'));
    if (!ends) continue;
    if (i > begin) out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
    depth = 0;
  }
  return out;
}

/// "node007" -> "node", "007"; nothing where no number ends it.
std::optional<std::pair<std::string_view, std::string_view>> numbered(std::string_view host) {
  std::size_t digits = host.size();
  while (digits > 0 && host[digits - 1] >= '0' && host[digits - 1] <= '9') --digits;
  if (digits == host.size() || host.size() - digits > kDigitsMax) return std::nullopt;
  return std::pair(host.substr(0, digits), host.substr(digits));
}

/// The second is one more than the first, in as many digits.
bool follows(std::string_view number, std::string_view next) {
  const bool same_form = number.size() == next.size() || (number[0] != '0' && next[0] != '0');
  return same_form && to_number<std::uint32_t>(next) == *to_number<std::uint32_t>(number) + 1;
}

}  // namespace

std::vector<std::string> parse_host_list(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view word : words_outside(text)) {
    const auto strange =
        std::ranges::find_if(word, [](char c) { return (c < ' ' && c != '\t') || c > '~'; });
    if (strange != word.end())
      refuse({word.begin(), strange},
             fmt::format("byte 0x{:02x} follows, which no name of a host has",
                         static_cast<unsigned char>(*strange)));
    if (word.size() > kNameMax && word.find('[') == std::string_view::npos)
      refuse(word, fmt::format("a name of more than {} characters", kNameMax));
    std::vector<std::string> hosts = expanded(word);
    if (out.size() + hosts.size() > kHostsMax)
      refuse(word, fmt::format("more than {} hosts", kHostsMax));
    std::ranges::move(hosts, std::back_inserter(out));
  }
  return out;
}

std::vector<std::string> parse_host_file(const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  std::vector<std::string> out;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string words = line.substr(0, line.find('#'));
    const std::size_t begin = words.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    const std::string first = words.substr(begin, words.find_first_of(" \t\r", begin) - begin);
    const Place place{file, number, {}};
    std::vector<std::string> hosts = placed(place, [&] { return parse_host_list(first); });
    if (out.size() + hosts.size() > kHostsMax)
      throw Error(place, fmt::format("more than {} hosts", kHostsMax));
    std::ranges::move(hosts, std::back_inserter(out));
  }
  if (out.empty()) throw Error(Place{file, 0, {}}, "no host is in it", "a host a line");
  return out;
}

std::string to_host_list(const std::vector<std::string>& hosts) {
  std::string out;
  for (std::size_t i = 0; i < hosts.size();) {
    const auto head = numbered(hosts[i]);
    std::string inside;
    std::size_t next = i;
    int pieces = 0;
    while (head && next < hosts.size()) {
      const auto first = numbered(hosts[next]);
      if (!first || first->first != head->first) break;
      std::size_t last = next;
      while (last + 1 < hosts.size()) {
        const auto one = numbered(hosts[last]), more = numbered(hosts[last + 1]);
        if (!more || more->first != head->first || !follows(one->second, more->second)) break;
        ++last;
      }
      inside += fmt::format("{}{}", pieces++ == 0 ? "" : ",", first->second);
      if (last > next) inside += fmt::format("-{}", numbered(hosts[last])->second);
      next = last + 1;
    }
    if (i > 0) out += ',';
    if (next <= i + 1) {
      out += hosts[i++];
    } else {
      out += fmt::format("{}[{}]", head->first, inside);
      i = next;
    }
  }
  return out;
}

}  // namespace fabricast
