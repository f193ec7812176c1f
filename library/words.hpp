#pragma once
// A job as the words of a command line, so that both mean the same and refuse the same.

#include <string>
#include <vector>

#include "fabricast/fabricast.hpp"

namespace fabricast::api {

/// Throws fabricast::Error.
std::vector<std::string> words_of(const Options& options);
std::vector<std::string> words_of(const Job& job);

}  // namespace fabricast::api
