#pragma once
// What scenarios and rules say of a run: cluster, release, environment, sizes, network, faults.

#include <initializer_list>
#include <string>
#include <string_view>

#include "models/io/formats/reader.hpp"
#include "models/studies/scenario/scenario.hpp"

namespace fabricast {

/// Is the key there? Asking also makes it known, for the hint on a misspelt one.
inline bool given(Reader& in, std::string_view key) { return !in.text(key, "").empty(); }

/// A value that a parser of unit_text refuses gets the place of its key.
template <class Parse>
auto parsed(Reader& in, std::string_view key, Parse parse) {
  const std::string text = in.text(key);
  return placed(in.place(key), [&] { return parse(text); });
}

/// What a case may say; what it does not say stays as in `config`. Keys that the study does not
/// heed are mistakes.
void read_case(Reader& in, const std::string& file, Study study, BenchConfig& config);

/// `decide` simulates nothing: keys that only a simulation heeds are mistakes there.
void check_not_simulated(Reader& in, std::initializer_list<const char*> keys);

}  // namespace fabricast
