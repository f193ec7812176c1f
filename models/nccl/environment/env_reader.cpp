#include "models/nccl/environment/env_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace fabricast {

std::optional<std::string_view> EnvReader::text(std::string_view name) const {
  const auto value = environment_.get(name);
  return value && !value->empty() ? value : std::nullopt;
}

std::optional<std::int64_t> EnvReader::integer(std::string_view name) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const std::string digits(*value);
  char* end = nullptr;
  errno = 0;
  const std::int64_t number = std::strtoll(digits.c_str(), &end, 0);
  if (errno == ERANGE) {
    warn(name, "out of range; NCCL keeps its default");
    return std::nullopt;
  }
  if (*end != '\0') warn(name, "NCCL reads " + std::to_string(number) + " and ignores the rest");
  if (number == kUnset) return std::nullopt;
  return number;
}

std::optional<std::int64_t> EnvReader::integer_within(std::string_view name, std::int64_t low,
                                                      std::int64_t high) {
  const auto number = integer(name);
  if (!number) return std::nullopt;
  return bent(name, *number, std::clamp(*number, low, high));
}

std::int64_t EnvReader::bent(std::string_view name, std::int64_t said, std::int64_t kept) {
  if (kept != said) warn(name, "NCCL takes " + std::to_string(kept));
  return kept;
}

void EnvReader::refuse(std::string_view name, std::string_view what, std::string hint) const {
  throw Error(place_of(name), quoted(name) + ": " + std::string(what), std::move(hint));
}

void EnvReader::warn(std::string_view name, std::string_view what) {
  warnings_.push_back(quoted(name) + ": " + std::string(what));
}

std::string EnvReader::quoted(std::string_view name) const {
  return std::string(name) + "=" + std::string(environment_.get(name).value_or(""));
}

}  // namespace fabricast
