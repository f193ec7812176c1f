#include "models/io/imports/import_readers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fabricast {

std::string_view import_readers::after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + key.size());
}

std::string import_readers::joined(const std::vector<std::string>& words,
                                   std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string ImportedFile::value(std::string_view key) const {
  const auto at = std::ranges::find(found, key, &ImportFinding::key);
  return at == found.end() ? "" : at->value;
}

}  // namespace fabricast
