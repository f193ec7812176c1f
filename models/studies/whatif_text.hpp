#pragma once
// The texts of `fabricast whatif`.

#include <string>

#include "models/studies/whatif.hpp"

namespace fabricast {

std::string whatif_text(const WhatifResult& result);
/// One line for each factor of each row.
std::string whatif_csv(const WhatifResult& result);
std::string whatif_json(const WhatifResult& result);

}  // namespace fabricast
