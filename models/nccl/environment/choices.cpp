#include "models/nccl/environment/choices.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/error.hpp"

namespace fabricast {
namespace {

/// One of the two variables: how its items are called.
struct ListVariable {
  std::string_view name;
  std::optional<std::size_t> (*item)(std::string_view text, NcclVersion version);
  std::string_view known;         ///< for hints
  std::string_view nothing_left;  ///< up to 2.23: what a list means in which no name is known
};

constexpr ListVariable kAlgo = {
    "NCCL_ALGO",
    [](std::string_view text, NcclVersion version) -> std::optional<std::size_t> {
      const auto a = algorithm_from_text(text);
      const bool is_new = a == Algorithm::pat && version < kNccl2_23;
      if (a && !is_new) return index_of(*a);
      return std::nullopt;
    },
    "Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT",
    "is left with an empty list: it goes on with Ring and Tree alone (with Ring alone where it has "
    "CollNet), and warns of CollNet instead"};

constexpr ListVariable kProto = {
    "NCCL_PROTO",
    [](std::string_view text, NcclVersion) -> std::optional<std::size_t> {
      if (const auto p = protocol_from_text(text)) return index_of(*p);
      return std::nullopt;
    },
    "LL, LL128, Simple",
    "is left with an empty list: it goes on with Ring in every protocol, LL128 unchecked, "
    "without a message"};

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  out += text;
  return out += '"';
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

/// NCCL's name of a tuned collective, in any case.
std::optional<Collective> function_from_text(std::string_view text) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (const Collective c : kAllCollectives) {
    if (is_tuned(c) && std::ranges::equal(nccl_name(c), text, {}, lower, lower)) return c;
  }
  return std::nullopt;
}

class ListReader {
 public:
  ListReader(const ListVariable& variable, std::string_view value, NcclVersion version)
      : variable_(variable), value_(value), version_(version) {}

  Choices one_for_all(std::vector<std::string>& warnings) {
    std::vector<std::string> unknown;
    const std::uint32_t mask =
        mask_of(value_, [&](std::string_view item) { unknown.push_back(in_quotes(item)); });
    set_all(mask);
    for (const std::string& item : unknown) {
      warnings.push_back(
          text() + ": " + item + " is no name this version knows; NCCL " +
          (mask == 0 ? std::string(variable_.nothing_left) : "passes over it without a message"));
    }
    return choices_;
  }

  Choices per_collective() {
    const auto unknown = [&](std::string_view item) {
      refuse(in_quotes(item) + " is unknown, and NCCL refuses to start",
             "known: " + std::string(variable_.known));
    };
    bool first = true;
    for (const std::string_view entry : split(value_, ';')) {
      const std::size_t colon = entry.find(':');
      if (colon != std::string_view::npos) {
        const std::size_t c = index_of(function(entry.substr(0, colon)));
        choices_.mask[c] = mask_of(entry.substr(colon + 1), unknown);
        choices_.by_user[c] = true;
      } else if (first) {
        set_all(mask_of(entry, unknown));
      } else {
        refuse(in_quotes(entry) + " must come first",
               "a list without a function is the default of all and stands at the start");
      }
      first = false;
    }
    return choices_;
  }

 private:
  std::string text() const { return std::string(variable_.name) + "=" + std::string(value_); }

  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw Error(about("--env"), text() + ": " + what, hint);
  }

  Collective function(std::string_view name) const {
    if (const auto c = function_from_text(name)) return *c;
    refuse(in_quotes(name) + " is not a collective",
           "known: broadcast, reduce, allgather, reducescatter, allreduce");
  }

  void set_all(std::uint32_t mask) {
    choices_.mask.fill(mask);
    choices_.by_user.fill(true);
  }

  /// `[^]item,item`. Calls `unknown` for a name that is none; empty items do not count.
  template <typename Unknown>
  std::uint32_t mask_of(std::string_view list, Unknown unknown) const {
    const bool exclude = list.starts_with('^');
    if (exclude) list.remove_prefix(1);
    std::uint32_t named = 0;
    for (const std::string_view item : split(list, ',')) {
      if (item.empty()) continue;
      if (const auto index = variable_.item(item, version_)) {
        named |= 1U << *index;
      } else {
        unknown(item);
      }
    }
    return exclude ? ~named : named;
  }

  const ListVariable& variable_;
  std::string_view value_;
  NcclVersion version_;
  Choices choices_ = Choices::all();
};

Choices read_choices(const ListVariable& variable, std::string_view value, NcclVersion version,
                     std::vector<std::string>& warnings) {
  ListReader reader(variable, value, version);
  return version >= kNccl2_24 ? reader.per_collective() : reader.one_for_all(warnings);
}

}  // namespace

Choices read_algorithm_choices(std::string_view value, NcclVersion version,
                               std::vector<std::string>& warnings) {
  return read_choices(kAlgo, value, version, warnings);
}

Choices read_protocol_choices(std::string_view value, NcclVersion version,
                              std::vector<std::string>& warnings) {
  return read_choices(kProto, value, version, warnings);
}

}  // namespace fabricast
